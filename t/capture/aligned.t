#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks at alignments beyond malloc's own: what they take, that exactly the live ones are found,
# and what becomes of one that is overrun.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $build = $Heapsh::build;
my $program = Heapsh::program_path('aligned');

# --- space -------------------------------------------------------------------

# @return libc's bytes for each block, KiB touched, KiB of data
sub space {
    my ($preload, @shape) = @_;
    local $ENV{LD_PRELOAD} = $preload;
    return split ' ', `$program space @shape`;
}

for ([4096, 4096, 50000], [4096, 8192, 5000], [64, 64, 50000], [64, 1000, 20000], [32, 40, 50000],
    [256, 3000, 20000], [4096, 65536, 1000], [2 << 20, 4 << 20, 10]) {
    my @shape = @$_;
    my ($bytes, $touched, $data) = space('', @shape);
    my ($our_bytes, $our_touched, $our_data) = space("$build/libheapsnap.so", @shape);
    my $blocks = "$shape[2] blocks of $shape[1] at $shape[0]";
    # A rest of 16 bytes is too small for a chunk of its own: libc leaves it to the block.
    cmp_ok $our_bytes - $bytes, '<=', $shape[0] < 4096 ? 32 : 16, "$blocks: bytes of libc's";
    my $more = $shape[2] * 18 / 1024 + 512;    # KiB; with what the library has for itself
    cmp_ok $our_touched - $touched, '<=', $more, "$blocks: memory that is touched";
    cmp_ok $our_data - $data, '<=', $more + 512, "$blocks: memory that is mapped";
}

# --- truth -------------------------------------------------------------------

# Differences between the heap that a program logs and its snapshot.
{
    my $run = Heapsh->start('aligned', args => ['known']);
    my $file = $run->capture;
    my ($log, $status) = $run->finish;
    my %wanted = map { split } split /\n/, $log;
    my %found;
    for my $row (@{ Heapsh::ask_json($file, 'find', '--limit', '100000', 'site', 'make')->{objects} || [] },
        @{ Heapsh::ask_json($file, 'find', '--limit', '100000', 'site', 'keep_known')->{objects} || [] }) {
        $found{ $row->{address} } = $row->{size};
    }
    is $status, 0, 'the program ends well';
    is scalar keys %wanted, 2000, 'blocks are logged';
    is_deeply \%found, \%wanted, 'exactly these are found, with their sizes';
}

# Blocks of 50 threads, at any instant.
{
    my $run = Heapsh->start('aligned', args => ['threads']);
    my @files = map { $run->capture_and_hold } 1 .. 3;
    is +($run->finish)[1], 0, 'the program ends well';
    for my $round (1 .. 3) {
        my %count;
        $count{ $_->{size} }++
            for @{ Heapsh::ask_json($files[$round - 1], 'find', '--limit', '100000', 'site', 'make')->{objects} || [] };
        my @wrong = grep { ($count{ 5000 + $_ } // 0) != 40 } 0 .. 49;
        is "@wrong", '', "snapshot $round: each thread has its blocks";
        cmp_ok $count{7777} // 0, '<=', 50, 'and no more than one that it is about to free';
    }
}

# --- damage ------------------------------------------------------------------

{
    my $run = Heapsh->start('aligned', args => ['overrun']);
    my $file = $run->capture;
    is Heapsh::ask_json($file, 'find', 'size', $_->[0])->{count}, $_->[1],
        "$_->[1] blocks of $_->[0] bytes"
        for [4000, 0], [4040, 1], [4070, 1], [4080, 1];
    is scalar @{ Heapsh::ask_json($file, 'info')->{damages} }, 1, 'the overrun is told';
    is +($run->finish)[1], 0, 'the program ends well';
}

# Each block that is overrun is either there, of the size that was asked for, or told of.
for my $case (map { my $mixed = $_; map { [$_, $mixed] } 0, 1, 4, 8 } 0, 1) {
    my ($bytes, $mixed) = @$case;
    my $what = 'blocks ' . ($mixed ? 'among others' : 'side by side') . ", overrun by $bytes bytes";
    my $run = Heapsh->start('aligned', args => ['neighbours', $bytes, $mixed]);
    my $file = $run->capture;
    my ($log, $status) = $run->finish;
    my ($whole) = $log =~ /^(\d+)/;
    my %count;
    $count{ $_->{size} }++
        for @{ Heapsh::ask_json($file, 'find', '--limit', '100000', 'site', 'make')->{objects} || [] };
    my $found = 0;
    $found += $_ for values %count;
    is $found, $whole, "$what: those that are whole are found";
    is scalar(grep { $_ < 1 || $_ > 200 || $count{$_} > 5 } keys %count), 0, 'with their sizes';
    is scalar @{ Heapsh::ask_json($file, 'info')->{damages} }, 1000 - $whole, 'the others are told';
    is Heapsh::ask_json($file, 'find', 'site', 'overrun_neighbours')->{count}, $mixed ? 1000 : 0,
        'those between them are found';
    is $status, 0, 'the program ends well';
}
done_testing;
