#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Hash tables with open addressing of which there is one of each kind (t/programs/flat-tables.cc): all of their
# elements are known, and a path names the one that it leads through.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);
my $namespace = '(anonymous namespace)';
for my $way ('g++ -O0', 'g++ -O2', 'clang++ -O2') {
    my ($compiler) = split ' ', $way;
  SKIP: {
        skip "there is no $compiler", 1 unless has($compiler);
        my $program = "$directory/" . $way =~ s/\W//gr;
        system("$way -std=c++17 -g -o $program t/programs/flat-tables.cc") == 0 or die;
        my $file = Heapsh->start($program)->capture;
        my %elements = map { $_->{type} => $_->{elements} } @{ Heapsh::ask_json($file, qw(find type), 'std::pair<*')->{objects} };
        is_deeply [ sort { $a <=> $b } values %elements ], [ 119, 127 ], "$way: all elements of both" or diag explain \%elements;
        is Heapsh::ask_json($file, qw(find --count type), "${namespace}::Session")->{count}, 190, "$way: and what they lead to";
        is Heapsh::ask_json($file, qw(find --count untyped site flat-tables.cc))->{count}, 0, "$way: nothing else";
        my $held = Heapsh::ask_json($file, qw(find type), "${namespace}::Session", qw(field number=50))->{objects};
        my @paths = sort map { scalar Heapsh::ask($file, 'path', $_->{address}) } @$held;
        like $paths[0], qr/by_name .*^  \[65\]\.second of struct std::pair<.*>\[119\] at 0x[0-9a-f]+ → struct /ms, "$way: the path through the elements";
        like $paths[1], qr/by_number .*^  \[72\]\.second of struct std::pair<.*>\[127\] at 0x[0-9a-f]+ → struct /ms, "$way: ... and through slots";
    }
}
done_testing;
