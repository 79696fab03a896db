#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A writer whose time is over writes what it has: all objects, pointers and roots, and the types
# that it has found; and says so.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my @names = qw(objects bytes edges);
my $count = 200_000;

# The file is there a moment before the line that says so.
sub wait_until_said {
    my ($pid) = @_;
    Heapsh::await(sub { `cat /proc/$pid/task/*/comm` !~ /^heapsnap-wait$/m });
}

sub capture {
    my (%env) = @_;
    local @ENV{ keys %env } = values %env;
    my $program = Heapsh->start('large', args => [$count], run => ['--verbose']);
    my $file = $program->capture;
    wait_until_said($program->pid);
    $program->finish;
    return ($file, $program->errors, Heapsh::ask_json($file, 'info'));
}

my ($complete, $said, $whole) = capture(HEAPSNAP_WRITER_TIME => '0');
is $whole->{late_ns}, 0, 'without a limit types are complete';
cmp_ok $whole->{typed_objects}, '>', $count, 'and objects have them';
like $said, qr/\Aheapsnap: wrote \S+\n\z/, 'and nothing else is said';

my $leaked = Heapsh::ask_json($complete, 'find', '--count', 'leaked')->{count};

for my $time (qw(1ms 60ms)) {
    my ($file, $errors, $late) = capture(HEAPSNAP_WRITER_TIME => $time);
    is_deeply [ @$late{@names} ], [ @$whole{@names} ], "$time: all objects and pointers are there";
    like $errors, qr/^heapsnap: types are incomplete: HEAPSNAP_WRITER_TIME was over: wrote \S+$/m, "$time: --verbose says so"
        if $late->{late_ns};
    is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, $leaked, "$time: so are roots";
    next if $time ne '1ms';
    is $late->{late_ns}, 1_000_000, "$time: info has the limit";
    cmp_ok $late->{typed_objects}, '<', $whole->{typed_objects}, "$time: there are fewer types";
    like scalar Heapsh::ask($file, 'info'),
        qr/^types     incomplete: heapsnap-writer had no more than 0\.001 s for them \(HEAPSNAP_WRITER_TIME\)$/m, "$time: info says so";
    my ($banner) = grep { /^Heap contains/ } `$ENV{BUILD}/heapsh $file types`;
    like $banner, qr/% of them typed, for want of time$/, "$time: so does what heapsh says first";
}
done_testing;
