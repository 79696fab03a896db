#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A block whose type only a function in the middle knows, between the allocator and the code that
# the block counts for.
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
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct item { long number; double weight; struct item *next; };
void *kept[100];
static int count;
APART void *checked(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}
APART void *item(long number)
{
	struct item *item = checked(sizeof(*item));
	item->number = number;
	item->weight = 0.5;
	item->next = NULL;
	return item;
}
APART void make(long number)
{
	kept[count++] = item(number);
}
int main(int argc, char **argv)
{
	for (long i = 0; i < 50; i++)
		make(i);
	kept[count++] = checked(99); // so that the size is no constant to it
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (qw(gcc clang)) {
    SKIP: {
        skip "there is no $compiler", 2 unless has($compiler);
        for my $flags (qw(-O0 -O1)) {
            my $file = Heapsh::capture_source("$directory/middle.c", "$compiler $flags",
                text => $source, env => { HEAPSNAP_WRAPPERS => 'item' });
            my ($found) = grep { $_->{type} =~ /item/ } @{ Heapsh::ask_json($file, 'count') };
            is $found->{objects}, 50, "$compiler $flags: the function in the middle knows their type";
            ($found) = grep { $_->{site} =~ /^make / } @{ Heapsh::ask_json($file, 'sites') };
            is $found->{objects}, 50, 'and they count for its caller';
        }
    }
}
# The constructor that has the block first is that of a base, which is inlined, and has the whole size.
my $whole = <<'END';
#include "dumper/heapsnap.h"
#include <memory>
#include <stdint.h>
#include <vector>
struct point { double x, y, z; };
struct base { long first, second; base() : first(1), second(2) {} };
struct derived : base { derived() { second = 3; } };
std::shared_ptr<point> common = std::make_shared<point>();
uintptr_t kept[100]; // says nothing of what it holds
static int count;
__attribute__((noinline)) static void make(int number)
{
	auto *points = new std::vector<point>(3);
	kept[count++] = (uintptr_t)points;
	(*points)[1].x = number;
	auto *shared = new std::shared_ptr<point>(common);
	kept[count++] = (uintptr_t)shared;
	base *plain = new base;
	kept[count++] = (uintptr_t)plain;
	derived *more = new derived;
	kept[count++] = (uintptr_t)more;
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		make(i);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O2', 'g++ -O3', 'clang++ -O2') {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        my $file = Heapsh::capture_source("$directory/whole.cc", $way, text => $whole);
        my %count;
        $count{ $_->{type} =~ s/^\w+ |\[\d+\]$//gr }++ for @{ Heapsh::ask_json($file, 'find', 'site', 'whole.cc')->{objects} };
        is_deeply \%count, { 'std::vector<point>' => 10, 'std::shared_ptr<point>' => 10, 'point (make_shared)' => 1, 'point' => 10, 'base' => 10, 'derived' => 10 },
            "$way: objects have the class that the program made" or diag explain \%count;
    }
}
# Containers that nothing with a type leads to. Their pointers are to nodes, and lead back to themselves.
my $containers = <<'END';
#include "dumper/heapsnap.h"
#include <list>
#include <map>
#include <set>
#include <stdint.h>
#include <unordered_map>
struct point { double x, y, z; };
uintptr_t kept[1000];
static int count;
template <class T> static void keep(T *container) { kept[count++] = (uintptr_t)container ^ UINTPTR_MAX; }
#define APART __attribute__((noinline)) static
APART void make_list() { auto *list = new std::list<int>; keep(list); }
APART void make_map() { auto *map = new std::map<int, int>; keep(map); }
APART void make_set(long first) { auto *set = new std::set<long>{ first, first + 1, first + 2 }; keep(set); }
APART void make_table() { auto *table = new std::unordered_map<int, point>; keep(table); }
// A struct of pointers in a function that handles a list of its size is none.
struct sheet { double *cells; char *names; long rows; };
APART void make_sheet(std::list<int> *list)
{
	sheet *made = new sheet;
	made->cells = new double[10]{ 1.5 };
	made->names = new char[30]{};
	made->rows = (long)list->size();
	keep(made);
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++) {
		make_list();
		std::list<int> list;
		make_sheet(&list);
		make_map();
		make_set(i);
		make_table();
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O0', 'clang++ -O2') {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        my $file = Heapsh::capture_source("$directory/containers.cc", $way, text => $containers);
        my %count;
        $count{ $_->{type} =~ s/^\w+ |\[\d+\]$|(?<=long) int//gr }++ for @{ Heapsh::ask_json($file, 'find', 'leaked')->{objects} };
        delete @count{qw(sheet double char block(24) block(30) block(80))};
        is_deeply \%count, {
            'std::list<int>' => 10, 'std::map<int, int>' => 10,
            'std::set<long>' => 10, 'std::_Rb_tree_node<long>' => 30, 'std::unordered_map<int, point>' => 10,
        }, "$way: containers that leaked" or diag explain \%count;
    }
}

# An array of one element at the end of a struct may stand for any number of them, but blocks without room
# for an element are another's.
my $guarded = <<'END';
#include "dumper/heapsnap.h"
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
struct guard { char *message; int *status; struct { long registers[25]; } saved[1]; };
struct guard *current, *enough;
static int number;
char *text;
void *kept[20];
__attribute__((noinline)) static void guarded(int i)
{
	struct guard guard = { 0 }, *before = current;
	current = &guard;
	void **found = kept[i] = calloc(1, 56);
	found[0] = text;
	found[1] = &number;
	found[2] = found[4] = (void *)(intptr_t)i;
	current = before;
}
int main(int argc, char **argv)
{
	text = strdup("a text of an error");
	for (int i = 0; i < 20; i++)
		guarded(i);
	enough = calloc(1, sizeof(*enough) + 2 * sizeof(enough->saved[0]));
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (grep { has($_) } qw(gcc clang)) {
    my $file = Heapsh::capture_source("$directory/guarded.c", "$compiler -O0", text => $guarded);
    is_deeply [map { $_->{size} } @{ Heapsh::ask_json($file, 'find', 'type', 'struct guard')->{objects} }], [616],
        "$compiler: blocks too small for an element are not of its type";
}
done_testing;
