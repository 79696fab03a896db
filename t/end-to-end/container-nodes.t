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
    is_deeply $libcxx->{'std::__tree_node<{long, long, long, long, long, long, long, long, long}, void*>'}, [50, 104], 'a map';
}

done_testing;
