#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Objects of std::make_shared() lie behind their counts, in a buffer of bytes: what they hold has types too.
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
#include <memory>
#include <vector>
struct mark { long number; double weight; };
struct node { int id; std::vector<std::shared_ptr<node>> kids; mark *marks; };
std::shared_ptr<node> root;
static std::shared_ptr<node> make(int depth)
{
	auto made = std::make_shared<node>();
	made->id = depth;
	made->marks = new mark{ depth, 0.5 };
	for (int i = 0; i < 3 && depth < 3; i++)
		made->kids.push_back(make(depth + 1));
	made->kids.shrink_to_fit();
	return made;
}
int main(int argc, char **argv)
{
	root = make(0);
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O2', 'clang++ -O2', 'clang++ -O0 -stdlib=libc++', 'clang++ -O2 -stdlib=libc++') {
    my ($compiler, $level, @library) = split ' ', $way;
  SKIP: {
        skip "$way does not work here", 1 unless compiles($compiler, "@library -x c++", '#include <memory>');
        my $file = Heapsh::capture_source("$directory/shared.cc", "$way -std=c++17", text => $source);
        my %count;
        $count{ $_->{type} =~ s/^\w+ |\[\d+\]$//gr }++ for @{ Heapsh::ask_json($file, 'find', 'site', 'shared.cc')->{objects} };
        is_deeply \%count, { 'node (make_shared)' => 40, 'std::shared_ptr<node>' => 13, 'mark' => 40 }, "$way: what they hold"
            or diag explain \%count;
    }
}

# Texts in the blocks of old structs (they fill their own): behind its capacity a long text's object has a word that is not its own.
my $texts = <<'END';
#include "dumper/heapsnap.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>
struct item { long number; };
struct note { long number; std::string text; std::optional<item *> last; };
template <int SIZE> struct old { item *of[SIZE]; };
std::vector<std::unique_ptr<item>> items;
std::vector<std::shared_ptr<const std::string>> texts;
std::vector<std::shared_ptr<const note>> notes;
template <int SIZE> __attribute__((noinline)) static void leave_pointers()
{
	std::vector<old<SIZE> *> list;
	for (int i = 0; i < 40; i++) {
		list.push_back(new old<SIZE>);
		for (item *volatile &word : list.back()->of)
			word = items[i % 20].get();
	}
	for (old<SIZE> *each : list)
		delete each;
}
int main(int argc, char **argv)
{
	items.reserve(20), texts.reserve(20), notes.reserve(20);
	for (int i = 0; i < 20; i++)
		items.push_back(std::make_unique<item>());
	leave_pointers<6>();
	leave_pointers<7>();
	leave_pointers<9>();
	leave_pointers<10>();
	for (int i = 0; i < 20; i++) {
		texts.push_back(std::make_shared<const std::string>("a text of 47 characters, too long for an object"));
		notes.push_back(std::make_shared<const note>(note{ i, "another text with as many, which fill its block", {} }));
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O2', 'clang++ -O0 -stdlib=libc++', 'clang++ -O2 -stdlib=libc++') {
    my ($compiler, $level, @library) = split ' ', $way;
  SKIP: {
        skip "$way does not work here", 1 unless compiles($compiler, "@library -x c++", '#include <memory>');
        my $file = Heapsh::capture_source("$directory/texts.cc", "$way -std=c++17", text => $texts);
        my %count;
        $count{ $_->{type} =~ s/^\w+ |\[\d+\]$//gr }++ for @{ Heapsh::ask_json($file, 'find', 'evidence', 'vtable')->{objects} };
        is_deeply \%count, { 'std::string (make_shared)' => 20, 'note (make_shared)' => 20 }, "$way: const objects" or diag explain \%count;
        for my $variable ('texts', 'notes') {
            my $answer = Heapsh::ask_json($file, 'retained', "&$variable");
            is $answer->{retained_objects}, 41, "$way: $variable hold themselves";
            is $answer->{reachable}, $answer->{retained}, "$way: ... and lead to no more";
        }
    }
}
done_testing;
