#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A struct is the only one that debug information has with such a part and of that size, but the blocks of one line have
# words there that it cannot have: they are of a type that no variable has, of which gcc says nothing.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <vector>
struct Data { long references; char bytes[24]; };
struct Text {
	Data *data;
	Text();
	Text(const Text &other);
	~Text();
};
__attribute__((noinline)) Text::Text() : data(new Data{ 1, "some text" }) {}
__attribute__((noinline)) Text::Text(const Text &other) : data(other.data) { data->references++; }
__attribute__((noinline)) Text::~Text() { if (--data->references == 0) delete data; }
struct Track { Text title; int seconds; Track *next; };
struct Measure { Text name; long value, unit; };
std::vector<void *> *hidden;
Track *last;
static void fill()
{
	hidden = new std::vector<void *>;
	for (int i = 0; i < 60; i++) { Text text; hidden->push_back(new Track{ text, i, nullptr }); }
	for (int i = 0; i < 9; i++) { Text text; hidden->push_back(new Measure{ text, i + 1, 4 }); }
}
int main(int, char **argv)
{
	fill();
	return heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

my $directory = tempdir(CLEANUP => 1);
for my $level ('-O0', '-O2') {
    my $file = Heapsh::capture_source("$directory/refuted.cc", "g++ -std=c++17 $level", text => $source);
    my @objects = @{ Heapsh::ask_json($file, 'find', 'type', 'struct Track')->{objects} };
    is scalar(@objects), 60, "$level: what agrees with a struct is one";
    is scalar(grep { Heapsh::ask($file, 'show', $_->{address}) =~ /next = 0x4$/m } @objects), 0,
        "$level: what has numbers for its pointers is not";
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct Data')->{count}, 69, "$level: parts are known all the same";
}
done_testing;
