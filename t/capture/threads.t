#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Threads that sleep, block signals, start and end: none notices that it is captured.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
$ENV{HEAPSNAP_CONTENT} = 'none';
$ENV{HEAPSNAP_REGISTERS} = $ENV{HEAPSNAP_STOP} = '20s';

my $output = `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-sleepers 2>errors`;
is $?, 0, 'the program ends well';
is $output, "done\n", 'no thread was disturbed';
my @files = sort glob "$directory/*.snap";
is scalar @files, 20, 'all snapshots were written';
open my $errors, '<', "$directory/errors" or die $!;
my $said = join '', <$errors>;
like $said, qr/^longest stop ([\d.]+) s$/, 'nothing was said';
my ($longest) = $said =~ /stop ([\d.]+)/;
cmp_ok $longest, '<', 20, 'no stop waited for a thread that could not answer';

my $info = Heapsh::ask_json($files[-1], 'info');
my %state;
$state{ $_->{state} }++ for @{ $info->{threads} };
cmp_ok $state{'asleep, stack pointer known'} // 0, '>=', 1, 'who must not be disturbed was left asleep'
    or diag explain \%state;
cmp_ok $state{'stopped, registers exact'} // 0, '>=', 10, 'the others were stopped'
    or diag explain \%state;

$output = `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/ignored-signals 2>&1`;
is $output, "done\n", 'a signal that the program ignores ends no call while its receiver is captured';
done_testing;
