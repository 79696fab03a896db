#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What holds nothing holds nothing (t/programs/weak-pointers.cc): weak pointers, alternatives of a variant that are
# gone, elements that were taken out of a deque. Whoever holds the objects retains them alone.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);
my $source = 't/programs/weak-pointers.cc';

sub retained { my ($file, $variable) = @_; return Heapsh::ask_json($file, 'retained', "&$variable") }

# @param $counts  bytes of the counts of shared pointers to an object elsewhere
sub check {
    my ($name, $compiler, $counts, $deque) = @_;
    my $program = "$directory/$name";
    system("$compiler -std=c++17 -g -o $program $source") == 0 or die "$compiler: no program";
    my $file = Heapsh->start($program)->capture;
    my %expected = (
        owners => [ 41, 20 * (16 + 48 + $counts) ],
        others => [ 21, 20 * (8 + 48) ],
        tree => [ 13, 6 * (64 + $counts) + 8 * 16 ],
        made => [ 1, $counts == 24 ? 96 : 104 ],
        values => [ 11, 10 * (8 + 72) ],
        waiting => [ 12, 10 * 88 + $deque ],
    );
    for my $variable (sort keys %expected) {
        my $answer = retained($file, $variable);
        is_deeply [ @$answer{qw(retained_objects retained)} ], $expected{$variable}, "$name: $variable holds all of it";
        is $answer->{reachable}, $answer->{retained}, "$name: ... and leads to no more";
    }
    for ([ observed => 20 ], [ other => 20 ], [ node => 6 ], [ spent_value => 10 ], [ job => 100 ]) {
        my ($type, $count) = @$_;
        is Heapsh::ask_json($file, 'find', '--count', 'type', $type)->{count}, $count, "$name: struct $type";
    }
    is Heapsh::ask_json($file, 'find', '--count', 'conflict')->{count}, 0, "$name: no pointer contradicts a type";
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'job', 'leaked')->{count}, 90, "$name: jobs that were lost";
    is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 90, "$name: and nothing else";
    like scalar(Heapsh::ask($file, 'show', 'cursor')), qr/struct node at 0x/, "$name: show still follows a weak pointer";
    like scalar(Heapsh::ask($file, 'show', 'cursor.' . ($counts == 24 ? '_M_ptr' : '__ptr_') . '->values')), qr/\[0\] = 0/, "$name: and so does a path";
}

SKIP: {
    skip 'there is no g++', 1 unless has('g++');
    check('g++-O0', 'g++ -O0', 24, 64 + 512);
    check('g++-O2', 'g++ -O2', 24, 64 + 512);
}
SKIP: {
    skip 'there is no libc++', 1 if system("echo '#include <memory>' | clang++ -stdlib=libc++ -x c++ -fsyntax-only - 2>/dev/null");
    check('libc++-O0', 'clang++ -stdlib=libc++ -O0', 32, 4096 + 8);
    check('libc++-O2', 'clang++ -stdlib=libc++ -O2', 32, 4096 + 8);
}
done_testing;
