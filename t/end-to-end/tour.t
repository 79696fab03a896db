#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The tour: `make demo` works, and README shows what it prints. Addresses, times and rates differ from
# run to run, and nothing else.
use strict;
use warnings;
use utf8;
use open qw(:std :encoding(UTF-8));
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{BUILD} = $build;
$ENV{PATH} = "$build:$ENV{PATH}";

sub content {
    my ($name) = @_;
    open my $in, '<', $name or die "$name: $!";
    local $/;
    return scalar <$in>;
}

sub alike {
    my ($text) = @_;
    $text =~ s/\b0x[0-9a-f]+/0x.../g;
    $text =~ s/at most [\d.]+ \w+ ago/at most ... ago/g;
    # A rate is told where its margin is smaller.
    $text =~ s/growth(.*): \+?[\d.]+ (?:±[\d.]+ )?objects?, \+?[\d.]+ \w+ (?:an hour|since \[0\])/growth$1: .../g;
    $text =~ s/born [\d.]+ \w+ after/born ... after/g;
    return $text;
}

my $demo = qx(scripts/demo $directory 2>&1);
is $?, 0, 'the demo runs to its end';
ok -s "$directory/demo-0$_.snap", "it leaves demo-0$_.snap" for 0 .. 2;

# README shows its end, indented.
my ($session) = content('README.md') =~ /^(    \$ heapsh .*?)^## /ms;
$session =~ s/^    //mg;
$session =~ s/\n+\z/\n/;
is alike(substr $demo, index $demo, '$ heapsh -q demo-02.snap count'), alike($session),
    'README shows what the demo prints';

done_testing;
