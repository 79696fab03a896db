#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The library's threads keep to themselves: they take no signal of the program's, whenever it begins to handle it,
# neither lose their files to it nor write to its own, leave it the processor, and keep no rights that it gives up.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

sub run {
    my ($mode, @options) = @_;
    unlink glob "$directory/data-*";
    return `cd $directory && $build/heapsnap run @options -- $build/t/programs/library-threads $mode 2>&1`;
}

is run('signals'), "pending, handled 0\n" x 2, 'a handler that is installed while a snapshot is written';
is scalar(my @snapshots = glob "$directory/*.snap"), 2, '... of which there are two';

SKIP: {
    my $policy = run('policy');
    skip 'no real-time priority may be had', 1 if $policy eq "may not\n";
    is $policy, "copy 0 0, program 1 -5\n", 'nobody competes with a program that has real-time priority';
}

my $expected = join '', map { "$_: 3 0 4 0 5 0 6 0\n" } qw(opened later);
for my $options ('--every 20ms --keep 2', '--before-oom', '--trace a.trace', '--no-snapshots --trace b.trace') {
    is run('files', $options, '--rate 64K'), $expected, "$options: the program's descriptors are its own";
}
for my $trace (qw(a b)) {
    my $said = `$build/heapsh-trace --json $directory/$trace.trace 2>&1`;
    ok $said =~ /"ended":\s*true/, "$trace.trace: goes on after that";
}

# 8 blocks of 512 bytes, or of 1024.
my $said = `cd $directory && rm -f data-* && (ulimit -f 8; $build/heapsnap run --trace c.trace --rate 8K -- $build/t/programs/library-threads files 2>&1)`;
is $said =~ s/^heapsnap: no trace: file too large; the program goes on\n//mr, $expected, 'a trace that is cut short says why';
isnt $said, $expected, '... on the standard error that is not its own';

SKIP: {
    skip 'only root has rights to give up', 1 if $> != 0;
    for my $options ('--every 10m', '--before-oom', '--trace r.trace', '--no-snapshots --trace s.trace') {
        is run('rights', $options, '--rate 64K'), "done\n", "$options: no thread keeps rights that the program gives up";
    }
    for my $trace (qw(r s)) {
        my $asked = `$build/heapsh-trace --json $directory/$trace.trace 2>&1`;
        ok $asked =~ /"ended":\s*true/, "$trace.trace: goes on after that";
        # 2 million blocks of 100 bytes each time.
        cmp_ok $asked =~ /"allocated":\{"samples":(\d+)/ ? $1 : 0, '>', 4500, '... with what is allocated then';
    }
}
done_testing;
