#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# istype and suggest after heapsnap attach: blocks are up to 24 bytes larger than what they hold, by usable sizes.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

plan skip_all => $_ for grep { $_ } Heapsh::attach_refusal();

my $file = Heapsh->start('declared', bare => 1)->attach_and_finish('--types none');
my ($chest) = Heapsh::ask($file, 'find', 'size', '72') =~ /(0x\w+)/;

my ($suggestion) = grep { $_->{object}{address} eq $chest } @{ Heapsh::ask_json($file, 'suggest', '--limit', 1000) };
is $suggestion->{may_be}[0], 'struct chest', 'what it may be: a struct that its block may hold, with pointers where it has some';
is_deeply [ grep { /audit_ifaces|link_map_reldeps/ } @{ $suggestion->{may_be} } ], [],
    'none with pointers to functions there, or to structs that are larger than the blocks';
is_deeply [ map { $_->{object}{size} } grep { grep { /chest/ } @{ $_->{may_be} } } @{ Heapsh::ask_json($file, 'suggest', '--limit', 1000) } ],
    [72], 'which no other block may be';

is scalar Heapsh::ask($file, 'istype', 'chest', 'struct', 'chest'),
    "struct chest at $chest\n20 other objects have a type now\n", 'what follows, though no size is exact';
is $Heapsh::complaint, '', 'the rest of a block is no reason to warn';
my %types = map { $_->{type} => "$_->{objects} $_->{bytes}" } @{ Heapsh::ask_json($file, 'count') };
delete $types{'(untyped)'};
is_deeply \%types, {
    'struct chest' => '1 72',
    'struct node' => '5 200',
    'struct node *' => '1 40',
    'struct weight' => '8 192',
    'struct tail' => '1 40',
    'char' => '5 120',
}, 'structs, arrays, texts' or diag explain \%types;

Heapsh::ask($file, 'istype', $chest, 'struct', 'weight');
like $Heapsh::complaint, qr/^heapsh: most pointers of the object are not where struct weight has any/, 'what does not fit is told';
Heapsh::ask($file, 'istype', '--forget', $chest);
ok !-e "$file.types", 'and nothing is kept';
done_testing;
