#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Words that are left from an earlier use of the memory are no evidence for a block's type: those in
# padding, and pointers to where a block has no room for their pointee.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('leftovers');
my $file = $program->capture;
$program->finish;

my $tables = Heapsh::ask_json($file, 'find', '--count', 'type', 'struct table');
is $tables->{count}, 20, 'all tables';
my $values = Heapsh::ask_json($file, 'find', 'type', 'struct value');
is $values->{count}, 20, 'all arrays of values, whatever was there before';
is_deeply [ sort { $a <=> $b } map { $_->{elements} } @{ $values->{objects} } ], [ 3 .. 22 ],
    'of as many values as there are';

# One slot for the table, one against it: it is no pool of the one part that both have in common.
$file = Heapsh->start('no-room')->capture;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct table')->{count}, 40, 'all tables, whatever leads to the end of one';
is_deeply Heapsh::ask_json($file, 'find', 'evidence', 'pool')->{objects}, [], 'none of which is a pool';

# No type of the nodes' size begins with what the stale pointers lead to.
$file = Heapsh->start('stale-slots')->capture;
my $nodes = Heapsh::ask_json($file, 'find', 'type', 'struct node');
is $nodes->{count}, 200, 'nodes have the name of their siblings, whatever an old array leads to';
is scalar(grep { $_->{evidence} eq 'vote' } @{ $nodes->{objects} }), 20, 'by which those are known';
done_testing;
