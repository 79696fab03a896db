#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A series with more numbers than its names have digits for, in the order of a pattern of the calling
# shell: app-10.snap, app-100.snap, app-11.snap. Each tool takes it in the order of the numbers.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use JSON::PP;
use Sample;
use Test::More;

my $place = "$Sample::directory/2 of them";
mkdir $place or die $!;
my @sorted = map { "$place/app-$_.snap" } 9, 10, 99, 100, 1000;
copy(Sample::make('series', $_), $sorted[$_]) or die $! for 0 .. 4;
my @given = sort @sorted;
isnt "@given", "@sorted", 'a pattern gives them in another order';

# What a tool says of files, without their names.
sub says {
    my ($input, $tool, @words) = @_;
    my ($out, $err, $status) = Sample::run($input, "$Sample::build/$tool", @words);
    return "$status: $err\n" . $out =~ s{\Q$place\E/}{}gr;
}

my @tool = (['heapsh-leakreport'], ['heapsh-evolution', '--csv'], ['heapsh-check'],
    ['heapsh', '-q', '--json']);
for (@tool) {
    my $lines = "snapshots\ngo 4\nfind --limit 1 type node\nhistory \$1\n";
    is says($lines, @$_, @given), says($lines, @$_, @sorted), "$_->[0]: in the order of the numbers";
}
for my $tool ('heapsh-report -o', 'heapsh-export --format sqlite -o') {
    my @words = split / /, $tool;
    my @file = map { my $file = "$place/$_"; (says('', @words, $file, $_ eq 'given' ? @given : @sorted), $file)[1] } qw(given sorted);
    ok -s $file[0] && Sample::content($file[0]) eq Sample::content($file[1]), "$words[0]: so, too";
}

# An order that no pattern gives is somebody's own, and so may be one of two.
like says('', 'heapsh-leakreport', @sorted[0, 2, 1]), qr/app-10\.snap: not later than the one before/, 'another order stays';
my @pair = @sorted[3, 2];
is says("snapshots\n", 'heapsh', '-q', @pair), "0: \n*[0] app-100.snap\n [1] app-99.snap\n", 'the order of two stays';
done_testing;
