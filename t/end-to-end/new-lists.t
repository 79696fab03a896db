#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The nodes of a list that is a block of its own lead back to it, which does not speak against its type
# (t/programs/new-lists.cc).
use strict;
use warnings;
use List::Util qw(sum0);
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('new-lists')->capture;
my @types = @{ Heapsh::ask_json($file, 'types') };

sub objects {
    my ($name) = @_;
    return sum0 map { $_->{objects} } grep { $_->{type} =~ $name } @types;
}

is objects(qr/std::list<range>$/), 40, 'lists';
is objects(qr/_List_node<range>/), 13 * 6 + 1, 'their nodes';
is objects(qr/_List_node<std::string>/), 12, 'the nodes of another one';
is(Heapsh::ask_json($file, 'find', 'conflict')->{count}, 0, 'no pointer is against a type');

done_testing;
