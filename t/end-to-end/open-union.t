#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A struct that ends in a union of arrays without length has the size of its block
# (t/programs/open-union.c): it is one object, and no pool with a rest that nothing is known of.
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('open-union')->capture;
my %objects = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'types') };

is $objects{'struct text'}, 300, 'texts of all sizes are known';
is $objects{'struct holder'}, 150, 'and what holds them';
my $info = Heapsh::ask_json($file, 'info');
is $info->{objects}, 450, 'there is nothing else';
is join("\n", Heapsh::ask($file, qw(find --count untyped))), 'Total: 0 objects, 0 B', 'all of it has a type';
my ($address) = join("\n", Heapsh::ask($file, qw(find --limit 1 type), 'struct text', qw(size 31))) =~ /(0x[0-9a-f]+)/;
like join("\n", Heapsh::ask($file, 'show', $address)), qr/narrow = .*[a-z]{14}/, 'its letters are shown';

done_testing;
