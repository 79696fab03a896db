#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Pointers with tags in the bits above their addresses (t/programs/upper-tags.c) are edges and roots.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

sub judge {
    my ($how, $file) = @_;
    my $leaked = Heapsh::ask_json($file, 'find', '--count', 'leaked');
    is_deeply [@$leaked{qw(count bytes)}], [3, 3 * 333], "$how: nothing but what leaked";
    my ($block) = @{ Heapsh::ask_json($file, 'find', 'size', "=777")->{objects} };
    like Heapsh::ask($file, 'identify', $block->{address}), qr/held|the stack of main/, "$how: a local variable";
}

my $program = Heapsh->start('upper-tags');
my $file = $program->capture;
judge('by a signal', $file);
my ($value) = grep { Heapsh::ask($file, 'show', $_->{address}) =~ /"text 49"/ }
    @{ Heapsh::ask_json($file, 'find', 'type', 'struct text')->{objects} };
like Heapsh::ask($file, 'identify', $value->{address}), qr/global variable values/, 'values lead to texts';
my ($last) = @{ Heapsh::ask_json($file, 'find', 'type', 'struct node', 'field', 'value=0')->{objects} };
like Heapsh::ask($file, 'identify', $last->{address}), qr/global variable head/,
    'links with counters lead from the root of a list to its end';
SKIP: {
    my $refusal = Heapsh::attach_refusal();
    skip $refusal, 2 if $refusal;
    judge('attached', $program->attach_and_finish);
}
done_testing;
