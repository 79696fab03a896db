#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A list of objects behind headers that have a type and a list of their own (t/programs/refcounted.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('refcounted');
my $file = $program->capture;
$program->finish;

my %type = map { $_->{type} => [@$_{qw(objects bytes)}] } grep { defined $_->{type} } @{ Heapsh::ask_json($file, 'count', '--by', 'type') };
is_deeply $type{'struct session behind 16 bytes'}, [300, 300 * 48], 'the whole list is found behind its headers'
    or diag explain \%type;
is_deeply $type{'struct payload'}, [300, 300 * 16], 'and so is what it leads to';
ok !exists $type{'struct header'}, 'headers are no objects of their own';
like Heapsh::ask($file, 'show', 'sessions'), qr/number = 299\b.*name = struct payload at /s, 'the variable shows an object';
is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 0, 'nothing is leaked';
done_testing;
