#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that a wrapper made before it was recognised (t/programs/late-wrapper.c) are not ascribed to
# the only caller that is known: they say that the caller was not sampled.
use strict;
use warnings;
use List::Util qw(sum0);
use Test::More;
use lib 't/lib';
use Heapsh;


my $file = Heapsh->start('late-wrapper')->capture;

sub objects {
    my ($pattern, @command) = @_;
    return sum0 map { $_->{objects} } grep { $_->{site} =~ $pattern } @{ Heapsh::ask_json($file, @command) };
}

my $late = qr/^xmalloc \(late-wrapper\.c:\d+\), caller not sampled$/;
my $unknown = objects($late, 'sites');
cmp_ok $unknown, '>=', 490, 'blocks from before are in a row of their own';
cmp_ok objects(qr/^first /, 'sites'), '<=', 1, 'not with the first caller';
cmp_ok objects(qr/^second /, 'sites'), '<=', 500, 'nor with another that made fewer';
cmp_ok objects(qr/^sixth /, 'sites'), '>=', 290, 'later blocks have their caller';
is objects(qr/^(xmalloc|first|second|third|fourth|fifth|sixth) /, 'sites'), 861, 'none is missing';

my $leaks = Heapsh::ask($file, 'leaks');
like $leaks, qr/xmalloc \(late-wrapper\.c:\d+\), caller not sampled/, 'leaks says so, too';
unlike $leaks, qr/ first \(/, 'and blames no caller that is innocent';

done_testing;
