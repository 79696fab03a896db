#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A program's own word about its blocks: heapsnap_set_type().
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

my $output = `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-labels`;
is $output, "failed: 0; of NULL -22, of none -22, without a name -22\ndump: 0\nwait: 0\n",
    'blocks can be labelled, other things cannot';
like scalar Heapsh::ask("$directory/capture-labels-00.snap", 'find', '--count', 'type', 'struct session'),
    qr/^Total: 101 objects/m, 'live ones are what was said; blocks in the place of freed ones are not';
done_testing;
