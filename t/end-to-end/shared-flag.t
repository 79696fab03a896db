#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A flag that nearly all objects share is not taken for a union's tag by the sure names of some of the
# blocks, where the contents of the others contradict (t/programs/shared-flag.c).
use strict;
use warnings;
use List::Util qw(sum0);
use Test::More;
use lib 't/lib';
use Heapsh;

my $file = Heapsh->start('shared-flag')->capture;
my @types = @{ Heapsh::ask_json($file, 'types') };

sub objects {
    my ($name) = @_;
    return sum0 map { $_->{objects} } grep { $_->{type} =~ /^(?:struct )?\Q$name\E$/ } @types;
}

cmp_ok objects('pair'), '>=', 900, 'pairs are not taken for links';
cmp_ok objects('link'), '>=', 1000, 'links are known';
cmp_ok objects('link'), '<=', 1101, 'and no pairs are taken for them';
is objects('name'), 100, 'names are known';
is objects('object'), 2200, 'and all that hold them';

done_testing;
