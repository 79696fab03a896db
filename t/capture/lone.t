#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A program of one thread is one to the kernel, too, whatever threads of the library's it has.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/lone-namespace";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
plan skip_all => 'no user namespaces here' if `$program unshare` ne "0 0\n";

for my $way (qw(unshare syscall)) {
    for my $options ('--every 10s', '--before-oom', "--trace $way.trace --rate 16K", "--no-snapshots --trace $way-alone.trace --rate 16K") {
        is `cd $directory && $build/heapsnap run $options -- $program $way 2>&1`, "0 0\n", "$way, $options";
    }
    for my $trace ("$way.trace", "$way-alone.trace") {
        my $sites = `$build/heapsh-trace --sites $directory/$trace 2>&1`;
        like $sites, qr/allocate_$_ /, "$trace: goes on $_ the call" for qw(before after);
    }
}
done_testing;
