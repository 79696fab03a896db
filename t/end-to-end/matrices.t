#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Matrices as C has them: pointers to arrays, double (*rows)[8], of which a block has any number.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdio.h>
#include <stdlib.h>
struct cell { float weight[3]; int id; };
struct grid { int rows; double (*cells)[8]; };
typedef struct { double re, im; } complex_number;
float (*points)[3];
complex_number (*signals)[4];
int (*cubes)[4][5];
struct cell *(*table)[4];
struct grid *grid;
char (*names)[16];
float (*second)[3];
struct cell *pair;
__attribute__((noinline)) static int dump(const char *file, int rows, int columns, double (*variable)[columns])
{
	variable[rows - 1][0] = 1;
	__asm__ volatile("" : : "r"(variable) : "memory");
	int status = heapsnap_dump(file) | heapsnap_wait();
	__asm__ volatile("" : : "r"(variable) : "memory");
	return status;
}
int main(int argc, char **argv)
{
	pair = calloc(2, sizeof(*pair));
	points = calloc(50, sizeof(*points));
	signals = calloc(20, sizeof(*signals));
	cubes = calloc(7, sizeof(*cubes));
	table = calloc(6, sizeof(*table));
	for (int i = 0; i < 24; i++) {
		table[i / 4][i % 4] = malloc(sizeof(struct cell));
		table[i / 4][i % 4]->id = i;
	}
	grid = malloc(sizeof(*grid));
	grid->rows = 5;
	grid->cells = calloc(5, sizeof(*grid->cells));
	names = calloc(30, sizeof(*names));
	for (int i = 0; i < 30; i++)
		snprintf(names[i], sizeof(names[i]), "name %d", i);
	// A row inside a struct is no matrix.
	second = &pair[1].weight;
	return argc > 1 ? dump(argv[1], 9, argc + 5, calloc(9 * (argc + 5), sizeof(double))) : 2;
}
END
my @matrices = (
    'char[480]', 'complex_number[80]', 'double[40]', 'double[63]', 'float[150]', 'int[140]', 'struct cell *[24]',
);
my %sizes = map { $_ => 1 } 480, 1280, 320, 504, 600, 560, 192;
for my $compiler ('gcc', 'clang') {
  SKIP: {
        skip "there is no $compiler", 6 unless has($compiler);
        for my $flags ('-O0', '-O2') {
            my $file = Heapsh::capture_source("$directory/matrices.c", "$compiler -g $flags", text => $source);
            # clang -O2 does not say where a parameter is that it keeps in a register.
            my $skipped = $compiler eq 'clang' && $flags eq '-O2' ? 504 : 0;
            my @found = map { $_->{type} } grep { $sizes{ $_->{size} } && $_->{size} != $skipped } @{ Heapsh::ask_json($file, 'find')->{objects} };
            is_deeply [sort @found], [grep { !$skipped || $_ ne 'double[63]' } @matrices], "$compiler $flags: matrices are arrays of their elements";
            is Heapsh::ask($file, 'find', '--count', 'type', 'struct cell') =~ s/,.*//sr, 'Total: 25 objects',
                "$compiler $flags: which lead to others";
            my ($pair) = grep { $_->{size} == 32 } @{ Heapsh::ask_json($file, 'find')->{objects} };
            is $pair->{type}, 'struct cell[2]', "$compiler $flags: a pointer to a member that is an array does not make it one";
        }
    }
}
done_testing;
