#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A known heap of C++ (t/programs/containers.cc).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('containers');
my $file = $program->capture;
my ($rest) = $program->finish;
is $rest, "done 62\n", 'the program goes on';

sub count { return Heapsh::ask_json($file, 'find', @_)->{count} }
is count('type', 'geometry::circle'), 8, 'circles, by their vtable';
is count('type', 'geometry::square'), 4, 'squares';
is count('evidence', 'vtable'), 12, 'by vtable, all of them';
is count('type', 'item'), 3, 'items: a vector, one of new, one of make_unique';
is count('type', 'std::_List_node<item>'), 9, 'list nodes, of which only a part is pointed to';
is count('type', 'std::_Rb_tree_node<*'), 20, 'map nodes';
is count('type', 'geometry::shape *'), 1, 'the vector of pointers';

my ($square) = @{ Heapsh::ask_json($file, 'find', 'type', 'geometry::square')->{objects} };
my $shown = Heapsh::ask($file, 'show', $square->{address});
like $shown, qr/struct geometry::shape = \{\n.*\bid = \d+\n/s, 'the base class';
like $shown, qr/^  label = "a label that is too long for the small buffer"$/m, 'a string';
is count('string', 'a label that is too long'), 4, 'whose text is in a block of its own';
like Heapsh::ask($file, 'identify', $square->{address}),
    qr/\[\d+\] of struct geometry::shape \*\[16\] at .*\n  .*_M_start(?: and 1 more field)? of the global variable shapes \(containers\.cc:\d+, containers\)/,
    'who holds it';
my ($items) = grep { $_->{elements} == 50 } @{ Heapsh::ask_json($file, 'find', 'type', 'item')->{objects} };
is $items->{size}, 50 * 24, 'a vector\'s elements';
my $elements = Heapsh::ask_json($file, 'show', '--all', $items->{address});
is $elements->{elements}[3]{number}, 33, 'an element\'s field';
is $elements->{elements}[3]{related}{object}{type}, 'struct item', 'and what it points to';
my %site = map { $_->{site} => 1 } @{ Heapsh::ask_json($file, 'sites') };
ok !(grep { /^operator new/ } keys %site), 'the site of new is its caller';
done_testing;
