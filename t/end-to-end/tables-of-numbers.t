#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# An array of numbers is not taken for a struct that begins with such a number and ends in an array of
# any length (t/programs/tables-of-numbers.c).
use strict;
use warnings;
use List::Util qw(sum0);
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('tables-of-numbers')->capture;
my @types = @{ Heapsh::ask_json($file, 'types') };

sub objects {
    my ($name) = @_;
    return sum0 map { $_->{objects} } grep { $_->{type} =~ /^(?:struct )?\Q$name\E(?: \*|$)/ } @types;
}

is objects('position'), 80 + 1, 'positions, and the array of pointers to them';
is objects('unsigned long') + objects('uint64_t'), 16, 'arrays of numbers';

done_testing;
