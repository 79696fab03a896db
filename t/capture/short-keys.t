#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A number that is the length of a text by chance, in one of 200 items, makes it no string with a header
# (t/programs/short-keys.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

plan skip_all => $_ for grep { $_ } Heapsh::attach_refusal();

my $file = Heapsh->start('short-keys', bare => 1)->attach_and_finish;
my %types = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count', 'size', '24') };
is_deeply \%types, { 'struct item' => 200, 'unsigned char' => 200, 'struct node' => 200 }, 'all items have one type' or diag explain \%types;
done_testing;
