#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Words in parts of objects that hold nothing are no pointers: the unused buffer of a std::string.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

plan skip_all => 'there is no g++' if system('command -v g++ >/dev/null') != 0;

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
done_testing;
