#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A pointer to a vtable that a deleted object has left in its block names nothing, and one to data holds nothing
# (t/programs/stale-vtables.cc).
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

plan skip_all => 'there is no g++' unless has('g++');

my $directory = tempdir(CLEANUP => 1);

for my $level (qw(-O0 -O2)) {
    my $program = "$directory/stale$level";
    system("g++ -std=c++17 -g $level -o $program t/programs/stale-vtables.cc") == 0 or die;
    my $file = Heapsh->start($program)->capture;
    my %count = (
        'class std::map<int, (anonymous namespace)::Field>' => 20,
        'class std::set<long int>' => 20,
        'struct std::_Rb_tree_node<std::pair<int const, (anonymous namespace)::Field>>' => 60 + 19,
        'struct std::_Rb_tree_node<long int>' => 60 + 19,
        'struct (anonymous namespace)::Square' => 5,
    );
    for my $type (sort keys %count) {
        is Heapsh::ask_json($file, 'find', '--count', 'type', $type)->{count}, $count{$type}, "$level: $type";
    }
    my $answer = Heapsh::ask_json($file, 'retained', '&(anonymous namespace)::indexes');
    is_deeply [ @$answer{qw(retained_objects retained)} ], [ 1 + 20 + 2 * 19, $answer->{reachable} ], "$level: maps lead to their nodes alone";
    is Heapsh::ask($file, 'find', '--count', 'leaked'), "Total: 0 objects, 0 B\n", "$level: nothing has leaked";
    is Heapsh::ask($file, 'find', '--count', 'conflict'), "Total: 0 objects, 0 B\n", "$level: no pointer contradicts a type";
}
done_testing;
