#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The type of the variable that gets a block does not stand against the contents of all blocks
# (t/programs/borrowed-blocks.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('borrowed-blocks')->capture;
my %count;
$count{ $_->{type} =~ s/^block\(.*/none/r }++ for @{ Heapsh::ask_json($file, 'find')->{objects} };

is $count{'struct link'}, 12, 'links, and no measurements';
is_deeply [sort values %count], [12, 40], 'which have no type';

done_testing;
