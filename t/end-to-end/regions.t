#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Structs of a program that end in storage, which it cuts into chunks with headers: they keep their type, and the chunks
# get one. What the program or a virtual table says of a block holds for the whole block.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
#include <string.h>
struct Region {
	Region *next;
	char *free;
	char storage[8176];
};
struct Labelled {
	Labelled *next;
	char *free;
	char storage[4080];
};
struct Virtual {
	virtual ~Virtual() {}
	Virtual *next;
	char *free;
	char storage[8168];
};
struct Node {
	Node *next;
	long key, value;
};
struct Name {
	Name *next;
	char text[40];
};
template <class R> struct Heap {
	R *regions;
	Node *nodes;
	Name *names;

	template <class T> T *take()
	{
		if (!regions || regions->free + sizeof(T) + 8 > regions->storage + sizeof(regions->storage)) {
			R *region = new R();
			region->next = regions;
			region->free = region->storage;
			regions = region;
		}
		size_t *header = (size_t *)regions->free;
		*header = sizeof(T);
		regions->free += 8 + sizeof(T);
		return (T *)(header + 1);
	}

	void fill()
	{
		for (long i = 0; i < 500; i++) {
			Node *node = take<Node>();
			Name *name = take<Name>();
			*node = { nodes, i, i * 3 };
			name->next = names;
			memset(name->text, 'a' + i % 26, 30);
			nodes = node;
			names = name;
		}
	}
};
Heap<Region> plain;
Heap<Labelled> labelled;
Heap<Virtual> classes;
int main(int, char **argv)
{
	plain.fill();
	labelled.fill();
	classes.fill();
	for (Labelled *i = labelled.regions; i; i = i->next)
		heapsnap_set_type(i, "Labelled");
	return heapsnap_dump(argv[1]) | heapsnap_wait();
}
END

# 88 bytes for each pair.
my $file = Heapsh::capture_source("$directory/regions.cc", 'g++ -O1', text => $source);
my %count;
$count{"$_->{type} by $_->{evidence}"}++ for @{ Heapsh::ask_json($file, 'find', '--all', 'size', '>4000', 'size', '<10000')->{objects} };
is_deeply \%count, { 'struct Region by embedding' => 6, 'struct Labelled by declared' => 11, 'struct Virtual by vtable' => 6 },
    'regions have their types' or diag explain \%count;
my $shown = Heapsh::ask($file, 'show', 'plain.regions');
like $shown, qr{^  free = .*storage\[.*^  parts:$}ms, 'a region shows its members, and its chunks';
for my $type (qw(Node Name)) {
    like $shown, qr{^\s+\d+ +\S+ \S+  struct $type$}m, "chunks have the type $type";
    cmp_ok Heapsh::ask_json($file, 'find', '--count', 'type', "struct $type")->{count}, '>=', 500, 'and are found';
}
done_testing;
