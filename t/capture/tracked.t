#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Pieces of a program's own pools, of which it tells with heapsnap_track().
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
my $snapshot = "$directory/capture-tracked-00.snap";
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

my $output = `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-tracked`;
is $output, "given back: 0 failed\nNULL -22, odd -22, empty -22, unknown -22, twice -22\nagain: 0\n"
    . "label: 0, of what is not tracked -22\ndump: 0\nwait: 0\n", 'what the program is told';

sub ask { return scalar Heapsh::ask($snapshot, @_) }
sub total { return (ask('find', '--count', @_) =~ /^(Total: .*)/m)[0] }

is total(qw(type node)), 'Total: 75 objects, 3.5 KiB', 'nodes in memory from mmap(): those that were not given back';
is total(qw(type small)), 'Total: 50 objects, 1.2 KiB', 'small ones, at multiples of 8, in a block of malloc\'s';
is total(qw(type secret evidence declared)), 'Total: 9 objects, 576 B', 'types that the program says';
is total(qw(size 64 untyped)), 'Total: 1 object, 64 B', 'and of what is handed out again, nothing';
is total(qw(size 40)), 'Total: 1 object, 40 B', 'the block ends where the first of them begins';
is total(qw(size 4000)), 'Total: 0 objects, 0 B', 'and is not there as it was';
is total(qw(size 10)), 'Total: 75 objects, 750 B', 'what they point to is reached';
is total(qw(size 10 leaked)), 'Total: 0 objects, 0 B', 'so it does not leak';
is total(qw(type node leaked)), 'Total: 0 objects, 0 B', 'nor do they';
is total(qw(type node site pool_take)), 'Total: 75 objects, 3.5 KiB', 'their site is where heapsnap_track() was called';
my ($node) = ask(qw(find --limit 1 type node)) =~ /(0x\w+)/;
like ask('identify', $node), qr/\.next of struct node at 0x|the global variable nodes /, 'and someone holds them';
like ask('retained', 'nodes'), qr/own 48 B, retained 4\.2 KiB, held by the global variable nodes /, 'the first holds all others, and their names';

{
    local $ENV{HEAPSNAP_WRAPPERS} = 'pool_take';
    `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-tracked`;
    $snapshot = "$directory/capture-tracked-01.snap";
    is total(qw(type node site fill_arena)), 'Total: 75 objects, 3.5 KiB', 'with a wrapper named, its caller is';
}
done_testing;
