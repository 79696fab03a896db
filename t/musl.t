#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The library with musl instead of glibc, where musl-gcc is: a program that was built with it is
# captured. The writer is that of the host.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Tools;

my $build = $Heapsh::build;
plan skip_all => 'no musl-gcc' unless has('musl-gcc');

# It does not look where glibc has the kernel's headers.
my $directory = tempdir(CLEANUP => 1);
my ($multiarch) = glob "/usr/include/*-linux-gnu/asm";
mkdir "$directory/kernel";
symlink $_->[0], "$directory/kernel/$_->[1]"
    for ['/usr/include/linux', 'linux'], ['/usr/include/asm-generic', 'asm-generic'],
    [$multiarch || '/usr/include/asm', 'asm'];
is system("make -s -j2 CC=musl-gcc CFLAGS='-O2 -g' BUILD=$directory SANITIZE= WERROR=1 "
        . "CPPFLAGS='-isystem $directory/kernel' $directory/libheapsnap.so $directory/libheapsnap-trace.so >/dev/null"), 0,
    'the libraries are built';
symlink "$build/heapsnap-writer", "$directory/heapsnap-writer";
is system("musl-gcc -g -iquote . -o $directory/program t/programs/foreign.c"), 0, 'and a program';

$ENV{XDG_CACHE_HOME} = "$build/t/cache";
my $said = `cd $directory && env LD_PRELOAD=$directory/libheapsnap.so ./program 2>&1`;
is $said, "captured: 0\ndone\n", 'which is captured, and goes on';
my $file = "$directory/program-00.snap";
is(Heapsh::ask_json($file, 'find', 'type', 'struct large')->{count}, 100, 'it has all large blocks, by type');
cmp_ok(Heapsh::ask_json($file, 'find', 'type', 'struct small')->{count}, '>', 0,
    'and those small ones that musl did not put between the data of modules');

# musl's calloc and memalign call the program's malloc and aligned_alloc.
# gcc's functions for atomics on aarch64 need glibc.
my $own_atomics = `uname -m` =~ /^aarch64/ ? '-mno-outline-atomics' : '';
is system("musl-gcc -g -O2 -w -fno-builtin $own_atomics -iquote . -o $directory/sizes t/programs/untracked.c"), 0, 'and another';
my ($bare, @with) = map { `env $_ $directory/sizes sizes` =~ s/^\w+ \d+\K \d+$//gmr } 'LD_PRELOAD=',
    "LD_PRELOAD=$directory/libheapsnap-trace.so", "LD_PRELOAD=$directory/libheapsnap.so";
s/^-?\d+ .*//m for $bare, @with;
like $bare, qr/^refused 1$/m, 'which works without';
is $with[0], $bare, 'traced alone, its blocks are as large as without';
like $with[1], qr/^refused 1$/m, 'and it works with headers';
done_testing;
