#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A block is one header if pointers lead to it, and to numbers right behind it; with pointers there, of which a number beside
# tells how many, it is a header and an array. An array of structs stays one (t/programs/shared-data.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('shared-data')->capture;
my @objects = @{ Heapsh::ask_json($file, 'find')->{objects} };
my %count;
$count{ $_->{type} }++ for @objects;

is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct shared')->{count}, 60 + 20, 'headers of strings and lists';
is $count{'struct shared'}, 60, 'those of strings are blocks';
is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct string *')->{count}, 20, 'arrays behind those of lists';
is $count{'struct point[6]'}, 15, 'arrays';
is scalar(@objects), 60 + 20 + 15, 'and nothing else';
is scalar(grep { $_->{elements} != 1 } grep { $_->{type} eq 'struct shared' } @objects), 0, 'of headers there is one in a block';

done_testing;
