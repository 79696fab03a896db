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
    is Heapsh::ask_json($file, 'find', '--count', 'evidence', 'shape', 'type', 'struct {*}')->{count}, 70 - $items, "$name: shapes of the others";
    is Heapsh::ask_json($file, 'find', '--count', 'type', '*_Rb_tree_node<*')->{count}, 50, "$name: nodes by their symbols";
}
done_testing;
