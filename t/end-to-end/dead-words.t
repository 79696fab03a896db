#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Words in parts of objects that hold nothing are no pointers: the unused buffer of a std::string, an
# empty std::optional, the inactive alternatives of a std::variant, the spare room of vectors and deques.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

plan skip_all => 'there is no g++' unless has('g++');

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <string>
#include <vector>
struct Node { long number; double weight; Node *next; };
struct Holder { long id; std::string text; Node *node; };
Holder *holder, *several;
Holder fixed;
std::vector<Holder> many;
__attribute__((noinline)) static Node *make(long number) { return new Node{ number, 0.5, nullptr }; }
// Leaves a pointer in the part of a string's buffer that is not used.
static void leave(std::string &text, Node *node)
{
	((Node *volatile *)&text)[3] = node;
}
int main(int argc, char **argv)
{
	const char *text = "a text that is too long for the string's own buffer";
	holder = new Holder{ 1, text, make(1) };
	leave(holder->text, make(100));
	several = new Holder[3];
	for (int i = 0; i < 3; i++) {
		several[i].text = text;
		several[i].node = make(2 + i);
		leave(several[i].text, make(101 + i));
	}
	fixed.text = text;
	fixed.node = make(5);
	leave(fixed.text, make(104));
	many.resize(2);
	for (int i = 0; i < 2; i++) {
		many[i].text = text;
		leave(many[i].text, make(105 + i));
		many[i].node = make(6 + i);
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $flags ('-O0', '-O2') {
    my $file = Heapsh::capture_source("$directory/stale.cc", "g++ $flags", text => $source);
    # Seven nodes are held, seven are led to by stale words alone.
    is Heapsh::ask($file, 'find', '--count', 'type', 'Node') =~ s/,.*//sr, 'Total: 14 objects',
        "$flags: there are 14 nodes";
    my $leaks = Heapsh::ask_json($file, 'leaks');
    is_deeply [map { "$_->{direct_objects} $_->{type}" } @{ $leaks->{groups} }], ['7 struct Node'],
        'those that only stale words lead to are leaked' or diag explain $leaks;
}

# Behind the letters of a string is what was there before: the one word that is among them is a pointer.
my $tails = <<'END';
#include "dumper/heapsnap.h"
#include <string>
#include <vector>
struct Node { long number; double weight; Node *next; };
struct Holder { long id; std::string text; };
std::string *single;
std::vector<std::string> *list;
Holder *holder;
std::string fixed;
__attribute__((noinline)) static Node *make(long number) { return new Node{ number, 0.5, nullptr }; }
static void fill(std::string &text, long number)
{
	text.reserve(100);
	text = "a text of some length: ";
	text.resize(24);
	Node *inside = make(number);
	text.append((const char *)&inside, sizeof(inside));
	((Node *volatile *)text.data())[6] = make(100 + number);
	((Node *volatile *)text.data())[9] = make(100 + number);
}
int main(int argc, char **argv)
{
	single = new std::string;
	fill(*single, 1);
	list = new std::vector<std::string>(3);
	for (int i = 0; i < 3; i++)
		fill((*list)[i], 2 + i);
	holder = new Holder;
	fill(holder->text, 5);
	fill(fixed, 6);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $flags ('-O0', '-O2') {
    my $file = Heapsh::capture_source("$directory/tails.cc", "g++ $flags", text => $tails);
    is_deeply [map { "$_->{direct_objects} $_->{type}" } @{ Heapsh::ask_json($file, 'leaks')->{groups} }], ['12 struct Node'],
        "$flags: what only stale words behind a string's letters lead to is leaked";
    is Heapsh::ask($file, 'find', '--count', 'type', 'Node', 'reachable') =~ s/,.*//sr, 'Total: 6 objects',
        '... but not what a word among its letters leads to';
}

# Each kind of value holds some nodes, and has stale pointers to others.
my $spare = <<'END';
#include "dumper/heapsnap.h"
#include <any>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>
struct Node { long number; double weight; Node *next; };
struct Pair { Node *first, *second; };
struct Other { double weight; void *owner; long number; };
struct Holder {
	std::optional<Node *> maybe;
	std::optional<Pair> pair;
	std::variant<std::monostate, Node *, Pair, double> one;
	std::optional<std::variant<double, Pair>> nested;
	std::any anything[3];
};
Holder *holder;
std::optional<Node *> empty;
std::vector<Node *> few;
std::vector<Pair> *pairs;
std::deque<Node *> window;
std::deque<Pair> *jobs;
std::vector<std::variant<double, Pair>> choices;
std::optional<Pair> *maybes;
std::vector<Node *> stale;
void *others[3];
__attribute__((noinline)) static Node *make(long number) { return new Node{ number, 0.5, nullptr }; }
__attribute__((noinline)) static void *make_other(long number)
{
	Other *other = new Other{ 0.5, nullptr, number };
	return other;
}
__attribute__((noinline)) static void put(void *address, int word, Node *node)
{
	((Node *volatile *)address)[word] = node;
}
int main(int argc, char **argv)
{
	// 3 are held, 4 are not.
	holder = new Holder;
	holder->maybe.reset();
	put(&holder->maybe, 0, make(100));
	holder->pair = Pair{ make(1), make(2) };
	holder->one = make(3);
	put(&holder->one, 1, make(101));
	holder->nested = 2.5;
	put(&holder->nested, 1, make(102));
	holder->anything[0] = 7;
	holder->anything[1] = Pair{};
	put(&empty, 0, make(103));
	// 2 and 2 are held; 3 and 4 are not.
	few.reserve(5);
	few.push_back(make(4));
	few.push_back(make(5));
	for (int i = 2; i < 5; i++)
		put(few.data(), i, make(104 + i));
	pairs = new std::vector<Pair>;
	pairs->reserve(3);
	pairs->push_back({ make(6), make(7) });
	for (int i = 2; i < 6; i++)
		put(pairs->data(), i, make(110 + i));
	// 10 are held, 90 are not; 20 are held, 40 are not.
	for (int i = 0; i < 100; i++)
		window.push_back(make(200 + i));
	for (int i = 0; i < 90; i++)
		window.pop_front();
	jobs = new std::deque<Pair>;
	// The last ones are null, so that none is left in main's frame.
	for (int i = 0; i <= 30; i++)
		jobs->push_back(i < 30 ? Pair{ make(300 + i), make(400 + i) } : Pair{});
	for (int i = 0; i <= 20; i++)
		jobs->pop_back();
	// The alternative that the first element holds does not decide for the others: 8 are held, 2 are not.
	choices.reserve(3);
	for (int i = 0; i < 3; i++)
		choices.push_back(i ? std::variant<double, Pair>(Pair{ make(500 + i), make(510 + i) }) : 0.5);
	put(&choices[0], 1, make(520));
	maybes = new std::optional<Pair>[3];
	for (int i = 1; i < 3; i++)
		maybes[i] = Pair{ make(530 + i), make(540 + i) };
	put(&maybes[0], 1, make(550));
	// Stale words say nothing of what they lead to.
	stale.reserve(3);
	for (int i = 0; i < 3; i++)
		put(stale.data(), i, (Node *)(others[i] = make_other(i)));
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O2') {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "there is no $compiler", 5 unless has($compiler);
        my $file = Heapsh::capture_source("$directory/spare.cc", "$way -std=c++17", text => $spare);
        is Heapsh::ask($file, 'find', '--count', 'type', 'Node') =~ s/,.*//sr, 'Total: 188 objects',
            "$way: there are 188 nodes";
        is Heapsh::ask($file, 'find', '--count', 'type', 'Other') =~ s/,.*//sr, 'Total: 3 objects',
            "$way: they type nothing";
        my ($address) = Heapsh::ask($file, 'find', 'type', 'Holder') =~ /(0x[0-9a-f]+)/;
        my $shown = Heapsh::ask($file, 'show', $address) =~ s/0x[0-9a-f]+/X/gr;
        like $shown, qr/^  one = struct Node at X\n  nested = 2\.5 \(double\)\n/m,
            "$way: show names the alternative that is held";
        like $shown, qr/ = std::any of int: 7\n.* = std::any of struct Pair at X\n.* = std::any, empty\n/,
            "$way: and the types in std::any";
        my $leaks = Heapsh::ask_json($file, 'leaks');
        is_deeply [map { "$_->{direct_objects} $_->{type}" } @{ $leaks->{groups} }], ['143 struct Node'],
            "$way: those in parts that hold nothing are leaked" or diag explain $leaks;
    }
}
# Names behind a header, in memory that held pointers. A text of 8 or 9 characters ends in the second
# word of its array; the bytes behind it are an old pointer's. A buffer of binary data has pointers.
my $names = <<'END';
#include "dumper/heapsnap.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct target { long number; double weight; struct target *next; };
struct symbol { struct symbol *next; unsigned hash, uses; char text[]; };
struct device { struct device *next; char priv[]; };
struct symbol *symbols;
struct device *devices;
char *room, *texts[20];
__attribute__((noinline)) static void *make(size_t room_at)
{
	return memset(room + room_at, 0, sizeof(struct target));
}
int main(int argc, char **argv)
{
	const char *text[] = { "rule_100", "rule_1001" };
	room = malloc(1 << 18);
	for (int i = 0; i < 20; i++) {
		// Whatever the text leaves of it leads into the room.
		char *stale = (char *)(((uintptr_t)make(1 << 17) | 0xffff) - 0x7fff);
		struct symbol *symbol = malloc(sizeof(*symbol) + 16);
		memcpy(symbol->text + 8, &stale, sizeof(stale));
		strcpy(symbol->text, text[i % 2]);
		symbol->hash = (unsigned)i;
		symbol->uses = 1;
		symbol->next = symbols;
		symbols = symbol;
		texts[i] = malloc(48);
		memcpy(texts[i] + 40, &stale, sizeof(stale));
		sprintf(texts[i], "the text of the rule with the name %s", text[i % 2] + 3);
		struct device *device = malloc(sizeof(*device) + 16);
		char *held = room + (1 << 17);
		memcpy(device->priv, "eth0\0\0\0\0", 8);
		memcpy(device->priv + 8, &held, sizeof(held));
		device->next = devices;
		devices = device;
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my $named = Heapsh::capture_source("$directory/names.c", 'gcc -g -O1', text => $names);
is Heapsh::ask($named, 'find', '--count', 'type', 'struct symbol') =~ s/,.*//sr, 'Total: 20 objects', 'there are 20 symbols';
my $pointers = sub { Heapsh::ask_json($named, 'sql', "select count(*) as n from edges join objects on address = source where type = '$_[0]' and offset >= $_[1]")->[0]{n} };
is $pointers->('struct symbol', 16), 0, 'the bytes behind a text are no pointer';
is $pointers->('char', 0), 0, 'nor are those in a block of characters';
is $pointers->('struct device', 8), 20, 'but pointers among binary data are';
# Buffers of libc's streams, behind what was written, and a buffer of the program's own in a larger struct.
my $streams = <<'END';
#include "dumper/heapsnap.h"
#include <stdio.h>
#include <stdlib.h>
struct node { long number; double weight; struct node *next; };
struct connection { char buffer[1024]; struct node *node; };
struct connection *connection;
FILE *file, *own;
__attribute__((noinline)) static struct node *make(long number)
{
	struct node *node = calloc(1, sizeof(*node));
	node->number = number;
	return node;
}
__attribute__((noinline)) static void leave(FILE *stream, long number)
{
	for (long i = 8; i < 18; i++)
		((struct node *volatile *)stream->_IO_buf_base)[i] = make(number + i);
}
int main(int argc, char **argv)
{
	file = fopen("/dev/null", "w");
	own = fopen("/dev/null", "w");
	connection = calloc(1, sizeof(*connection));
	setvbuf(own, connection->buffer, _IOFBF, sizeof(connection->buffer));
	connection->node = make(1);
	setvbuf(stderr, NULL, _IOFBF, 4096);
	fputs("#", stderr);
	fputs("#", file);
	fputs("#", own);
	leave(stderr, 100);
	leave(file, 200);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my $buffered = Heapsh::capture_source("$directory/streams.c", 'gcc -g -O1', text => $streams);
is Heapsh::ask($buffered, 'find', '--count', 'type', 'struct node') =~ s/,.*//sr, 'Total: 21 objects', 'there are 21 nodes';
is_deeply [map { "$_->{direct_objects} $_->{type}" } @{ Heapsh::ask_json($buffered, 'leaks')->{groups} }], ['20 struct node'],
    'those that only buffers of streams lead to are leaked';
# The header in which glibc notes the loaded modules has room for more of them, and never clears it.
my $header = <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
struct module { long number; double weight; struct module *next; };
struct found { unsigned long start, end; struct module *map; void *frame; };
struct dlfo_mappings_segment { struct dlfo_mappings_segment *previous; void *to_free; size_t size, allocated; struct found objects[]; };
struct dlfo_mappings_segment *segment;
int main(int argc, char **argv)
{
	segment = calloc(1, sizeof(*segment) + 10 * sizeof(segment->objects[0]));
	segment->to_free = segment;
	segment->size = 4;
	segment->allocated = 10;
	for (int i = 0; i < 10; i++)
		segment->objects[i].map = calloc(1, i < 4 ? sizeof(struct module) : 5000);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my $filled = Heapsh::capture_source("$directory/filled.c", 'gcc -g -O1', text => $header);
is Heapsh::ask($filled, 'find', '--count', 'type', 'struct module') =~ s/,.*//sr, 'Total: 4 objects', 'modules up to the count are known';
is Heapsh::ask_json($filled, 'sql', "select count(*) as n from edges join objects on address = source where type like '%dlfo%'")->[0]{n}, 5,
    'what lies behind them leads nowhere';

# The allocator rounds sizes up. Where sizes are not known, a pointer in the rest is no member of another element.
SKIP: {
    if (my $why = Heapsh::attach_refusal()) { skip $why, 3 }
    my $file = Heapsh->start('slack', bare => 1)->attach_and_finish;
    is Heapsh::ask($file, 'find', '--count', 'type', "struct $_->[0]") =~ s/,.*//sr, "Total: $_->[1] objects", "attached: $_->[0]s"
        for [ring => 50], [chain => 100];
    is Heapsh::ask_json($file, 'find', 'leaked')->{count}, 30, '... and a word behind a text leads nowhere';
}

# A vector or deque has the start of an arena's chunk: what is behind its array there is in use.
my $arena = <<'END';
#include "dumper/heapsnap.h"
#include <deque>
#include <vector>
#include <cstdlib>
#include <memory_resource>
struct Value { long number; double weight[10]; };
struct Holder { Value *value; long number; };
struct Chunk { char *begin, *free; };
static Chunk chunk;
template <typename T> struct Arena {
	using value_type = T;
	Arena() = default;
	template <typename U> Arena(const Arena<U> &) {}
	T *allocate(size_t count)
	{
		void *result = chunk.free;

		chunk.free += count * sizeof(T);
		return static_cast<T *>(result);
	}
	void deallocate(T *, size_t) {}
	bool operator==(const Arena &) const { return true; }
	bool operator!=(const Arena &) const { return false; }
};
struct Desk {
	std::pmr::monotonic_buffer_resource arena{ 4000 };
	std::pmr::vector<long> *numbers;
	std::vector<long, Arena<long>> plain;
	std::deque<long, Arena<long>> window;
	Chunk chunks[2];
};
std::vector<Desk *> desks;
static void begin_chunk()
{
	chunk.begin = chunk.free = static_cast<char *>(malloc(4000));
}
static void add_holders()
{
	for (int i = 0; i < 10; i++) {
		new (chunk.free) Holder{ new Value(), i };
		chunk.free += sizeof(Holder);
	}
}
int main(int argc, char **argv)
{
	for (int i = 0; i < 20; i++) {
		Desk *desk;

		begin_chunk();
		desk = new Desk();
		add_holders();
		desk->chunks[0] = chunk;
		begin_chunk();
		desk->plain.reserve(10);
		desk->plain.resize(10 - i % 2, 5);
		add_holders();
		desk->chunks[1] = chunk;
		desk->numbers = new std::pmr::vector<long>(&desk->arena);
		desk->numbers->resize(10, 5);
		if (i % 2)
			desk->numbers->pop_back();
		for (int j = 0; j < 10; j++)
			new (desk->arena.allocate(sizeof(Holder), 8)) Holder{ new Value(), j };
		desks.push_back(desk);
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my $shared = Heapsh::capture_source("$directory/arena.cc", 'g++ -std=c++17 -O2', text => $arena);
is Heapsh::ask_json($shared, 'find', '--count', 'leaked')->{count}, 0, 'objects behind arrays in chunks are held'
    or diag scalar Heapsh::ask($shared, 'leaks');
done_testing;
