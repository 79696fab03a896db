#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Exports, read by those for whom they are: DevTools' own loader, memlab, a decoder of pprof's
# profiles. `make readers` fetches them.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;
use Tools;

my $modules = "$Sample::build/readers/node_modules";
plan skip_all => 'no node' unless has('node');
plan skip_all => '`make readers` has not been run' if !-d "$modules/heap-snapshot-toolkit";

my $directory = $Sample::directory;

# A reader's account of a snapshot in a format.
sub read_by {
    my ($reader, $snapshot, $format) = @_;
    my $file = "$directory/of.$format";
    my (undef, $err, $status) = Sample::run('', "$Sample::build/heapsh-export", '-q', '--format', $format,
        '-o', $file, $snapshot);
    is "$err$status", '0', "$format for $reader";
    my ($out);
    ($out, $err, $status) = Sample::run('', 'node', "t/readers/$reader.mjs", $modules, $file);
    is $status, 0, "$reader reads it" or diag $err;    # some say how far they are
    return JSON::PP->new->utf8->decode($out);
}

for my $kind ('typed', '') {
    my $snapshot = Sample::make($kind ? $kind : ());
    my $objects = Sample::objects_and_parts($snapshot);
    my @reachable = grep { $objects->[$_]{retained} } 0 .. $#$objects;
    my @expected = map { $objects->[$_]{retained} } @reachable;

    my $devtools = read_by('devtools', $snapshot, 'heapsnapshot');
    my $first = keys(%{ $devtools->{retained} }) - @$objects;
    my @ids = map { 2 * ($first + $_) + 1 } @reachable;
    my ($bytes) = (0);
    $bytes += $_->{size} for @$objects;
    is $devtools->{statistics}{total}, $bytes, "DevTools: all bytes ($kind)";
    is_deeply [@{ $devtools->{retained} }{@ids}], \@expected, 'DevTools: retained sizes are those of heapsh';
    my %by_type;
    for (@$objects) {
        next if $_->{type} =~ /^(?:block|pool|char)/;
        my $class = $_->{type} =~ s/\[\d+\]$/[]/r;
        $by_type{$class}[0]++;
        $by_type{$class}[1] += $_->{size};
    }
    is_deeply { map { $_ => $devtools->{classes}{$_} } keys %by_type }, \%by_type, 'DevTools: types are constructors';
    is_deeply [grep { $_ > 1000 } @{ $devtools->{distance} }{@ids}], [], 'DevTools: all are near to the roots';

    my $memlab = read_by('memlab', $snapshot, 'heapsnapshot');
    is_deeply [map { $memlab->{$_}{retained} } @ids], \@expected, 'memlab: retained sizes are those of heapsh';
    next unless $kind;

    is_deeply $devtools->{stacks}{ $ids[0] }, ['xmalloc', 'node_new', 'add', 'main', '(root)'], 'DevTools: how an object came to be';
    is_deeply $memlab->{ $ids[3] }{fields}, ['slots'], 'memlab: fields of an object';
    is $memlab->{ $ids[4] }{dominator}, $ids[3], 'memlab: who dominates it';
    is_deeply read_by('pprof', $snapshot, 'pprof'), { types => ['inuse_objects/count', 'inuse_space/bytes'], samples => {
        'main;add;node_new;xmalloc;struct node' => [3, 48], 'main;serve;cache_insert;struct node' => [1, 64],
        'main;serve;cache_insert;struct table' => [1, 24], 'main;serve;cache_insert;grow;struct slot[]' => [1, 64],
        'copy_text;(untyped)' => [1, 256], '0x12345678;(untyped)' => [4, 112],
    } }, 'pprof: stacks, types, objects and bytes';
}
done_testing;
