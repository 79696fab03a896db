#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Pointers in a std::variant, which several alternatives have at one place: the index tells what they lead to, also
# where it is as large, and looks like another one.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $source = <<'END';
#include "dumper/heapsnap.h"
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

struct Value;
struct List {
	std::vector<Value> values;
};
struct Table {
	std::vector<std::pair<std::string, Value>> values;
};
struct Value {
	std::variant<std::nullptr_t, double, std::string, std::unique_ptr<List>, std::unique_ptr<Table>> v;
};

Value *root;

static Value make(int depth)
{
	Value value;

	if (depth == 0) {
		static int leaves;

		if (leaves++ % 2)
			value.v = leaves * .5;
		else
			value.v = std::string("a text that is too long for the object");
	} else if (depth % 2) {
		auto list = std::make_unique<List>();

		for (int i = 0; i < 5; i++)
			list->values.push_back(make(depth - 1));
		value.v = std::move(list);
	} else {
		auto table = std::make_unique<Table>();

		for (int i = 0; i < 4; i++)
			table->values.emplace_back("the key of a value, number " + std::to_string(i), make(depth - 1));
		value.v = std::move(table);
	}
	return value;
}

int main(int, char **argv)
{
	root = new Value(make(5));
	return heapsnap_dump(argv[1]) || heapsnap_wait();
}
END

# 1 + 20 + 400 lists, 5 + 100 tables.
my $directory = tempdir(CLEANUP => 1);
for my $flags ('-O0', '-O2') {
    my $file = Heapsh::capture_source("$directory/alternatives$flags.cc", "g++ -std=c++17 $flags", text => $source);
    like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'List')), qr/^Total: 421 objects,/m, "$flags: lists";
    like scalar(Heapsh::ask($file, 'find', '--count', 'type', 'Table')), qr/^Total: 105 objects,/m, "$flags: tables";
    like scalar(Heapsh::ask($file, 'find', '--count', 'evidence', 'none')), qr/^Total: 0 objects/m,
        "$flags: all blocks have a type";
}
done_testing;
