#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A list in a pool leads to the elements of an array one by one (t/programs/shared-array.c): the array keeps
# its name, and the work is linear in the elements.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my %steps;
for my $count (1000, 4000) {
    my $file = Heapsh->start('shared-array', args => [$count], bare => 1)->attach_and_finish;
    my %objects = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    is $objects{'struct item'}, 1, 'the array is one block';
    is $objects{'struct link'}, $count, 'the links are parts of the pool';
    $steps{$count} = Heapsh::ask_json($file, 'info')->{steps};
}
cmp_ok $steps{4000}, '<', 8 * $steps{1000}, 'four times the elements take about four times the steps';

done_testing;
