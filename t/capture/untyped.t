#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots without the types of objects: all else is as it is with them.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

# Answers of a snapshot that need no types, by question.
sub answers {
    my ($types, $name, @arguments) = @_;
    my $program = Heapsh->start($name, args => [@arguments], run => [ '--types', $types ]);
    # In getchar(), which has made its buffer then.
    my $file = $program->await_sleep->capture;
    $program->finish;
    is $program->errors, '', "$name, types $types: nothing was said";
    my $info = Heapsh::ask_json($file, 'info');
    my $roots = Heapsh::ask_json($file, 'roots', '--globals');
    my %answers = (
        heap => [ @$info{qw(objects bytes edges)} ],
        sites => Heapsh::ask_json($file, 'count', '--by', 'site'),
        sizes => Heapsh::ask_json($file, 'count', '--by', 'size'),
        leaked => scalar Heapsh::ask($file, 'find', '--count', 'leaked'),
        traced => scalar Heapsh::ask($file, 'find', '--count', 'traced'),
        largest => [ map { $_->{retained} } @{ Heapsh::ask_json($file, 'largest', '--retained', 5) } ],
        roots => [ sort map { join ' ', $_->{root}{name} // 'several', map { $_ // '' } @$_{qw(reachable retained)} } @$roots ],
    );
    return (\%answers, $info, $file);
}

for ([ 'waste' ], [ 'shapes' ], [ 'backtraces' ], [ 'dangling' ], [ 'large', 100_000 ]) {
    my ($name, @arguments) = @$_;
    my ($with, $typed) = answers('all', $name, @arguments);
    my ($without, $untyped, $file) = answers('none', $name, @arguments);
    is_deeply $without->{$_}, $with->{$_}, "$name: $_ are the same" or diag explain [ $with->{$_}, $without->{$_} ] for sort keys %$with;
    is "$typed->{untyped} $untyped->{untyped}", '0 1', "$name: whether types were wanted is known";
    cmp_ok $typed->{typed_objects}, '>', 0, "$name: there are types";
    is $untyped->{typed_objects}, 0, "$name: and none without them";
    cmp_ok scalar @{ $with->{roots} }, '>', 0, "$name: roots are named";
}

my ($answers, $info, $file) = answers('none', 'shapes');
my @banner = `$ENV{BUILD}/heapsh $file types`;
like $banner[1], qr/^Heap contains $info->{objects} objects, \S+ \w+; captured without their types$/, 'the shell says so';
like scalar Heapsh::ask($file, 'info'), qr/^types     none: it was captured with HEAPSNAP_TYPES=none$/m, 'and info';
done_testing;
