#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A trace and a snapshot of the same process: what is still alive of the one is found in the other,
# both ways, with exact counts, since all blocks are sampled (a mean of a byte).
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
my ($snapshot, $trace) = map { "$directory/queue.$_" } qw(snap trace);

# 310 orders were made, 10 of them before the trace began; of the queue every third was served, 4 of
# these 10 and 100 others; 20 more orders leak; 50 users are in a table.
{
    local $ENV{HEAPSNAP_STACKS} = 1;
    is system("$build/heapsnap run -- $build/t/programs/traced-queue $snapshot $trace"), 0, 'traced and captured';
}

sub heapsh { return scalar `$build/heapsh -q $snapshot @_ 2>&1` }
sub asked { return decode_json(scalar `$build/heapsh --json $snapshot @_`) }
sub told { return decode_json(scalar `$build/heapsh-trace --json @_ $trace`) }

# --- in the snapshot

is heapsh(qw(find --count type order)), "Total: 226 objects, 21.2 KiB\n", 'orders';
is heapsh(qw(find --count traced type order)), "Total: 220 objects, 20.6 KiB\n", 'traced: those since it began';
is heapsh(qw(find --count not traced)), "Total: 6 objects, 576 B\n", 'not traced: those before';
is heapsh('find --count allocated ,200ms'), "Total: 200 objects, 18.8 KiB\n", 'allocated: in the first phase';
is heapsh('find --count allocated 200ms,'), "Total: 70 objects, 12.0 KiB\n", 'allocated: in the second';
is heapsh('find --count allocated 200ms,1h type order'), "Total: 20 objects, 1.9 KiB\n", 'of a type';
is heapsh(qw(find --count allocated 100ms)),
    "heapsh: allocated 100ms: not two times of the trace such as 1.5s,2m, or one such as 90s, with the comma\n",
    'what are no times';

my $info = asked('info');
is $info->{traced}, 270, 'info: how many';
is $info->{trace}, $trace, 'info: of which trace';
like heapsh('info'), qr{^trace     \Q$trace\E, since .*: 270 objects are in it$}m, 'info, in words';

my ($user) = heapsh(qw(find --limit 1 traced type user)) =~ /(0x\w+)$/m;
my $shown = asked('show', $user);
is $shown->{sample}{trace}, $trace, 'show: the trace';
cmp_ok $shown->{sample}{trace_us}, '>=', 300_000, 'show: when, in the trace';
like heapsh('show', $user), qr/^  allocated by user_new \(traced-queue\.c:\d+\), \S+ s ago by thread \d+; type by pointer
  sample $shown->{sample}{number} of queue\.trace, at 0\.\d{6} s of it\n  backtrace:\n    #0   user_new/m,
    'show, in words';
like heapsh('identify', $user), qr/ of the global variable users .*\n  sample $shown->{sample}{number} of queue\.trace/,
    'identify: the same';

# The sample has the same number and time in both.
my $at = sprintf '%dus', $shown->{sample}{trace_us};
cmp_ok told('--between', "$at,$at", '--site user_new')->{allocated}{samples}, '>=', 1, 'the trace has it at the same time';

# --- from the trace's sites to what is there

sub heapsh_trace { return scalar `$build/heapsh-trace @_ $trace 2>&1` }

my $held = told('--snapshot', $snapshot);
is $held->{samples}, 270, 'samples that are there';
my %site = map { $_->{place} =~ s/ .*//r => $_ } @{ $held->{places} };
is_deeply { map { $_ => $site{$_}{sum}{objects} } keys %site }, { order_new => 220, user_new => 50 }, 'by site';
is_deeply [map { "$_->{place} $_->{sum}{objects}" } map { @{ $site{$_}{types} } } qw(order_new user_new)],
    ['struct order 220', 'struct user 50'], 'their types';
my %holder = map { $_->{place} => $_->{sum}{objects} } @{ $site{order_new}{types}[0]{holders} };
my ($by_next, $by_root) = map { my $pattern = $_; map { $holder{$_} } grep { /$pattern/ } keys %holder }
    qr/^\.next of struct order, from the global variable queue /, qr/^the global variable queue /;
is $by_next, 199, 'held by the one before in the queue';
is $by_root, 1, 'the first by the queue itself';
is eval { my $rest = -200; $rest += $_ for values %holder; $rest }, 20, 'and not by the queue the others';
cmp_ok $holder{'nothing: leaked'}, '>=', 18, 'which are leaked, but for what a register still has';
like $site{user_new}{types}[0]{holders}[0]{place}, qr/^the global variable users \(traced-queue\.c:\d+/, 'users';
is $site{user_new}{types}[0]{holders}[0]{sum}{objects}, 50, 'all of them by the table';
my $words = heapsh_trace('--snapshot', $snapshot);
like $words, qr/^\Q$snapshot\E, \S+ ms from the trace's beginning: 270 samples are there$/m, 'in words: when';
like $words, qr/^ +20\.6 KiB +0 B +220 +67\.0  order_new .*\n +20\.6 KiB +0 B +220 +67\.0    struct order\n/m, 'and what';
is told('--snapshot', $snapshot, '--between', ',200ms')->{samples}, 200, 'with a filter';
is told('--sites', '--snapshot', $snapshot)->{places}[0]{sum}{objects}, 220, 'with another view';
is told()->{allocated}{objects}, 370, 'without the snapshot, all';
like heapsh_trace('--snapshot', 't/snapshots/format-1.snap'),
    qr{^heapsh-trace: t/snapshots/format-1\.snap: not of this trace, but of pid \d+ with no trace$}, 'another process';
is system("$build/heapsh-trace --holders $trace 2>$directory/errors") >> 8, 2, '--holders without a snapshot';
done_testing;
