#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The elements of slabs belong to those who point to them, those of other arrays to who holds the array
# (t/programs/slabs.c).
use strict;
use warnings;
no warnings 'portable'; # addresses
use Test::More;
use lib 't/lib';
use Heapsh;

my $node = 8 + 8 + 4 * 8;
my $used = 300 * $node;
my $free = 20 * $node;

sub check {
    my ($file, $how) = @_;
    my $ask = sub { return join "\n", Heapsh::ask($file, @_) };
    my %retained = map { ($_->{root} ? $_->{root}{name} : join ' ', @{ $_->{together} // [] }) => $_->{retained} }
        @{ Heapsh::ask_json($file, qw(roots --all)) };
    is $retained{table}, 32 * 8 + $used, "$how: the table holds the nodes that are in use";
    is $retained{spare}, $free, "$how: the list holds the others";
    is $retained{'shapes marks'}, 20 * 64 * 24, "$how: arrays that are no slabs belong to who holds them, too";
    like $ask->('suspects'), qr/300 × struct node, held by struct node \*\[32\] at/, "$how: suspects";
    my ($slab) = grep { $_->{elements} == 64 } @{ Heapsh::ask_json($file, qw(find type), 'struct node')->{objects} };
    is Heapsh::ask_json($file, qw(retained --by type))->[1]{type}, 'struct node', "$how: by type";
    my $element = sprintf '%#x', hex($slab->{address}) + 3 * $node;
    like $ask->('retained', $element), qr/^struct node at $element: own $node B, retained \d+ B, held by struct node/,
        "$how: retained by an element";
    my $identified = $ask->('identify', $element) =~ s/ at 0x[0-9a-f]+/ at 0x…/gr;
    is $identified, <<'END' =~ s/\n\z//r, "$how: identify follows elements from one to the next";
struct node at 0x…, part of the struct node[64] at 0x… is:
└─.next of struct node at 0x…, which is:
  └─… 8 more by .next, the last of them struct node at 0x…, which is:
    └─[3] of struct node *[32] at 0x…, which is:
      └─the global variable table (slabs.c:45, slabs)
END
    # A path that leads into one element leads out of that.
    my @wrong;
    for my $number (0 .. 63) {
        my $to = sprintf '%#x', hex($slab->{address}) + $number * $node;
        my $into;
        for my $step (@{ Heapsh::ask_json($file, 'path', $to) }) {
            my ($from) = ($step->{field} // '') =~ /^\[(\d+)\]\.next$/;
            push @wrong, "$to: into $into, out of $from" if defined $from && $from != $into;
            $into = $step->{interior} / $node if defined $step->{interior};
        }
        push @wrong, "$to: at $into" if $into != $number;
    }
    is join("\n", @wrong), '', "$how: paths lead through elements";
    my $shown = $ask->('show', sprintf '%#x', hex($slab->{address}) + 60 * $node);
    like $shown, qr/^struct node at 0x[0-9a-f]+, $node B, type by/, "$how: show of an element";
    like $shown, qr/^  next = struct node at 0x[0-9a-f]+, element of a slab$/m, "$how: ... and of its pointers";
    return;
}

check(Heapsh->start('slabs')->capture, 'run');

# Vectors, to whose elements others point, are none (t/programs/used-vectors.cc).
my $file = Heapsh->start('used-vectors')->capture;
my @vectors = grep { $_->{elements} == 16 } @{ Heapsh::ask_json($file, qw(find type Item))->{objects} };
is scalar(@vectors), 10, 'vectors are known';
is Heapsh::ask_json($file, 'info')->{slabs}, 0, '... and are no slabs';
done_testing;
