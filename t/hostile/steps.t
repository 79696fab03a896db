#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The signal lands at each instruction of the library in a call of malloc's kind. A block that is being moved is in
# the snapshot, once; one that is being made or freed is there from one instruction on, or up to one.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Hostile;
use Test::More;

# Three thousand snapshots; `make check` takes them.
plan skip_all => 'SHORT: it takes long' if $ENV{SHORT};
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

# @return how many of the stepped blocks each snapshot has, in the order in which they were taken
sub step_through {
    my ($way, $size) = @_;
    my %found;
    survives("at each instruction of $way", 'hostile-steps', $way,
        snapshots => [8, 400], env => { HEAPSNAP_TYPES => 'none' }, check => sub {
        my ($file) = @_;
        my ($number) = $file =~ /-(\d+)\.snap$/;
        $found{$number} = Heapsh::ask_json($file, 'find', 'size', $size, 'or', 'size', 2 * $size)->{count};
    });
    return map { $found{$_} } sort { $a <=> $b } keys %found;
}

my %moved = ('realloc-copy' => 507, 'realloc-mremap' => 140003, 'realloc-shrink' => 507);
for my $way (sort keys %moved) {
    my @found = step_through($way, $moved{$way});
    is_deeply \@found, [(1) x @found], 'the block is there once' or diag "@found";
}
# Calls that are sampled take longer, so that the instructions are not quite in order.
for my $way (qw(malloc memalign)) {
    like join('', step_through($way, 507)), qr/\A0+[01]*1[01]*\z/, 'the block is there from one instruction on';
}
like join('', step_through('free', 507)), qr/\A1+[01]*0[01]*\z/, 'the block is there up to one instruction';
done_testing;
