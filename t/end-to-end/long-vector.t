#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A long vector of void pointers (t/programs/long-vector.c) is named, and few steps are taken for each pointer.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $count = 10_000;
my $file = Heapsh->start('long-vector', args => [$count], bare => 1)->attach_and_finish;
my %objects = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
is $objects{'struct vector'}, 1, 'the vector';
is $objects{'struct owner'}, 1, 'what holds it';
cmp_ok Heapsh::ask_json($file, 'info')->{steps}, '<', 500 * $count, 'steps for each pointer are few';

done_testing;
