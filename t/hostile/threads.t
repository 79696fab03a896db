#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Threads, many and odd ones; t/capture/threads.t has those that sleep.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Hostile;
use Test::More;

my $program = 'hostile-threads';

# Each thread is in the snapshot, and its state is known. @return a check of a snapshot
sub all_known {
    my ($count) = @_;
    return sub {
        my %state;
        my $info = Heapsh::ask_json($_[0], 'info');
        $state{ $_->{state} }++ for @{ $info->{threads} };
        my $known = ($state{'asleep, stack pointer known'} // 0) + ($state{'stopped, registers exact'} // 0);
        is $known, $count, 'all threads are known' or diag explain \%state;
        cmp_ok $info->{stop_ns}, '>', 0, 'and how long they stood';
        return;
    };
}

survives('one thread', $program, 'one', check => all_known(1));
# Beside them the writer gets one part in so many of a processor: an emulated one had not done after 20
# minutes beside 200. From 64 on threads are stopped in another way.
my $many = $Heapsh::patience > 60 ? 70 : 200;
survives("$many threads that run", $program, 'many', env => { HOSTILE_THREADS => $many }, check => all_known($many + 1));
survives('2000 threads that sleep', $program, '2000', check => all_known(2001));
survives('threads that start and end', $program, 'coming', snapshots => 5);
survives('threads on small signal stacks of their own', $program, 'signal-stack');
survives('a thread in accept, then in read', $program, 'accept', snapshots => 2);
survives('threads that contend for a lock', $program, 'lock', check => all_known(9));

# One that has been woken does not run as long as others have the processors.
my @busy = map {
    my $pid = fork // die;
    while ($pid == 0) { }
    $pid;
} 1 .. ($many == 200 ? 6 : 1);
survives('threads that wake each other', $program, 'ring', snapshots => 15, check => all_known(25));
kill 'KILL', @busy;
waitpid $_, 0 for @busy;
done_testing;
