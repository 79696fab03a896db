#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A variable that gets the result of one call says nothing of the blocks of another one in its function.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);

# The types of blocks of a size.
sub types {
    my ($file, $size) = @_;
    my %count;
    $count{ $_->{type} =~ s/\[\d+\]$//r }++ for @{ Heapsh::ask_json($file, 'find', 'size', "=$size", 'site', 'variables.*')->{objects} };
    return \%count;
}

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct point { double x, y, z; int id; };
struct numbers { long number[13]; };
void *points[40], *zeros[40], *kept, *raw[40];
char *title;
APART void add(int i)
{
	char *made = malloc(50);

	sprintf(made, "title %d", i);
	title = made;
	points[i] = calloc(1, sizeof(struct point));
#if defined(FILLED)
	memcpy(points[i], &(struct point){ 1.5 * i, 2, 3, i }, sizeof(struct point));
#endif
}
APART void grow(void)
{
	char *buffer;
	for (int i = 0; i < 40; i++)
		zeros[i] = calloc(1, sizeof(struct numbers));
	buffer = malloc(10);
	buffer = realloc(buffer, 1000);
	kept = buffer;
}
APART void read_bytes(int i)
{
	unsigned char *bytes = malloc(72);
	for (int j = 0; j < 72; j++)
		bytes[j] = (unsigned char)(j * 7 + i);
	raw[i] = bytes;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 40; i++) {
		add(i);
		read_bytes(i);
	}
	grow();
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (grep { has($_) } qw(gcc clang)) {
    for my $flags ('-O0', '-O2', '-O2 -DFILLED') {
        my $file = Heapsh::capture_source("$directory/variables.c", "$compiler $flags", text => $source);
        my $what = "$compiler $flags";
        is_deeply types($file, 50), { char => 40 }, "$what: the variable's own blocks are characters" or diag explain types($file, 50);
        is_deeply types($file, 32), { 'block(32)' => 40 }, 'those of the other call have no type';
        is_deeply types($file, 104), { 'block(104)' => 40 }, 'nor do those before a buffer grows';
        is_deeply types($file, 1000), { char => 1 }, 'which is one of characters';
        is_deeply types($file, 72), { 'unsigned char' => 40 }, 'and bytes of any values are, where their variable is one of bytes';
    }
}

my $objects = <<'END';
#include "dumper/heapsnap.h"
#include <cstdio>
struct point { double x, y, z; int id; };
void *points[40];
char *title;
__attribute__((noinline)) static void add(int i)
{
	char *made = new char[50];
	snprintf(made, 50, "title %d", i);
	title = made;
	points[i] = new point{ 1.0 * i, 0, 0, i };
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 40; i++)
		add(i);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (grep { has($_) } qw(g++ clang++)) {
    for my $flags (qw(-O0 -O2)) {
        my $file = Heapsh::capture_source("$directory/variables.cc", "$compiler $flags", text => $objects);
        is_deeply types($file, 50), { char => 40 }, "$compiler $flags: characters";
        is_deeply types($file, 32), { 'block(32)' => 40 }, 'and objects without a type';
    }
}
done_testing;
