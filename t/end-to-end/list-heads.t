#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# An array of lists' heads, into which the lists' items lead back, is not taken for a struct that ends in such heads
# (t/programs/list-heads.c): a pointer to a head leads to its start.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('list-heads')->capture;
my %types = map { $_->{type} => $_ } @{ Heapsh::ask_json($file, 'types') };

is_deeply $types{'struct head'}, { type => 'struct head', objects => 12, bytes => 4 * (8 + 16 + 32) * 16 }, 'the tables';
is $types{'struct item'}{objects}, 12 * 40, 'their items';
is $types{'struct slab'}{objects}, 3, 'structs that end in heads';

done_testing;
