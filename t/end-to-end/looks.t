#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A program whose callers cost more looks than there is credit for has the same sites in each run,
# wherever the kernel puts its code and its stack (t/programs/looks.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $runs = 5;

sub sites {
    my $program = Heapsh->start('looks', run => [qw(--types none --content none)]);
    return join "\n", sort(Heapsh::ask($program->capture, qw(count --by site --all)));
}

my $first = sites();
like $first, qr{^ *\d+ .* make_\w+ \(looks\.c:\d+\)}m, "blocks have the sites of their callers";
is sites(), $first, "also in run $_" for 2 .. $runs;

done_testing;
