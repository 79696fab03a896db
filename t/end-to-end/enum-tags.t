#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Structs of one size are told apart by the enum that they begin with, whose enumerators have their names
# with another word beside them (t/programs/enum-tags.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('enum-tags')->capture;
my %found = map { $_->{type} =~ s/^struct //r => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };

is $found{$_}, 100, "all of type $_" for qw(ObjNumber ObjString ObjPair load_insn store_insn jump_insn);
is $found{code}, 1, 'what holds the instructions';

my $objects = Heapsh::ask_json($file, 'find', 'type', 'ObjString')->{objects};
is $objects->[0]{evidence}, 'tag', 'the tag is the evidence';
done_testing;
