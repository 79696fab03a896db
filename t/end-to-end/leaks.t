#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A leak and a cache that fills, over a series of captures (t/programs/demo.c): what
# heapsh-leakreport names is the leak, all of it, and nothing else.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('demo');
my @files;
for my $round (1 .. 4) {
    print { $program->{in} } "\n";
    is $program->line, 'served', "round $round";
    push @files, $program->capture;
}
close $program->{in};

my @lines = split /\n/, `$Heapsh::build/heapsh-leakreport --quiet @files`;
is $?, 0, 'there are candidates';
my @sessions = grep { /^LEAK\[\d\] struct session at 0x/ } @lines;
my @strings = grep { /^LEAK\[\d\] char\[\d+\] "10\.0\.\d+\.\d+" at 0x/ } @lines;
is scalar(grep { /^LEAK/ } @lines), 40, 'twenty objects stay each round, but for the first and the last';
is scalar @sessions, 20, 'ten of them sessions';
is scalar @strings, 20, 'ten their names';
is scalar(grep { /^LEAK\[1\]/ } @lines), 20, 'new in the second file';
is scalar(grep { /^LEAK\[2\]/ } @lines), 20, 'new in the third';
like $lines[-1], qr/^Total: 40 objects, /, 'and the sum';
ok scalar(grep { /\b20\s+800 B\s+struct session, session_open \(demo\.c:\d+\)/ } @lines), 'by type and line';
my @second = split /\n/, `$Heapsh::build/heapsh-leakreport --quiet -1 @files`;
is scalar(grep { /^LEAK/ } @second), 20, '-1: only those of the second file';
is(Heapsh::ask_json($files[0], 'find', '--count', 'type', 'struct utility')->{count}, 300,
    'the cache was full by the first');
done_testing;
