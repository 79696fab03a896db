#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Paths through unions name the member that leads to the block, and a lone pointer is an element (t/programs/union-paths.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('union-paths')->capture;
my ($address) = join("\n", Heapsh::ask($file, qw(find --limit 1 type), 'struct set')) =~ /(0x[0-9a-f]+)/;
my $tree = join "\n", Heapsh::ask($file, qw(identify --all), $address);
like $tree, qr/\.u\.set of struct node at/, 'the member of a leaf';
is +(() = $tree =~ /\.u\.many\.parts of struct node at/g), 3, 'that of the other nodes';
is +(() = $tree =~ /\.u\.set of/g), 1, '... not the first of the union';
is +(() = $tree =~ /\[0\] of struct node \*/g), 3, 'elements of arrays of one pointer, too';
done_testing;
