#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Debug information that has no types, as of gcc -g1, and objects without any in a program that has it:
# their blocks have shapes, and what symbols of containers tell, as in programs that have none at all.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Tools;

plan skip_all => 'there is no g++' unless has('g++');
my $directory = tempdir(CLEANUP => 1);

Heapsh::write_file("$directory/parts.cc", <<'END');
#include <map>
#include <stdlib.h>
#include <string>
struct link { struct link *next; long number; };
struct link *links;
std::map<int, std::string> names;
void make_parts()
{
	for (int i = 0; i < 50; i++) {
		struct link *link = (struct link *)malloc(sizeof(*link));
		link->next = links;
		link->number = i;
		links = link;
		names[i] = "a name that is too long for the string itself";
	}
}
END
Heapsh::write_file("$directory/main.cc", <<'END');
#include <stdio.h>
#include <stdlib.h>
struct item { struct item *next; double weight; };
struct item *items;
void make_parts();
int main()
{
	for (int i = 0; i < 20; i++) {
		struct item *item = (struct item *)malloc(sizeof(*item));
		item->next = items;
		item->weight = i;
		items = item;
	}
	make_parts();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
END
for my $way (
    ['without', '', '', 0],
    ['lines alone', '-g1', '-g1', 0],
    ['types in one file', '-g', '', 20],
) {
    my ($name, $main, $parts, $items) = @$way;
    is system("cd $directory && g++ -O1 $main -c main.cc && g++ -O1 $parts -c parts.cc && g++ -o parts main.o parts.o"), 0, "$name: built";
    my $program = Heapsh->start("$directory/parts");
    my $file = $program->capture;
    $program->finish;
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'item')->{count} // 0, $items, "$name: types where there are any" if $items;
    is Heapsh::ask_json($file, 'find', '--count', 'evidence', 'shape', 'type', 'struct list node {*}')->{count}, 70 - $items, "$name: lists of the others";
    is Heapsh::ask_json($file, 'find', '--count', 'type', '*_Rb_tree_node<*')->{count}, 50, "$name: nodes by their symbols";
}

# Blocks of one type are one row, whatever their sizes.
Heapsh::write_file("$directory/vectors.cc", <<'END');
#include <cstdio>
#include <vector>
struct item { long number; };
static std::vector<item *> *kept[30];
int main()
{
	for (int i = 0; i < 30; i++) {
		kept[i] = new std::vector<item *>;
		for (int k = 0; k < (i + 1) * 7; k++)
			kept[i]->push_back(nullptr);
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END
{
    is system("cd $directory && g++ -O1 -o vectors vectors.cc"), 0, 'vectors of pointers';
    my $program = Heapsh->start("$directory/vectors");
    my $file = $program->capture;
    $program->finish;
    is join(' ', map { $_->{objects} } grep { ($_->{type} // '') =~ /item \*$/ } @{ Heapsh::ask_json($file, 'count') }), 30,
        '... of several sizes are one row';
}

# Lists and trees, by the graph of pointers alone. Each struct has a size of its own.
Heapsh::write_file("$directory/links.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
#define COUNT 100
struct list { long value; struct list *next; };                               // 16
struct ring { struct ring *next, *previous; long value[2]; };                 // 32
struct tree { struct tree *left, *right, *up; long value[3]; };               // 48
struct vine { struct vine *left, *right; long value[6]; };                    // 64: nearly a list
struct person { struct person *spouse; long number[9]; };                     // 80
struct scope { struct scope *outer; long number[11]; };                       // 96
struct fan { struct fan *idol; long number[13]; };                            // 112
struct both { struct both *by_name, *by_age; long number[14]; };              // 128: in two lists
struct list *list;
struct ring sentinel = { &sentinel, &sentinel };
struct tree *tree;
struct vine *vine;
struct person *people[COUNT];
struct scope *scopes[COUNT];
struct fan *fans[COUNT];
struct both *boths[COUNT], *oldest;
static void *make(size_t size)
{
	long *block = calloc(1, size);
	block[size / 8 - 1] = size;
	return block;
}
static void insert(struct tree *node)
{
	struct tree **at = &tree, *up = NULL;
	for (; *at; at = node->value[0] < up->value[0] ? &up->left : &up->right)
		up = *at;
	node->up = up;
	*at = node;
}
int main()
{
	struct vine **last = &vine;
	for (long i = 0; i < COUNT; i++) {
		struct list *link = malloc(sizeof(*link));
		*link = (struct list){ i, list };
		list = link;
		struct ring *ring = malloc(sizeof(*ring));
		*ring = (struct ring){ &sentinel, sentinel.previous, { i, i } };
		ring->next->previous = ring->previous->next = ring;
		struct tree *node = calloc(1, sizeof(*node));
		node->value[0] = node->value[1] = node->value[2] = i * 37 % COUNT + 1;
		insert(node);
		*last = make(sizeof(**last));
		last = i % 20 == 7 ? &(*last)->left : &(*last)->right;
		people[i] = make(sizeof(*people[i]));
		people[i]->spouse = i % 2 ? people[i - 1] : NULL;
		if (i % 2)
			people[i - 1]->spouse = people[i];
		scopes[i] = make(sizeof(*scopes[i]));
		scopes[i]->outer = i ? scopes[i / 2] : NULL;
		fans[i] = make(sizeof(*fans[i]));
		boths[i] = make(sizeof(*boths[i]));
	}
	for (long i = 0; i < COUNT; i++) {
		fans[i]->idol = fans[(i * i + 7 * i + 5) % COUNT];
		boths[i]->by_name = i + 1 < COUNT ? boths[i + 1] : NULL;
		boths[i * 61 % COUNT]->by_age = i + 1 < COUNT ? boths[(i + 1) * 61 % COUNT] : NULL;
	}
	oldest = boths[0];
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
END
is system("cd $directory && gcc -O0 -s -o links links.c"), 0, 'built';
my $file = Heapsh->start("$directory/links")->capture;
my %type;
$type{ $_->{size} }{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find', 'evidence', 'shape')->{objects} };
is_deeply $type{16}, { 'struct list node {long, next}' => 100 }, 'a list';
is_deeply $type{32}, { 'struct list node {next, previous, long[2]}' => 100 }, 'a list with links in both directions';
is_deeply $type{48}, { 'struct tree node {child[2], parent, long[3]}' => 100 }, 'a tree with parents';
is_deeply $type{64}, { 'struct tree node {child[2], zero[5], long}' => 100 }, 'a tree that is nearly a list';
is_deeply $type{80}, { 'struct {ptr, zero[8], long}' => 100 }, 'pairs are no list';
is_deeply $type{96}, { 'struct {ptr, zero[10], long}' => 100 }, 'pointers to the outer scope alone are no list';
is_deeply $type{112}, { 'struct {ptr, zero[12], long}' => 100 }, 'nor are pointers to any of them';
is_deeply $type{128}, { 'struct list node {next[2], zero[13], long}' => 100 }, 'one that is in two lists';
like Heapsh::ask($file, 'find', '--count', 'type', 'tree node*'), qr/^Total: 200 objects/, 'they are found by what they are';
# A wrapper of which nothing is known makes the blocks of all: texts of one file are no vote on what another makes.
Heapsh::write_file("$directory/wrapper.c", <<'END');
#include <stdlib.h>
__attribute__((noinline)) void *xmalloc(size_t size)
{
	void *block = calloc(1, size);
	if (!block)
		abort();
	return block;
}
long *records[50];
void make_records(void)
{
	for (long i = 0; i < 50; i++) {
		records[i] = xmalloc(128);
		for (int j = 0; j < 16; j++)
			records[i][j] = i * 1000003 + j * 77;
	}
}
END
Heapsh::write_file("$directory/texts.c", <<'END');
#include <stdio.h>
#include <string.h>
void *xmalloc(unsigned long size);
void make_records(void);
char *names[40];
int main()
{
	for (int i = 0; i < 40; i++)
		strcpy(names[i] = xmalloc(30 + i), "the text of a name, so long");
	make_records();
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
is system("cd $directory && cc -O1 -c wrapper.c && cc -O1 -g -c texts.c && cc -o texts texts.o wrapper.o"), 0, 'built: a wrapper without debug information';
my $texts = Heapsh->start("$directory/texts");
my $file_of_texts = $texts->capture;
$texts->finish;
is Heapsh::ask_json($file_of_texts, 'find', '--count', 'size', '=', '128', 'type', 'char')->{count}, 0, 'records are not named after texts';
is Heapsh::ask_json($file_of_texts, 'find', '--count', 'size', '<', '128', 'type', 'char')->{count}, 40, 'texts are';

# Blocks of a site that hold something else in the second snapshot are compared with those of the first.
Heapsh::write_file("$directory/changing.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
long *blocks[100];
int count;
static void add(void)
{
	for (int end = count + 30; count < end; count++)
		blocks[count] = calloc(1, 64);
}
int main()
{
	add();
	for (int i = 0; i < count; i++)
		blocks[i][1] = i + 1;
	puts("ready");
	fflush(stdout);
	getchar();
	add();
	for (int i = 0; i < count; i++) {
		blocks[i][1] = (long)blocks[(i * 7 + 3) % count];
		blocks[i][5] = i + 1;
	}
	puts("second");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END
is system('cc', '-O0', '-o', "$directory/changing", "$directory/changing.c"), 0, 'built: blocks that change';
my $changing = Heapsh->start("$directory/changing");
my $before = $changing->capture;
print { $changing->{in} } "\n";
$changing->line;
my $after = $changing->capture;
$changing->finish;
my @types = map { my ($row) = grep { $_->{type} =~ /^struct/ } @{ Heapsh::ask_json($_, 'count') }; $row->{type} } $before, $after;
isnt $types[0], $types[1], 'they have another shape then';
my ($row) = grep { $_->{name} =~ /\badd\b/ } @{ JSON::PP::decode_json(scalar `$Heapsh::build/heapsh-diff --json $before $after`)->{rows} };
is_deeply [map { $row->{$_}{objects} // 0 } qw(before after added kept retyped_to)], [30, 60, 30, 30, 0], 'in the difference they are of one kind';

# Words of data without a name are told by their place in the file, each group of them by itself.
Heapsh::write_file("$directory/places.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
char landmark[8];
static struct { void *first; char gap[200]; void *second, *third; } places __attribute__((section(".bss.places"), used));
int main()
{
	places.first = malloc(1000);
	places.second = malloc(2000);
	places.third = malloc(3000);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return landmark[0];
}
END
is system('cc', '-O1', '-s', '-rdynamic', '-o', "$directory/places", "$directory/places.c"), 0, 'built: data without names';
my $places = Heapsh->start("$directory/places");
my $file_of_places = $places->capture;
$places->finish;
my %place;
for my $size (1000, 2000, 3000) {
    my ($object) = @{ Heapsh::ask_json($file_of_places, 'find', 'size', '=', $size)->{objects} };
    ($place{$size}) = Heapsh::ask($file_of_places, 'path', $object->{address}) =~ /^(.*)/;
}
like $place{1000}, qr/^unnamed data of places \(\.bss\+0x[0-9a-f]+, near landmark\)$/, 'by section, offset and the exported variable before it';
isnt $place{2000}, $place{1000}, 'what is elsewhere is a root of its own';
is $place{3000}, $place{2000}, 'what is beside it is none';

# Some thousands of such groups have roots of their own; what lies behind them is not said to be near the last one.
Heapsh::write_file("$directory/many.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
static struct { void *pointer; char gap[120]; } many[5000] __attribute__((section(".bss.many"), used));
int main()
{
	for (int i = 0; i < 5000; i++)
		many[i].pointer = malloc(i < 4999 ? 10 : 7000);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
END
is system('cc', '-O1', '-s', '-o', "$directory/many", "$directory/many.c"), 0, 'built: much data without names';
my $many = Heapsh->start("$directory/many");
my $file_of_many = $many->capture;
$many->finish;
my ($last) = @{ Heapsh::ask_json($file_of_many, qw(find size = 7000))->{objects} };
my ($holder) = Heapsh::ask($file_of_many, 'path', $last->{address}) =~ /^(.*)/;
is $holder, 'unnamed data of many', 'no place is better than a wrong one';

done_testing;
