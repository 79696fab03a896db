#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Objects that only their method tables tell apart, behind bytes of a collector (t/programs/tagged.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('tagged');
my $file = $program->capture;
$program->finish;

sub count_of { my $answer = Heapsh::ask_json($file, 'find', '--count', @_); return [@$answer{qw(count bytes)}] }

is_deeply count_of('type', 'struct disk'), [40, 40 * 48], 'disks are found by their type, with their prefixes';
is_deeply count_of('type', 'struct box'), [30, 30 * 48], 'and boxes of the same size';
is_deeply count_of('evidence', 'methods'), [70, 70 * 48], 'their methods have named them';
is_deeply count_of('tag', 'disk_methods'), [40, 40 * 48], 'find tag SYMBOL';
is_deeply count_of('tag', 'atom_*'), [20, 20 * 56], 'where no function knows the struct, and by a glob';
is_deeply count_of('tag', 'nothing'), [0, 0], 'a tag that is not there';

my $disk = Heapsh::ask_json($file, 'find', 'type', 'struct disk')->{objects}[39];
is $disk->{type}, 'struct disk behind 16 bytes', 'the type says what lies before it';
is $disk->{tag}, 'disk_methods', 'and the tag stands beside it';
like Heapsh::ask($file, 'show', $disk->{address}),
    qr/^struct disk behind 16 bytes \(disk_methods\) at \Q$disk->{address}\E, 48 B\n.*type by methods/s,
    'show says both, and the evidence';
is_deeply count_of('type', 'struct disk', 'field', 'radius=39'), [1, 48], 'members are found behind the prefix';
like Heapsh::ask($file, 'identify', $disk->{address}), qr/\[39\] of struct thing \*\[90\] .*points 16 bytes into it/,
    'pointers lead behind the prefix';

my $tags = Heapsh::ask_json($file, 'count', '--by', 'tag');
my %by_tag = map { $_->{tag} => [$_->{objects}, $_->{bytes}] } @$tags;
is_deeply $by_tag{disk_methods}, [40, 40 * 48], 'count --by tag';
is_deeply $by_tag{atom_methods}, [20, 20 * 56], 'tells apart what has no type';
is_deeply $by_tag{'shop::boxes'}, [30, 30 * 48], 'names of C++ are readable';
done_testing;
