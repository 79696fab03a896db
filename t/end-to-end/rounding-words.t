#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What an allocator has rounded sizes up by holds nothing, though old pointers lie there, unless it is a member that no
# type has.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $source = <<'END';
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

struct Secret {
	long numbers[40];
};
struct Value {
	long numbers[5];
};
struct Shape {
	virtual ~Shape() = default;
	long numbers[9] = {};
};
// 32 bytes in blocks of 40: three of eight have a pointer behind them that no type has.
struct Item {
	Item *next;
	long numbers[3];
};
struct Plain {
	Plain *next;
	long numbers[3];
};
struct Payload {
	long numbers[20];
};
struct Other {
	long numbers[30];
};

Secret *secret;
Other *other;
std::map<long, Value> *values;
std::vector<std::shared_ptr<Value>> *shared;
std::vector<Shape *> *shapes;
Item *items;
Plain *plains;

// Leaves pointers in freed blocks of a size, which the next ones of that size get.
static void soil(size_t size, int count, bool mixed)
{
	std::vector<void **> blocks;

	for (int i = 0; i < count; i++) {
		auto block = static_cast<void **>(malloc(size));

		for (size_t j = 0; j < size / sizeof(*block); j++)
			block[j] = mixed && i % 2 ? static_cast<void *>(other) : secret;
		__asm__ volatile("" ::"r"(block) : "memory");
		blocks.push_back(block);
	}
	for (auto block : blocks)
		free(block);
}

int main()
{
	secret = new Secret();
	other = new Other();
	values = new std::map<long, Value>();
	shared = new std::vector<std::shared_ptr<Value>>();
	shapes = new std::vector<Shape *>();
	shapes->reserve(300);
	for (int round = 0; round < 50; round++) {
		soil(88, 5, false); // nodes have 80 bytes: 32, a key, and five numbers
		for (long i = 0; i < 5; i++)
			values->emplace(100 * round + i, Value{});
		soil(88, 3, false);
		for (int i = 0; i < 3; i++)
			shapes->push_back(new Shape());
		soil(40, 4, true);
		for (int i = 0; i < 4; i++) {
			auto plain = static_cast<Plain *>(malloc(sizeof(Plain)));

			*plain = Plain{ plains, { 1, 2, 3 } };
			plains = plain;
		}
		for (int i = 0; i < 4; i++) {
			auto item = static_cast<Item *>(calloc(1, sizeof(Item) + sizeof(Payload *)));

			item->next = items;
			items = item;
			if (i < 3)
				*reinterpret_cast<Payload **>(item + 1) = new Payload();
		}
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END

my $directory = tempdir(CLEANUP => 1);
Heapsh::write_file("$directory/rounding.cc", $source);
system("c++ -std=c++17 -g -O1 -o $directory/rounding $directory/rounding.cc") == 0 or plan skip_all => 'no C++ compiler';
my $program = Heapsh->start("$directory/rounding", bare => 1, directory => $directory);
my $file = $program->attach_and_finish;
is_deeply [map { Heapsh::ask_json($file, 'find', '--count', 'type', $_)->{count} } qw(Shape Item Plain)], [150, 200, 200], 'the types'
    or diag scalar Heapsh::ask($file, 'count');
for my $name ('secret', 'other') {
    my @holders = Heapsh::ask($file, 'inrefs', $name);
    is scalar(@holders), 1, "one holder of what $name leads to" or diag join "\n", @holders[0 .. ($#holders < 9 ? $#holders : 9)];
}
is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 0, 'a member that no type has holds';

# Values of many kinds behind the smaller struct that the program says it has, which nothing else leads to, are no leaks.
$source = <<'END';
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct item { struct item *next; long numbers[3]; };
struct numbers { long list[20]; };
struct owned { struct item *item; long list[9]; };
struct fractions { double list[7]; };
struct item *items;
static void *make(int i)
{
	struct numbers *numbers;
	struct fractions *fractions;
	struct owned *owned;

	switch (i % 4) {
	case 0:
		numbers = calloc(1, sizeof(*numbers));
		numbers->list[3] = 7;
		return numbers;
	case 1:
		owned = calloc(1, sizeof(*owned));
		owned->item = items;
		return owned;
	case 2:
		fractions = calloc(1, sizeof(*fractions));
		fractions->list[3] = 7.5;
		return fractions;
	default:
		return strdup("a text of some length or other");
	}
}
int main(void)
{
	for (int i = 0; i < 300; i++) {
		struct item *item = calloc(1, sizeof(*item) + sizeof(void *));

		item->next = items;
		item->numbers[1] = i;
		*(void **)(item + 1) = make(i);
		items = item;
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END
Heapsh::write_file("$directory/values.c", $source);
system("cc -g -O1 -o $directory/values $directory/values.c") == 0 or die;
$file = Heapsh->start("$directory/values", bare => 1)->attach_and_finish;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'item')->{count}, 300, 'structs with a value behind them';
is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 0, 'the only pointers to values of several types hold';

# So are operands behind objects of a class that asks for more than its size.
$source = <<'END';
#include <cstdio>
#include <cstdlib>
#include <new>
struct Operand { long numbers[12]; };
struct Expression {
	Expression *next = nullptr;
	long numbers[2] = {};
	virtual ~Expression() = default;
	Operand *&operand() { return *reinterpret_cast<Operand **>(this + 1); }
};
Expression *expressions;
int main()
{
	for (int i = 0; i < 100; i++) {
		auto expression = new (malloc(sizeof(Expression) + sizeof(Operand *))) Expression;

		expression->operand() = new Operand{ { i } };
		expression->next = expressions;
		expressions = expression;
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END
Heapsh::write_file("$directory/operands.cc", $source);
system("c++ -std=c++17 -g -O1 -o $directory/operands $directory/operands.cc") == 0 or die;
$file = Heapsh->start("$directory/operands", bare => 1)->attach_and_finish;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'Expression')->{count}, 100, 'objects of a class with an operand behind them';
is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 0, 'their operands are held';
done_testing;
