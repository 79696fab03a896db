#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# After an attach, what void pointers lead to is not named after one type whose own void pointers agree with all
# of it (t/programs/contexts.c). Nor do condition variables make an array of the block whose structs they are in
# (t/programs/conditions.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $refusal = Heapsh::attach_refusal();
plan skip_all => $refusal if $refusal;
my $program = Heapsh->start('contexts', bare => 1);
my $file = "$program->{directory}/contexts.snap";
is system("timeout $Heapsh::patience $Heapsh::build/heapsnap attach --file $file " . $program->pid . ' >/dev/null'), 0, 'heapsnap attach';
my %count;
$count{ $_->{type} }++ for @{ Heapsh::ask_json($file, 'find')->{objects} };

is $count{'struct request'}, 120, 'requests';
is $count{'struct event'}, 1, 'and no contexts of a wrong type';
cmp_ok $count{$_} // 0, '<=', 40, "$_: no other contexts are taken for it" for 'struct login', 'struct upload', 'struct query';

my $conditions = Heapsh->start('conditions', bare => 1)->attach_and_finish;
my @slots = grep { $_->{size} >= 960 && $_->{size} < 4096 } @{ Heapsh::ask_json($conditions, 'find')->{objects} };
is join(' ', map { $_->{type} } @slots), 'pool of 3 typed parts', 'three condition variables are parts, and no array';

done_testing;
