#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-leakreport --by dominator names what has a whole tree or list, and not each of its nodes; but one that most hangs at.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('holders-of-growth');
my @file = $program->capture;
for (1 .. 4) {
    print { $program->{in} } "x";
    is $program->line, 'grown', "round $_";
    push @file, $program->capture;
}
$program->finish;
my %objects;
for (@{ JSON::PP->new->decode(scalar `$Heapsh::build/heapsh-leakreport --json -s --by dominator @file`)->{summary} }) {
    $objects{ $_->{dominator} } = $_->{objects};
}
is $objects{'the global variable index_of_all (holders-of-growth.c:30, holders-of-growth)'}, 600, 'a tree';
is $objects{'the global variable queue (holders-of-growth.c:31, holders-of-growth)'}, 600, 'the end of a list';
my ($topic) = grep { /struct topic at/ } keys %objects;
is $topic && $objects{$topic}, 600, 'one node of a tree that has most of its children' or diag explain \%objects;
is scalar(keys %objects), 3, 'that is all' or diag explain \%objects;

my @text = split /\n/, `$Heapsh::build/heapsh-leakreport -q -s --by dominator --limit 1 @file`;
is_deeply [@text[3, 4]], ['… 2 more', 'Total: 1800 objects, ' . (split /, /, $text[4])[1]], '--limit';

# On a path to a deep node the nodes in between take one line, whichever fields lead from one to the other.
my @leaves = map { $_->{address} } @{ Heapsh::ask_json($file[-1], qw(find --limit 40 type branch field left=NULL field right=NULL))->{objects} };
my ($deep) = grep { /more by/ } map { scalar Heapsh::ask($file[-1], 'path', $_) } @leaves;
like $deep, qr/\A.*\n  → struct branch at \w+\n  … \d+ more by \.(?:left, \.right|right, \.left)\n  \.(?:left|right) → struct branch at \w+\n\z/,
    'a path through a tree' or diag $deep;

# Each of many new nodes of a list is behind all those before it.
$program = Heapsh->start('holders-of-growth', args => [60_000]);
@file = $program->capture;
for (1 .. 2) {
    print { $program->{in} } "x";
    $program->line;
    push @file, $program->capture;
}
$program->finish;
like `ulimit -t 10; $Heapsh::build/heapsh-leakreport -q -s --by dominator @file`, qr/^ *60000 .*global variable queue /m, 'a long list takes no time';
done_testing;
