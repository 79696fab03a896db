#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes of containers without debug information, also where all code is inlined or stripped: the
# containers in memory tell them. Lists of the program's own are none.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = abs_path(tempdir(CLEANUP => 1));

# Each kind of blocks has a size of its own.
Heapsh::write_file("$directory/library.cc", <<'END');
#include <cstdio>
#include <list>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
struct Wide { long numbers[6]; };
struct Person { long number[17]; };
std::map<std::string, Wide> by_name;         // 32 + 32 + 48
std::set<long> numbers;                      // 32 + 8
struct Holder {
	long first = 1;
	std::list<Wide> list;                // 16 + 48
	std::unordered_map<long, Wide> table; // 8 + 8 + 48: of a size with that, so a site tells them apart
};
std::unordered_set<long> hashed;             // 8 + 8
std::list<Person *> people;                  // 16 + 8
Holder *holder = new Holder;
std::string *text = new std::string(300, 'x');
int main()
{
	for (long i = 0; i < 50; i++) {
		by_name["the name of a person " + std::to_string(i)] = Wide{ { i } };
		numbers.insert(i * 7);
		holder->list.push_back(Wide{ { i } });
		holder->table[i] = Wide{ { i } };
		hashed.insert(i * 3);
		people.push_back(new Person{ { i } });
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# A list of the program's own, laid out as one of the library's.
Heapsh::write_file("$directory/ring.cc", <<'END');
#include <iostream>
struct Node { Node *next, *previous; long value[12]; };
struct Ring { Node *next, *previous; long count; };
Ring *ring = new Ring{ reinterpret_cast<Node *>(&ring), reinterpret_cast<Node *>(&ring), 0 };
int main()
{
	Node *end = reinterpret_cast<Node *>(ring);
	ring->next = ring->previous = end;
	for (long i = 0; i < 50; i++) {
		Node *node = new Node{ ring->next, end, { i } };
		node->next->previous = node;
		ring->next = node;
		ring->count++;
	}
	std::cout << "ready\n" << std::flush;
	while (std::cin.get() != EOF)
		;
}
END

# A list that two places of the code fill in turn. Its head has a higher address than its nodes, and each of these has a
# number that may be the length of a list.
Heapsh::write_file("$directory/turns.cc", <<'END');
#include <cstdio>
#include <cstdlib>
#include <list>
#include <new>
using List = std::list<long>;
List *list;
__attribute__((noinline)) static void push(List *to, long value)
{
	to->push_back(value);
	asm volatile("");
}
__attribute__((noinline)) static void push_too(List *to, long value)
{
	to->push_back(value);
	asm volatile("nop");
}
int main(int, char **arguments)
{
	long count = atol(arguments[1]);
	list = new (malloc(1 << 20)) List;
	for (long i = 0; i < count; i += 2) {
		push(list, count);
		push_too(list, count);
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# Values of the library in blocks of the program's own, and blocks that look like these. Each has a size of its own.
Heapsh::write_file("$directory/fields.cc", <<'END');
#include <cstdio>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>
struct Part { long number[3]; };
struct Record { long number; std::string name; std::vector<int> ages; std::shared_ptr<Part> part; long more[3]; }; // 104
struct Owner { long number; std::map<int, int> map; std::list<int> list; std::unordered_set<int> hash; std::set<int> set; };
struct Span { char *begin, *cursor, *end; long more[12]; };                         // 120: its buffer is not full
struct Sums { long length, capacity; std::string *name; long more[14]; };           // 136
Record *records[60];
struct Named { virtual ~Named() = default; std::string name = "a long name behind a vtable"; };
Owner *owners[60];
Named *named[60];
Span *spans[60];
Sums *sums[60];
std::vector<std::string> names[20];
std::vector<std::shared_ptr<Part>> parts;
std::vector<Record *> all;
std::map<long, std::vector<long>> tables;
std::deque<Part> deque;
int main()
{
	for (long i = 0; i < 60; i++) {
		records[i] = new Record{ i, i % 2 ? "short" : "a name that is too long " + std::to_string(i), {}, {}, { i, i, i } };
		for (int j = 0; j < i % 7; j++)
			records[i]->ages.push_back(j);
		if (i % 3)
			parts.push_back(records[i]->part = std::make_shared<Part>());
		all.push_back(records[i]);
		named[i] = new Named;
		tables[i].resize(i % 4 * 50, i);
		owners[i] = new Owner{ i, {}, {}, {}, {} };
		for (int j = 0; j < i % 3; j++) {
			owners[i]->map[j] = j;
			owners[i]->list.push_back(j);
			owners[i]->hash.insert(j);
			owners[i]->set.insert(j);
		}
		for (long j = 0; j <= i % 5; j++)
			names[i % 20].push_back("name " + std::to_string(i));
		char *buffer = new char[200]();
		spans[i] = new Span{ buffer, buffer + i, buffer + 150, { i } };
		sums[i] = new Sums{ i, i, nullptr, { i } };
		deque.push_back(Part{ { i } });
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# A library without debug information makes the nodes of a container that the program has debug information of.
Heapsh::write_file("$directory/memory.h", <<'END');
#include <memory>
#include <set>
struct Item { long number[3]; };
struct Memory {
	std::set<std::shared_ptr<Item>> items;
	__attribute__((visibility("default"))) void add(long number);
};
END
Heapsh::write_file("$directory/maker.cc", <<'END');
#include "memory.h"
void Memory::add(long number)
{
	items.insert(std::shared_ptr<Item>(new Item{ { number } }));
}
END
Heapsh::write_file("$directory/keeper.cc", <<'END');
#include "memory.h"
#include <cstdio>
Memory *memory = new Memory;
long sum;
int main()
{
	for (long i = 0; i < 60; i++)
		memory->add(i);
	for (const std::shared_ptr<Item> &item : memory->items)
		sum += item->number[0];
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

# Tables of nodes of one size.
Heapsh::write_file("$directory/tables.cc", <<'END');
#include <cstdio>
#include <string>
#include <unordered_map>
#include <unordered_set>
struct Price { double amount; long currency; };
struct Range { long from, to; };
struct Tables {
	std::unordered_map<long, Price> prices;
	std::unordered_map<long, Range> ranges;
	std::unordered_set<std::string> names;
};
Tables *tables = new Tables;
int main()
{
	for (long i = 0; i < 80; i++) {
		tables->prices[i] = Price{ i / 4.0, i };
		tables->ranges[i] = Range{ i, 2 * i };
		tables->names.insert("a name that is long enough " + std::to_string(i));
	}
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
}
END

sub capture {
    my ($compiler, $source, @arguments) = @_;
    system("cd $directory && $compiler -o program $source.cc 2>errors") == 0 or return;
    return Heapsh->start("$directory/program", args => \@arguments)->capture;
}

# The program's blocks by type: {type} => [number, bytes of each].
sub types {
    my ($compiler, $source) = @_;
    my $file = capture($compiler, $source) or return;
    my %type;
    for my $object (@{ Heapsh::ask_json($file, 'find', 'module', 'program')->{objects} }) {
        next if $object->{evidence} =~ /^(?:shape|none)$/;
        my $type = $type{ $object->{type} =~ s/^(?:class|struct) //r =~ s/\[\d+\]//r } //= [0, $object->{size}];
        $type->[0]++;
    }
    return \%type;
}

my $stripped = types('g++ -O2 -s', 'library');
is_deeply $stripped->{'std::_Rb_tree_node<{std::string, long, long, long, long, long, long}>'}, [50, 112], 'stripped: a map';
is_deeply $stripped->{'std::_Rb_tree_node<{long}>'}, [50, 40], 'a set';
is_deeply $stripped->{'std::_List_node<{long, long, long, long, long, long}>'}, [50, 64], 'a list in a block';
is_deeply $stripped->{'std::__detail::_Hash_node<{long, long, long, long, long, long, long}>'}, [50, 64], 'an unordered map';
is_deeply $stripped->{'std::__detail::_Hash_node<{long}>'}, [50, 16], 'an unordered set';
is_deeply $stripped->{'std::_List_node<{ptr}>'}, [50, 24], 'a list of pointers';

my $named = types('g++ -O2', 'library');
is_deeply $named->{'std::__detail::_Hash_node<long, false>'}, [50, 16], 'with symbols: an unordered set';
is_deeply $named->{'std::_Rb_tree_node<std::pair<std::string const, Wide>>'}, [50, 112], 'a map';
# Its symbol is that of a function which the allocating code does not call: another set may be inlined there.
is_deeply $named->{'std::_Rb_tree_node<{long}>'}, [50, 40], 'a set is not guessed';
is_deeply [ grep { /\{ptr/ } keys %$named ], ['std::_List_node<{ptr}>'], 'what the list leads to is not known';

is_deeply [ grep { /node/ } keys %{ types('g++ -O2', 'ring') } ], [], 'a list of the program is none of the library';

my %steps;
for my $count (1000, 4000) {
    my $file = capture('g++ -O2', 'turns', $count);
    my %objects = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    my ($nodes) = grep { /List_node/ } keys %objects;
    is $objects{$nodes}, $count, "a list of $count that two sites fill";
    $steps{$count} = Heapsh::ask_json($file, 'info')->{steps};
}
cmp_ok $steps{4000}, '<', 8 * $steps{1000}, 'a list four times as long takes about four times the steps';

SKIP: {
    my $libcxx = types('clang++ -O2 -s -stdlib=libc++', 'library') or skip 'no libc++', 4;
    is_deeply $libcxx->{'std::__tree_node<{long}, void*>'}, [50, 40], 'libc++: a set';
    is_deeply $libcxx->{'std::__list_node<{ptr}, void*>'}, [50, 24], 'a list';
    is_deeply $libcxx->{'std::__hash_node<{long}, void*>'}, [50, 24], 'an unordered set';
    is_deeply $libcxx->{'std::__tree_node<{std::string, long, long, long, long, long, long}, void*>'}, [50, 104], 'a map';
}

for my $way (['g++', 'std::_Rb_tree_node<std::shared_ptr<Item>>'],
    ['clang++ -stdlib=libc++', 'std::__tree_node<std::shared_ptr<Item>, void *>']) {
    my ($compiler, $node) = @$way;
    SKIP: {
        system("cd $directory && $compiler -O2 -s -fPIC -shared -fvisibility=hidden -fvisibility-inlines-hidden "
                . "-o libmaker.so maker.cc 2>errors") == 0 or skip "no $compiler", 2;
        my $file = capture("$compiler -g -O2 -Wl,--no-as-needed,-rpath,$directory $directory/libmaker.so", 'keeper');
        my %objects = map { $_->{type} =~ s/^(?:class|struct) //r => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
        is $objects{$node}, 60, "$compiler: nodes that a library without debug information makes" or diag explain \%objects;
        is $objects{Item}, 60, 'and what they lead to';
    }
}

# {type} => how many blocks of the program have the shape
sub shapes {
    my ($compiler, $source) = @_;
    my $file = capture($compiler, $source) or return;
    my %type;
    $type{ $_->{type} =~ s/^struct //r =~ s/\[\d+\]$//r }++
        for grep { $_->{evidence} eq 'shape' } @{ Heapsh::ask_json($file, 'find', 'module', 'program')->{objects} };
    $type{ $_->{type} =~ s/^class //r =~ s/std::__?\w+_node/node/r =~ s/, void\*//r }++
        for grep { $_->{type} =~ /vector/ && $_->{evidence} eq 'pointer' } @{ Heapsh::ask_json($file, 'find', 'module', 'program')->{objects} };
    return (\%type, $file);
}

# The map of libc++'s deque is a vector of pointers, too.
for my $way (['libstdc++', 'g++', 1], ['libc++', 'clang++ -stdlib=libc++', 2]) {
    my ($library, $compiler, $pointers) = @$way;
    SKIP: {
        my ($shapes, $file) = shapes("$compiler -O2 -s", 'fields');
        skip "no $library", 11 unless $shapes;
        is $shapes->{'{long, std::string, vector, std::shared_ptr, long[3]}'}, 60, "$library: a string, a vector and a shared pointer in a struct"
            or diag explain $shapes;
        is $shapes->{'{long, tree, list, hash table, tree}'}, 60, 'a map, a list, an unordered set and a set' or diag explain $shapes;
        is $shapes->{'node<{long, vector}>'}, 60, 'a map of vectors';
        is $shapes->{'vector element {std::string}'}, 20, 'vectors of strings';
        is $shapes->{'vector element {byte[4]}'}, 51, 'vectors of numbers';
        is $shapes->{'vector element {ptr}'}, $pointers, 'vectors of pointers';
        is $shapes->{'vector element {std::shared_ptr}'}, 1, 'a vector of shared pointers';
        is $shapes->{'vector element {long}'}, 45, 'vectors whose lengths are multiples of 50';
        is scalar(grep { /vector/ } keys %$shapes), 7, 'and no other' or diag explain $shapes;
        my ($named) = @{ Heapsh::ask_json($file, 'find', 'type', 'Named')->{objects} };
        like Heapsh::ask($file, 'show', $named->{address}), qr/"a long name behind a vtable"/, 'so is that of a class with a vtable';
        my ($record) = @{ Heapsh::ask_json($file, 'find', 'type', '{long, std::string*')->{objects} };
        like Heapsh::ask($file, 'show', $record->{address}), qr/"(?:short|a name that is too long \d+)"/, 'the string is shown';
    }
}

# {type} => [objects, size of the first] of a program that nobody prepared
sub attached {
    my ($compiler, $source) = @_;
    return if system("$compiler -o $directory/bare $directory/$source.cc 2>$directory/errors") != 0;
    my $file = Heapsh->start("$directory/bare", bare => 1)->attach_and_finish;
    my %type;
    for my $object (@{ Heapsh::ask_json($file, 'find')->{objects} }) {
        my $entry = $type{ $object->{type} =~ s/^(?:struct|class) //r =~ s/\[\d+\]$//r } //= [0, $object->{size}];
        $entry->[0]++;
    }
    return \%type;
}

# Neither sites nor the sizes that were requested are known then: each container tells the nodes that are its own.
SKIP: {
    if (my $why = Heapsh::attach_refusal()) { skip $why, 12 }
    my $found = attached('g++ -O2 -s', 'library');
    is_deeply $found->{'std::_Rb_tree_node<{std::string, long, zero[5]}>'}, [50, 120], 'attached: a map' or diag explain $found;
    is_deeply $found->{'std::_Rb_tree_node<{long}>'}, [50, 40], 'a set';
    is_deeply $found->{'std::_List_node<{long, zero[5]}>'}, [50, 72], 'a list';
    is_deeply $found->{'std::__detail::_Hash_node<{long[2], zero[5]}>'}, [50, 72], 'an unordered map with nodes of that size';
    is_deeply $found->{'std::__detail::_Hash_node<{long}>'}, [50, 24], 'an unordered set';
    is_deeply $found->{'std::_List_node<{ptr}>'}, [50, 24], 'a list of pointers';
    is $found->{'std::__detail::_Hash_node_base *'}[0], 2, 'the tables of both';
    is scalar(grep { /node/ } keys %$found), 7, 'and no other' or diag explain $found;

    $found = attached('g++ -O2 -s', 'fields');
    is $found->{'vector element {std::string}'}[0], 20, 'vectors of strings' or diag explain $found;
    is $found->{'vector element {std::shared_ptr}'}[0], 1, 'a vector of shared pointers';
    is_deeply [grep { /^std::_Rb_tree_node<\{long, (?!long)/ } keys %$found], ['std::_Rb_tree_node<{long, vector}>'], 'a map of vectors';
    is_deeply [ grep { /node/ } keys %{ attached('g++ -O2 -s', 'ring') } ], [], 'a list of another library';
}

SKIP: {
    if (my $why = Heapsh::attach_refusal()) { skip $why, 3 }
    my $found = attached('clang++ -stdlib=libc++ -g -O2', 'tables') or skip 'no libc++', 3;
    my $node = 'std::__hash_node';
    is $found->{"$node<std::__hash_value_type<long, $_>, void *>"}[0], 80, "libc++: a table of $_" or diag explain $found
        for qw(Price Range);
    is $found->{"$node<std::string, void *>"}[0], 80, 'and of strings';
}

done_testing;
