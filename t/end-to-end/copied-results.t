#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The variable that gets a block, where optimised code keeps it in another register than the call's
# result before the variable's life begins; and not a variable that gets that register meanwhile.
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
#define APART __attribute__((noinline)) static
struct bucket { struct bucket *next; long key; double weight; };
void *kept[100];
struct table { void *functions; void *slots; long size; void *spare; };
APART void fail(const char *where)
{
	fputs(where, stderr);
	exit(3);
}
static inline void *checked(size_t bytes, const char *where)
{
	void *result = calloc(1, bytes);
	if (!result)
		fail(where);
	return result;
}
APART void grow(struct table *table, long size)
{
	struct bucket **old, **slots, *chain, *next;
	long before = table->size, i;

	slots = (struct bucket **)checked(size * sizeof(struct bucket *), "grow");
	old = table->slots;
	table->slots = slots;
	table->size = size;
	for (i = 0; i < before; i++) {
		for (chain = old[i]; chain; chain = next) {
			next = chain->next;
			chain->next = slots[chain->key % size];
			slots[chain->key % size] = chain;
		}
	}
	free(old);
}
struct macro { struct macro *next; const char *name; long uses; int minimum, maximum; };
static struct macro *macros, **asked;
APART void *zeroed(size_t bytes)
{
	return checked(bytes, "zeroed");
}
APART int defined(const char *name, struct macro **found)
{
	asked = found;
	for (struct macro *macro = macros; macro; macro = macro->next) {
		if (macro->name == name) {
			*found = macro;
			return 1;
		}
	}
	return 0;
}
APART void note(void)
{
	(*asked)->minimum++;
}
APART void define(const char *name, long uses)
{
	struct macro *macro;

	if (!defined(name, &macro)) {
		macro = zeroed(sizeof(*macro));
		macro->name = name;
	}
	note();
	macro->uses = uses;
	kept[50 + uses] = macro;
}
int main(int argc, char **argv)
{
	for (long i = 0; i < 50; i++) {
		struct table *table = calloc(1, sizeof(*table));
		grow(table, 61);
		grow(table, 127);
		kept[i] = table->slots;
		free(table);
	}
	for (long i = 0; i < 40; i++)
		define(argv[0] + i, i);
	kept[99] = zeroed(argc * 77); // so that the size is no constant to it
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (qw(gcc clang)) {
    SKIP: {
        skip "there is no $compiler", 6 unless has($compiler);
        for my $flags (qw(-O1 -O2 -O3)) {
            my $file = Heapsh::capture_source("$directory/copied.c", "$compiler $flags", text => $source);
            my ($found) = grep { $_->{type} =~ /bucket \*/ } @{ Heapsh::ask_json($file, 'count') };
            is $found->{objects}, 50, "$compiler $flags: tables by the variable that gets them";
            ($found) = grep { $_->{type} eq 'struct macro' } @{ Heapsh::ask_json($file, 'count') };
            is $found->{objects}, 40, '... structs by one whose address is taken';
        }
    }
}
done_testing;
