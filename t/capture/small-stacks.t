#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# malloc takes little of its caller's stack, which may be a coroutine's or a signal handler's of 4 KiB.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/small-stacks";
my $directory = tempdir(CLEANUP => 1);
my $most = 1536;             # bytes at a new site
my $most_wrapped = 2048;     # ... in wrappers of wrappers
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

for my $options ('', '--trace a-%p.trace --rate 1K', '--no-snapshots --trace b-%p.trace --rate 1K') {
    my $run = "cd $directory && ulimit -c 0 && $build/heapsnap run $options -- $program";
    my @lines = `$run`;
    is pop @lines, "lives\n", "'$options': ends well";
    is scalar(@lines), 6, '... with all functions';
    for (@lines) {
        my ($function, $bytes) = /^(\w+) (\d+)$/ or die $_;
        cmp_ok $bytes, '<=', $function eq 'wrappers' ? $most_wrapped : $most, "... $function takes little stack";
    }
    is `$run small`, "lives\n", '... and lives on 4096 bytes of it';
}
done_testing;
