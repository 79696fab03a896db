#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks of which few are known: siblings of one call and size have their type, if all that are known agree and contents
# do not contradict.
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
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct job { int id; char pad[60]; } *jobs[HELD];
struct task { int id; char pad[68]; } *task;
struct cat { int id; char pad[76]; } *cats[2];
struct dog { int id; long weights[9]; } *dogs[2];
struct node { struct node *other; long numbers[10]; } *nodes[3];
struct named { char *name; struct named *self; long numbers[10]; } *named;
struct sized { long numbers[13]; } *sized[3];
uintptr_t hidden[1000]; // says nothing of what it holds
static int count;
static uint64_t random_word(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}
static void *hide(void *block)
{
	hidden[count++] = ~(uintptr_t)block;
	return block;
}
APART void *make_animal(void) { return calloc(1, 80); }
APART void *make_bytes(size_t size) { return calloc(1, size); }
// No variable of the type is here.
APART void fill(void *block, size_t words)
{
	for (size_t i = 0; i < words; i++)
		((uint64_t *)block)[i] = random_word() | 1;
}
APART void give_name(void *block)
{
	((void **)block)[0] = strdup("a name");
	((void **)block)[1] = block;
}
APART void make_job(int i)
{
	void *block = hide(calloc(1, sizeof(struct job)));
	if (i < HELD)
		jobs[i] = block;
}
APART void make_task(int i)
{
	void *block = hide(calloc(1, sizeof(struct task)));
	if (i == 5)
		task = block;
}
APART void make_cat_or_dog(int i)
{
	void *block = hide(make_animal());
	if (i < 2)
		cats[i] = block;
	else if (i < 4)
		dogs[i - 2] = block;
}
APART void make_node(int i)
{
	void *block = hide(calloc(1, sizeof(struct node)));
	if (i < 3)
		nodes[i] = block;
	else
		fill(block, sizeof(struct node) / 8);
}
APART void make_named(int i)
{
	void *block = hide(calloc(1, sizeof(struct named)));
	give_name(block);
	if (i == 60)
		named = block;
}
APART void make_sized(int i)
{
	void *block = hide(make_bytes(sizeof(struct sized) + (i >= 32) * 8 * (size_t)i));
	if (i < 3)
		sized[i] = block;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 64; i++) {
		make_job(i);
		make_task(i);
		make_cat_or_dog(i);
		make_node(i);
		make_named(i);
		make_sized(i);
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END

# How many blocks have a type, and how many of that size are without one.
sub counts {
    my ($file, $type, $size) = @_;
    return join ' ', map { Heapsh::ask_json($file, 'find', '--count', @$_)->{count} } [ 'type', $type ], [ 'size', "=$size", 'untyped' ];
}

for my $compiler (grep { has($_) } qw(gcc clang)) {
    for my $flags (qw(-O0 -O2)) {
        for my $held (2, 4, 5) {
            my $file = Heapsh::capture_source("$directory/siblings.c", "$compiler $flags -DHELD=$held", text => $source);
            my $what = "$compiler $flags";
            is counts($file, 'struct job', 64), '64 0', "$what: $held of 64 blocks tell the type of all";
            next if $held != 4;
            is counts($file, 'struct task', 72), '1 63', "$what: one does not";
            is counts($file, 'struct cat', 80), '2 60', 'nor do several that do not agree';
            is counts($file, 'struct dog', 80), '2 60', 'of two types';
            is counts($file, 'struct node', 88), '3 61', 'nor those that contents contradict';
            is counts($file, 'struct named', 96), '64 0', 'but one does, where pointers prove it';
            is counts($file, 'struct sized', 104), '3 29', 'code that makes blocks of several sizes makes more than structs';
        }
    }
}
done_testing;
