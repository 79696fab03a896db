#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Samples lie at random, so nothing that sites depend on is learned from them: a program in which each
# block is sampled has the same sites as one in which none is (t/programs/sampled-recursion.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

sub sites {
    my ($bytes) = @_;
    my $program = Heapsh->start(
        'sampled-recursion',
        run => [qw(--types none)],
        env => { HEAPSNAP_STACKS => $bytes },
    );
    return join "\n", sort(Heapsh::ask($program->capture, qw(count --by site --all)));
}

my $rarely = sites('1G');
like $rarely, qr/first \(/, 'blocks have the sites of their callers';
is sites(1), $rarely, 'also if each block is sampled';

done_testing;
