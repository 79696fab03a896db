#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Heap graphs for Perfetto, read by the fields of its protos, with the rules of its importer.
# trace_processor itself cannot be had from a package registry.
use strict;
use warnings;
use lib 't/lib';
use Protobuf;
use Sample;
use Test::More;

my $export = "$Sample::build/heapsh-export";

# Reads a trace as the importer does. @return the graph, and what is wrong
sub read_trace {
    my ($file) = @_;
    my (%graph, @wrong);
    my ($next, $is_ended) = (0, 0);
    for my $packet (all(1, fields(Sample::content($file)))) {
        my @packet = fields($packet);
        push @wrong, 'a packet has no time' if !one(8, @packet);
        push @wrong, 'a packet is of no sequence' if !one(10, @packet);
        for my $tree (all(2, @packet)) {
            my @process = fields(one(1, fields($tree)));
            $graph{process} = { pid => one(1, @process), name => one(3, @process) };
        }
        for my $part (all(56, @packet)) {
            my @part = fields($part);
            push @wrong, 'packets follow the last' if $is_ended;
            push @wrong, 'packet ' . one(6, @part) . " where $next should be" if one(6, @part) != $next++;
            push @wrong, 'another process' if one(1, @part) != $graph{process}{pid};
            push @wrong, 'a packet of ' . length $part if length $part > 4 << 20;
            $is_ended = !one(5, @part);
            for (all(2, @part)) {
                my @object = fields($_);
                my $id = one(1, @object);
                my @field = varints((all(4, @object))[0] // '');
                my @target = varints((all(5, @object))[0] // '');
                push @wrong, "object $id has " . @field . ' fields, ' . @target . ' references' if @field != @target;
                push @wrong, "object $id twice, or 0" if !$id || $graph{object}{$id};
                $graph{object}{$id} = { type => one(2, @object), size => one(3, @object), map_to(\@field, \@target) };
            }
            for (all(7, @part)) {
                my @root = fields($_);
                $graph{root}{$_} = one(2, @root) for varints(one(1, @root));
            }
            for (all(9, @part)) { my @type = fields($_); $graph{type}{ one(1, @type) } = one(3, @type) }
            for (all(4, @part)) { my @name = fields($_); $graph{field}{ one(1, @name) } = one(2, @name) }
        }
    }
    push @wrong, 'the last packet is continued' if !$is_ended;
    for my $object (values %{ $graph{object} }) {
        push @wrong, "no type $object->{type}" if !defined $graph{type}{ $object->{type} };
        push @wrong, grep { !defined $graph{field}{$_} } @{ $object->{fields} };
        push @wrong, map { "no object $_" } grep { !$graph{object}{$_} } @{ $object->{targets} };
    }
    push @wrong, map { "field '$_'" } grep { / / } values %{ $graph{field} };
    push @wrong, map { "no root $_" } grep { !$graph{object}{$_} } keys %{ $graph{root} };
    return (\%graph, @wrong);
}

sub map_to { my ($fields, $targets) = @_; return (fields => $fields, targets => $targets) }

my $made = 0;
sub trace_of {
    my ($snapshot) = @_;
    my $file = "$Sample::directory/trace-" . $made++ . '.pftrace';
    my ($out, $err, $status) = Sample::run('', $export, '-q', '--format', 'perfetto', '-o', $file, $snapshot);
    is "$err$status", '0', 'export';
    return $file;
}

for my $kind ('', 'typed') {
    my $snapshot = Sample::make($kind ? $kind : ());
    my ($graph, @wrong) = read_trace(trace_of($snapshot));
    is join("\n", @wrong), '', "the importer finds nothing wrong ($kind)";

    my $objects = Sample::objects_and_parts($snapshot);
    my %synthetic = map { $_ => 1 } keys %{ $graph->{root} };
    my @real = sort { $a <=> $b } grep { !$synthetic{$_} } keys %{ $graph->{object} };
    is scalar @real, scalar @$objects, 'objects and parts: all';
    is_deeply [map { $graph->{object}{$_}{size} } @real], [map { $_->{size} } @$objects], 'objects: sizes';
    my %type = map { $real[$_] => $graph->{type}{ $graph->{object}{ $real[$_] }{type} } } 0 .. $#real;
    is_deeply [grep { $objects->[$_]{type} !~ /^(?:block|pool|char)/ && $type{ $real[$_] } ne $objects->[$_]{type} =~ s/\[\d+\]$/[]/r } 0 .. $#real], [],
        'objects: types';
    is_deeply [grep { $graph->{object}{$_}{size} } keys %synthetic], [], 'roots: without bytes';

    my ($edges, $root_edges) = (0, 0);
    $edges += grep { $graph->{field}{$_} ne '(part)' } @{ $graph->{object}{$_}{fields} } for @real;
    $root_edges += @{ $graph->{object}{$_}{targets} } for keys %synthetic;
    is_deeply Sample::json($snapshot, 'sql', 'select (select count(*) from edges) as edges, (select count(*) from root_edges) as roots'),
        [{ edges => $edges, roots => $root_edges }], 'pointers: all';
    my %name = map { $graph->{type}{ $graph->{object}{$_}{type} } => $graph->{root}{$_} } keys %synthetic;
    my %kinds = (global => 5, 'thread-local' => 8, local => 3, register => 4, stack => 4, segment => 5, mapping => 13);
    my $roots = Sample::json($snapshot, 'sql', 'select distinct description, kind from roots join root_edges on root = id');
    is_deeply \%name, { map { ($_->{description} =~ s/^the //r => $kinds{ $_->{kind} }) } @$roots }, 'roots: names and kinds';

    # The objects that roots reach are those that heapsh calls reachable.
    my @open = keys %synthetic;
    my %reached = map { $_ => 1 } @open;
    while (@open) { push @open, grep { !$reached{$_}++ } @{ $graph->{object}{ shift @open }{targets} } }
    is scalar(grep { $reached{$_} } @real), scalar(grep { $_->{retained} } @$objects),
        'reachable: the same';
}

# More than one packet.
my $large = "$Sample::directory/large.snap";
SKIP: {
    skip 'no generator', 3 if !-x "$Sample::build/t/bench/generate";
    is system("$Sample::build/t/bench/generate", '-n', 60000, '-p', '-w', '-o', $large), 0, 'a larger heap';
    my ($graph, @wrong) = read_trace(trace_of($large));
    is join("\n", @wrong[0 .. ($#wrong > 9 ? 9 : $#wrong)]), '', 'several packets';
    is scalar(grep { !$graph->{root}{$_} } keys %{ $graph->{object} }), 60000, 'objects: all';
}
my ($out, $err, $status) = Sample::run('', $export, '-q', '--format', 'perfetto', '-o', "$Sample::directory/none/x", Sample::make());
like $err, qr/^heapsh-export: .*none\/x.*: No such file or directory$/, 'no directory';
is $status, 2, 'no directory: status';
done_testing;
