#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A struct in the middle of an array of numbers, to which only a local variable points, does not make the array a
# pool, unless its own pointers lead on in there (t/programs/numbers-in-work.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('numbers-in-work')->capture;
my %types = map { $_->{type} => $_ } @{ Heapsh::ask_json($file, 'types') };

is_deeply $types{'unsigned int'}, { type => 'unsigned int', objects => 8, bytes => 8 * 4001 * 4 }, 'eight arrays of numbers';
like Heapsh::ask($file, 'count'), qr/^ *20 +320 B +struct node \(pointer\)$/m, 'the list in an array of numbers is found';
unlike Heapsh::ask($file, 'count'), qr/struct clause/, 'the clause is not cut out';

done_testing;
