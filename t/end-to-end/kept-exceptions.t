#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Exceptions that a program keeps: the runtime's header before them has the type of what was thrown.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my @files = (Heapsh->start('kept-exceptions')->capture);
push @files, Heapsh->start('kept-exceptions', bare => 1)->attach_and_finish unless Heapsh::attach_refusal();
for my $file (@files) {
    my $how = $file eq $files[0] ? 'captured' : 'attached';
    my %count = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    is $count{'struct fault behind 128 bytes'}, 100, "$how: exceptions behind their header";
    is $count{'struct refusal behind 128 bytes'}, 100, '... of either class';
    is $count{'struct part'}, 300, '... and what they have';
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'fault')->{count}, 100, '... found by their class';
}
done_testing;
