#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Heap dumps as a JVM's, read by the records of their format, and by VisualVM's own library, which
# `make readers` fetches.
use strict;
use warnings;
no warnings 'portable';
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;
use Tools;

my $export = "$Sample::build/heapsh-export";
my %size_of = (2 => 8, 6 => 4, 7 => 8, 8 => 1, 9 => 2, 10 => 4, 11 => 8);

# Reads the parts of a dump. @return what is wrong
sub read_segment {
    my ($dump, $bytes) = @_;
    my $take = sub { my ($format, $size) = @_; return unpack $format, substr $bytes, 0, $size, '' };
    while (length $bytes) {
        my $part = $take->('C', 1);
        if ($part == 0x20) {
            my ($id, undef, $super, undef, undef, undef, undef, undef, $size, $constants, $statics, $fields)
                = $take->('Q> N Q>6 N n n n', 70);
            return 'constants or static fields' if $constants || $statics;
            $dump->{class}{$id} = { name => $dump->{name}{$id}, super => $super, size => $size,
                fields => [map { [$take->('Q> C', 9)] } 1 .. $fields] };
        } elsif ($part == 0x21) {
            my ($id, undef, $class, $size) = $take->('Q> N Q> N', 24);
            my $bytes_left = length $bytes;
            my (@pointer, %value);
            for (@{ $dump->{class}{$class}{fields} }) {
                my ($name, $type) = @$_;
                my $value = $take->($type == 2 || $type == 11 ? 'Q>' : $type == 10 ? 'N' : "a$size_of{$type}", $size_of{$type});
                push @pointer, $value if $type == 2 && $value;
                $value{ $dump->{text}{$name} } = $value;
            }
            return sprintf '%x has another size than its class', $id
                if $bytes_left - length $bytes != $size || ($size + 7 & ~7) != $dump->{class}{$class}{size};
            $dump->{object}{$id} = { class => $class, bytes => $size + 7 & ~7, pointers => \@pointer, values => \%value };
        } elsif ($part == 0x22) {
            my ($id, undef, $count, $class) = $take->('Q> N N Q>', 24);
            my @element = $take->("Q>$count", 8 * $count);
            $dump->{object}{$id} = { class => $class, bytes => 24 + 8 * $count, pointers => [grep { $_ } @element], elements => \@element };
        } elsif ($part == 0x23) {
            my ($id, undef, $count, $type) = $take->('Q> N N C', 17);
            return 'an array that is not of bytes' if $type != 8;
            $dump->{object}{$id} = { class => 'bytes', bytes => 20 + $count + (-20 - $count) % 8, pointers => [], text => $take->("a$count", $count) };
        } elsif (my ($kind, $more) = @{ { 3 => ['Java frame', 8], 4 => ['native stack', 4], 5 => ['sticky class', 0],
            6 => ['thread block', 4], 255 => ['unknown', 0] }->{$part} || [] }) {
            $dump->{root}{ $take->('Q>', 8) } = $kind;
            $take->("a$more", $more);
        } else {
            return "part $part";
        }
    }
    return;
}

# @return the dump, and what is wrong
sub read_dump {
    my ($bytes) = @_;
    my (%dump, @wrong);
    push @wrong, 'no header' if substr($bytes, 0, 31, '') !~ /^JAVA PROFILE 1\.0\.2\0\0\0\0\x08/;
    while (length $bytes) {
        my ($tag, undef, $size) = unpack 'C N N', substr $bytes, 0, 9, '';
        my $record = substr $bytes, 0, $size, '';
        if ($tag == 1) {
            my ($id, $text) = unpack 'Q> a*', $record;
            $dump{text}{$id} = $text;
        } elsif ($tag == 2) {
            my (undef, $id, undef, $name) = unpack 'N Q> N Q>', $record;
            $dump{name}{$id} = $dump{text}{$name};
        } elsif ($tag == 0x1c) {
            push @wrong, read_segment(\%dump, $record);
        } elsif ($tag == 0x2c) {
            push @wrong, 'records behind the end' if length $bytes;
        } elsif ($tag != 5) {
            push @wrong, "record $tag";
        }
    }
    push @wrong, map { my $id = $_; map { sprintf '%x points to nothing: %x', $id, $_ } grep { !$dump{object}{$_} } @{ $dump{object}{$id}{pointers} } }
        keys %{ $dump{object} };
    push @wrong, map { sprintf 'class %x has no name', $_ } grep { !defined $dump{class}{$_}{name} } keys %{ $dump{class} };
    push @wrong, map { sprintf 'no root %x', $_ } grep { !$dump{object}{$_} } keys %{ $dump{root} };
    return (\%dump, @wrong);
}

# @return the objects that roots reach without one of them
sub reached {
    my ($dump, $without) = @_;
    my @open = grep { $_ ne $without } keys %{ $dump->{root} };
    my %reached = map { $_ => 1 } @open;
    while (@open) { push @open, grep { $_ ne $without && !$reached{$_}++ } @{ $dump->{object}{ shift @open }{pointers} } }
    return \%reached;
}

sub dump_of {
    my ($snapshot, $name) = @_;
    my $file = "$Sample::directory/$name.hprof";
    my ($out, $err, $status) = Sample::run('', $export, '-q', '--format', 'hprof', '-o', $file, $snapshot);
    is "$err$status", '0', 'export';
    return $file;
}

my ($jar) = glob "$Sample::build/readers/visualvm/usr/share/visualvm/visualvm/modules/*-jfluid-heap.jar";
my $missing = !$jar ? '`make readers` has not been run' : !has('javac') ? 'no javac' : '';
my %kinds = (global => 'sticky class', 'thread-local' => 'thread block', local => 'Java frame', register => 'native stack',
    stack => 'native stack', segment => 'sticky class', mapping => 'unknown');

for my $kind ('plain', 'typed') {
    my $snapshot = Sample::make($kind eq 'typed' ? $kind : ());
    my $file = dump_of($snapshot, $kind);
    my ($dump, @wrong) = read_dump(Sample::content($file));
    is join("\n", @wrong), '', "nothing is wrong with it ($kind)";

    my $objects = Sample::objects_and_parts($snapshot);
    my @real = grep { !$dump->{root}{$_} } keys %{ $dump->{object} };
    my %of = map { $_ => $dump->{object}{ hex $_->{address} =~ s/^0x//r } } @$objects;
    my %by_address = map { hex($_->{address}) => $_ } @$objects;
    is_deeply [sort { $a <=> $b } @real], [sort { $a <=> $b } keys %by_address], 'objects and parts: all, by their addresses';
    my %class = map { $_ => $dump->{object}{$_}{class} eq 'bytes' ? 'byte[]' : $dump->{class}{ $dump->{object}{$_}{class} }{name} } keys %{ $dump->{object} };
    is_deeply [map { my $type = $by_address{$_}{type}; $type =~ /^(?:block|pool)/ || index($class{$_}, $type =~ s/\[\d+\]$/[]/r) == 0 || "$type is $class{$_}" } grep { $class{$_} ne 'byte[]' } @real],
        [map { 1 } grep { $class{$_} ne 'byte[]' } @real], 'objects: types';
    my %size = map { $_ => $by_address{$_}{size} } @real;
    is_deeply [grep { my $o = $dump->{object}{$_}; $o->{elements} ? @{ $o->{elements} } != int(($size{$_} + 7) / 8)
            : defined $o->{text} ? length $o->{text} != $size{$_} : $dump->{class}{ $o->{class} }{size} > ($size{$_} + 7 & ~7) } @real], [], 'objects: sizes';

    # The pointers of a pool to its parts are none of the program's.
    my %is_block = map { hex($_->{address}) => 1 } @{ Sample::json($snapshot, 'find')->{objects} };
    my ($edges, $root_edges) = (0, 0);
    for my $id (@real) { $edges += grep { $class{$id} !~ /^pool/ || $is_block{$_} } @{ $dump->{object}{$id}{pointers} } }
    $root_edges += @{ $dump->{object}{$_}{pointers} } for keys %{ $dump->{root} };
    is_deeply Sample::json($snapshot, 'sql', 'select (select count(*) from edges) as edges, (select count(*) from root_edges) as roots'),
        [{ edges => $edges, roots => $root_edges }], 'pointers: all';
    my $roots = Sample::json($snapshot, 'sql', 'select distinct description, kind from roots join root_edges on root = id');
    is_deeply { map { $class{$_} => $dump->{root}{$_} } keys %{ $dump->{root} } },
        { map { ($_->{description} =~ s/^the //r => $kinds{ $_->{kind} }) } @$roots }, 'roots: names and kinds';
    my $all = reached($dump, '');
    is scalar(grep { $all->{$_} } @real), scalar(grep { $_->{retained} } @$objects),
        'reachable: the same';
    my ($node) = map { $dump->{object}{ hex $_->{address} } } grep { $_->{type} eq 'struct node' && (Sample::heapsh($snapshot, 'show', $_->{address}))[0] =~ /^  value = 1$/m } @$objects;
    is $node->{values}{value}, 1, 'values of fields' if $kind eq 'typed';

  SKIP: {
        skip $missing, 3 if $missing;
        my ($out, $err, $status) = Sample::run('', 'java', '-cp', $jar, 't/readers/Hprof.java', $file);
        is $status, 0, 'VisualVM reads it' or diag $err;
        my $seen = eval { JSON::PP->new->utf8->decode($out) } || {};
        my %expected;
        for my $id (keys %{ $dump->{object} }) {
            my $object = $dump->{object}{$id};
            my ($reached, $retained) = (reached($dump, $id), 0);
            $retained += $dump->{object}{$_}{bytes} for grep { $all->{$_} && !$reached->{$_} } keys %{ $dump->{object} };
            $expected{ sprintf '%x', $id } = { class => $class{$id}, size => $object->{bytes}, retained => $retained, root => $dump->{root}{$id} };
        }
        is_deeply { map { my $id = $_; $id => { map { $_ => $seen->{$id}{$_} } qw(class size retained root) } } keys %$seen }, \%expected,
            'and finds the same classes, sizes, retained sizes and roots';
        is_deeply [map { sort grep { $_ } map { ref $_ ? hex $_->{id} : 0 } values %{ $_->{fields} }, @{ $_->{elements} } } map { $seen->{$_} } sort keys %$seen],
            [map { sort @{ $dump->{object}{ hex $_ }{pointers} } } sort keys %$seen], 'and the same pointers';
    }
}

# More than one segment, and a block that is larger than one.
SKIP: {
    my $large = "$Sample::directory/large.snap";
    skip 'no generator', 3 if !-x "$Sample::build/t/bench/generate";
    is system("$Sample::build/t/bench/generate", '-n', 60000, '-p', '-w', '-o', $large), 0, 'a larger heap';
    my ($dump, @wrong) = read_dump(Sample::content(dump_of($large, 'large')));
    is join("\n", @wrong[0 .. ($#wrong > 9 ? 9 : $#wrong)]), '', 'several segments';
    is scalar(grep { !$dump->{root}{$_} } keys %{ $dump->{object} }), 60000, 'objects: all';
}
done_testing;
