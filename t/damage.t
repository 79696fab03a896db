#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots that were truncated, flipped and overwritten at random: each is refused, or what can
# be read of it is read; never a crash (nor, with SANITIZE, a step outside). Half of them get
# their checksums set right afterwards, so that the damage reaches what stands behind those.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;

my $build  = $ENV{BUILD} || 'build';
my $helper = "$build/t/helper/snapshot";
my $scratch = tempdir(CLEANUP => 1);

sub damaged {
    my ($file, $times, $seed) = @_;
    my $answer = `$helper damage $file $times $seed 2>&1`;
    is $?, 0, "$times damaged copies of " . $file =~ s{.*/}{}r or diag $answer;
    return $answer =~ /^refused (\d+) opened (\d+) /m ? ($1, $2) : (0, 0);
}

is system("$helper sample $scratch/sample.snap"), 0, 'a snapshot with something in every table';
my ($refused, $opened) = damaged("$scratch/sample.snap", 10_000, 1);
is $refused + $opened, 10_000, 'all of them were tried';
cmp_ok $refused, '>', 5000, 'most are refused';
cmp_ok $opened,  '>', 500,  'some can be opened';

is system("$helper crowd $scratch/crowd.snap"), 0, 'one that is large enough to be compressed';
damaged("$scratch/crowd.snap", 500, 2);
done_testing;
