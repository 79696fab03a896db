#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Wrappers are hopped over by the stack pointer, or by the frame pointer, whatever code is built with.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my $compiler = $ENV{CC} || 'gcc';

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
#define APART __attribute__((noinline, noclone))
void *kept[1000];
int count;
#ifndef ALLOCATE
#define ALLOCATE malloc(size)
#endif
APART void *inner(size_t size)
{
	volatile char room[100];
	void *block = ALLOCATE;
	room[0] = 1;
	return block;
}
#ifndef APART_TOO
#define APART_TOO
#endif
APART APART_TOO void *outer(size_t size)
{
	void *block = inner(size);
#ifdef __x86_64__
	__asm__ volatile("" ::: "rbx", "memory");
#else
	__asm__ volatile("" ::: "x19", "memory");
#endif
	return block;
}
#define MAKER(name, size) APART void name(void) { kept[count++] = outer(size); __asm__ volatile("" ::: "memory"); }
MAKER(make_one, 2001)
MAKER(make_two, 2002)
MAKER(make_three, 2003)
MAKER(make_four, 2004)
MAKER(make_five, 2005)
int main(int argc, char **argv)
{
	for (int i = 0; i < 100; i++, make_five()) {
		make_one();
		make_two();
		make_three();
		make_four();
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END

my %expected = map { ("make_$_" => 100) } qw(one two three four five);
my $mixed = q{-O2 -fomit-frame-pointer -D'APART_TOO=__attribute__((optimize("no-omit-frame-pointer")))'};
my @allocators = map { "-O2 -D'ALLOCATE=$_'" } 'realloc(NULL, size)', 'calloc(1, size)';
for my $flags ('-O0', '-O2 -fomit-frame-pointer', '-O2 -fno-omit-frame-pointer', $mixed, @allocators) {
    my $file = Heapsh::capture_source("$directory/hops.c", "$compiler $flags -fno-builtin-malloc", text => $source);
    my %blocks = map { ($_->{site} =~ s/ .*//r) => $_->{objects} } @{ Heapsh::ask_json($file, 'sites') };
    is_deeply { map { $_ => $blocks{$_} } keys %expected }, \%expected, "$flags: blocks of a wrapper's callers"
        or diag explain \%blocks;
}
done_testing;
