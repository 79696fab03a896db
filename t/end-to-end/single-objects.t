#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Objects of classes that debug information lacks are no arrays of the bases that pointers lead to, but what operator
# new[] and the containers allocate is.
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
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>
struct plain { int number; };
struct direct : plain { long values[4]; };
struct first { long number; };
struct second : first { long values[7]; };
struct link { long number; link *next; };
struct smaller : link { long values[8]; };
struct larger : link { long values[9]; };
struct pair { long number; char *text; };
plain *plains[9], *array_of_plains;
first *firsts[9];
link *links, *array_of_links;
pair *cut;
std::vector<first> *numbers;
plain *grown;
int main(int argc, char **argv)
{
	for (auto &pointer : plains)
		pointer = new direct{};
	memcpy((char *)plains[1] + 20, "behind", 6);
	for (auto &pointer : firsts)
		pointer = new second{};
	for (int i = 0; i < 9; i++) {
		link *made = i % 2 ? (link *)new smaller{} : (link *)new larger{};
		made->next = links;
		links = made;
	}
	array_of_plains = new plain[20];
	array_of_links = new link[6]{};
	numbers = new std::vector<first>(12);
	cut = static_cast<pair *>(::operator new(5 * sizeof(pair)));
	for (int i = 0; i < 5; i++)
		cut[i] = { i, (char *)malloc(10) };
	grown = static_cast<plain *>(::operator new((size_t)(argc + 30) * sizeof(plain)));
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my %expected = (
    'plain 40' => 9, 'first 64' => 9, 'link 80' => 4, 'link 88' => 5,
    'plain[20] 80' => 1, 'link[6] 96' => 1, 'first[12] 96' => 1, 'pair[5] 80' => 1, 'plain[32] 128' => 1,
);
for my $compiler (grep { has($_) } qw(g++ clang++)) {
    for my $flags (qw(-O0 -O1 -O2)) {
        my $file = Heapsh::capture_source("$directory/objects.cc", "$compiler $flags", text => $source);
        my $what = "$compiler $flags";
        my %count;
        $count{ $_->{type} =~ s/^struct //r . ($_->{elements} > 1 && $_->{type} !~ /\[/ ? "[$_->{elements}]" : '') . " $_->{size}" }++
            for map { @{ Heapsh::ask_json($file, 'find', 'type', "struct $_")->{objects} } } qw(plain first link pair);
        is_deeply \%count, \%expected, "$what: objects and arrays" or diag explain \%count;
        is Heapsh::ask_json($file, 'find', '--count', 'under-typed')->{count}, 27, 'the types of objects are the least part of them';
        like scalar Heapsh::ask($file, 'show', 'plains[0]'), qr/^  number = 0\n  the other 36 B are not known\n\z/m, 'which show tells';
        like scalar Heapsh::ask($file, 'show', 'plains[1]'), qr/^  the other 36 B are not known\n  0004  00 .*\n  0014  62 65 68 69 6e 64 .*  behind\.+\n  0024  00 00 00 00 +\.{4}\n\z/m, 'and shows, if anything is there';
    }
}
done_testing;
