#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The library reserves little: a program that locks its memory, or whose address space is limited, has room. Its
# tables grow with what they have to hold.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
my $most = 4096;    # KiB
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

my ($bare, $bare_outcome) = `$build/t/programs/locked`;
my ($size, $outcome) = `cd $directory && $build/heapsnap run -- $build/t/programs/locked`;
cmp_ok $size - $bare, '<', $most, 'a small program has little more address space';
is $outcome, $bare_outcome, 'and can lock it as without the library';

# A snapshot takes room for the threads that there are, and for the names of few files. The second one is the
# user's to whom the program has changed.
chmod 0777, $directory;
($size, $outcome) = `cd $directory && @{[ Heapsh::public_build() ]}/heapsnap run --keep 3 -- $build/t/programs/locked captured`;
cmp_ok $size - $bare, '<', $most, '... nor after a snapshot';
is $outcome, $bare_outcome, '... and can lock it';
is scalar(my @written = glob "$directory/*.snap"), 2, '... and be captured again';
unlink @written;

# More kinds of blocks, calls and samples than the first parts of the tables take.
my $program = "$build/t/programs/many-sites";
is system("cd $directory && $build/heapsnap run --trace many.trace --rate 16 --at-exit -- $program"), 0, 'many sites';
my ($file) = glob "$directory/*.snap";
my @roots = @{ Heapsh::ask_json($file, 'roots') };
is scalar(@roots), 2, 'the blocks have their two roots: no table is one';
is Heapsh::ask_json($file, 'info')->{objects}, 22384, 'all are there';
my @paths = grep { /descend/ } `$build/heapsh-trace --collapsed $directory/many.trace`;
# A block of 24 bytes is a sample with a probability of 1 - exp(-24 / 16), 12,729 of 16,384: sd 54.
cmp_ok abs(@paths - 12729), '<', 6 * 54, 'each sampled block has its own path';
my @frames = grep { split(/;/) != 17 } @paths;
is scalar(@frames), 0, 'of all calls';

# The library's variables are memory as any other to the writer, which looks there for headers.
my %found = `$build/heapsnap run -- $build/t/programs/own-tables` =~ /^(\w+) (\d+)$/mg;
cmp_ok $found{ranges}, '>=', 1, "the library's variables are found";
is $found{headers}, 0, '... and nothing there looks like the header of a block';
done_testing;
