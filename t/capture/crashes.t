#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap core, of programs that have crashed as programs do: by a smashed heap, by a call to nowhere, by a
# stack that is full. What the crash has left is all found.
use strict;
use warnings;
no warnings 'portable';    # addresses are of 64 bits
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use LiveBlocks;
use Test::More;
use Time::HiRes qw(sleep);

my $build = abs_path($ENV{BUILD} || 'build');

chomp(my $pattern = `cat /proc/sys/kernel/core_pattern 2>/dev/null`);
plan skip_all => 'cores go elsewhere' if $pattern ne 'core' && $pattern ne 'core.%p';

# @return its snapshot, by its core; what is live; what heapsnap said; its directory
sub crash {
    my ($how, $name) = @_;
    $name //= "$build/t/programs/crashes";
    my $program = Heapsh->start('/bin/sh', bare => 1, no_wait => 1,
        args => [ '-c', "ulimit -c unlimited && exec $name live $how" ]);
    if ($how eq 'is-killed') {
        sleep 0.02 until !-d "/proc/$program->{pid}" || -s "$program->{directory}/waits";
        kill 'SEGV', $program->{pid};
    }
    my $directory = $program->{directory};
    waitpid $program->{pid}, 0;
    my ($core) = grep { -s } "$directory/core", "$directory/core.$program->{pid}";
    return unless $core;
    my $file = "$directory/core.snap";
    my $said = `$build/heapsnap core --file $file $core 2>&1`;
    return (-e $file ? $file : undef, LiveBlocks::read_log("$directory/live"), $said, $directory);
}

# Blocks that are live and were missed, by address. Of those that were found too much, libc has made some.
sub are_found {
    my ($file, $live, $name) = @_;
    my $found = Heapsh::blocks_of($file);
    cmp_ok keys %$live, '>', 5000, "$name: there are blocks";
    is join(' ', grep { !defined $found->{$_} || $found->{$_} < $live->{$_} } sort keys %$live), '', "$name: none is missed";
    return scalar grep { !defined $live->{$_} } keys %$found;
}

# --- smashed heaps --------------------------------------------------------------------

SKIP: {
    my ($file, $live, $said) = crash('overrun');
    skip 'no core file was written', 1 unless defined $said;
    ok $file, 'overrun: a snapshot' or diag($said), last;
    my $more = are_found($file, $live, 'overrun');
    cmp_ok $more, '<=', 5, 'overrun: no more are found than libc, threads and stdio have';
    like scalar Heapsh::ask($file, 'info'), qr/glibc's heap is damaged at 0x[0-9a-f]+ and in 4 more places/, 'overrun: where';
}

# --- the program's own function, whatever it called ------------------------------------

my $directory = tempdir(CLEANUP => 1);
my $me = $$;
my $static = "$directory/crashes-static";
system($ENV{CC} || 'cc', qw(-g -O1 -static -pthread -w -o), $static, 't/programs/crashes.c') == 0 or die 'cc failed';

for my $case ([ 'aborts', 6, 'give_up' ], [ 'asserts', 6, 'give_up' ], [ 'frees', 6, 'give_up' ], [ 'copies', 11, 'give_up' ],
    [ 'is-killed', 11, 'wait_for_it' ], [ 'wild', 11, 'give_up' ]) {
    my ($how, $signal, $function) = @$case;
    for my $path ("$build/t/programs/crashes", $static) {
        my ($program) = $path =~ m{([^/]*)$};
      SKIP: {
            my ($file, $live, $said) = crash($how, $path);
            skip 'no core file was written', 1 unless defined $said;
            ok $file, "$program $how: a snapshot" or diag($said), last;
            my $info = Heapsh::ask($file, 'info');
            # Functions of libc may have no name without its debug information.
            my $rest = $how eq 'wild' ? '' : ', in \S+(?: \(.*\)|\+0x[0-9a-f]+)';
            like $info, qr/^ended +by signal $signal, [\w ]+, in thread \d+ \(crashes\S*\): $function \(crashes\.c:\d+\)$rest$/m, "$program $how: whose fault it is";
            is $info =~ m{^sent by +process $me$}m ? 1 : 0, $how eq 'is-killed' ? 1 : 0, "$program $how: sent by another process or not";
            is $info =~ /^fault +(.*)$/m ? $1 : '', $how eq 'wild' ? 'at an address that no program can have; the processor does not say which'
                : $how eq 'copies' ? 'at 0x8, where nothing is mapped' : '', "$program $how: the address";
        }
    }
}

# --- calls to nowhere -----------------------------------------------------------------

for my $how ('calls-null', 'calls-data') {
  SKIP: {
        my ($file, $live, $said) = crash($how);
        skip 'no core file was written', 1 unless defined $said;
        ok $file, "$how: a snapshot" or diag($said), last;
        are_found($file, $live, $how);
        my ($place) = Heapsh::ask($file, 'info') =~ /^fault +at (.*)$/m;
        like $place, $how eq 'calls-null' ? qr/^0x0, where nothing is mapped$/ : qr/^0x[0-9a-f]{5,}, which may not be accessed so$/, "$how: the address";
        is Heapsh::ask_json($file, 'info')->{fault_address}, $place =~ s/,.*//r, "$how: in JSON";
        like scalar Heapsh::ask($file, 'callstack'), qr/^  #0 +\S+\n  #1 +call \(crashes\.c:\d+\)\n(?: {8}.*\n)*  #2 +main /m, "$how: who called";
        like scalar Heapsh::ask($file, 'info'), qr/^ended +by signal 11, Segmentation fault, in thread \d+ \(crashes\): (?:0x0|crashes\+0x[0-9a-f]+)$/m, "$how: where";
        like scalar Heapsh::ask($file, 'roots'), qr/the local variable own of call /, "$how: its variables";
        unlike scalar Heapsh::ask($file, 'info'), qr/^doubts/m, "$how: no doubts";
    }
}

# --- another thread ---------------------------------------------------------------------

SKIP: {
    my ($file, $live, $said) = crash('thread');
    skip 'no core file was written', 1 unless defined $said;
    ok $file, 'a thread: a snapshot' or diag($said), last;
    are_found($file, $live, 'a thread');
    # A core file has the name of the process, and none of its other threads.
    my ($tid) = Heapsh::ask($file, 'info') =~ /^ended +by signal 11, Segmentation fault, in thread (\d+): fault \(crashes\.c:\d+\)$/m;
    ok $tid, 'a thread: which it was, and where';
    $tid //= 0;
    like scalar Heapsh::ask($file, 'info'), qr/^  $tid: stopped, registers exact, \d+ frames\n  \d+ crashes: /m, 'a thread: info lists them without empty names';
    like scalar Heapsh::ask($file, 'callstack'), qr/\Athread $tid\n  #0 +fault /, 'a thread: callstack likewise';
}

# --- a stack that is full ----------------------------------------------------------------

SKIP: {
    my ($file, $live, $said, $directory) = crash('overflows');
    skip 'no core file was written', 1 unless defined $said;
    ok $file, 'overflows: a snapshot' or diag($said), last;
    are_found($file, $live, 'overflows');
    my ($only) = Heapsh::content("$directory/live") =~ /^(\S+)/;
    like scalar Heapsh::ask($file, "path 0x$only"), qr/^the local variable only of overflow \(crashes\.c:\d+\), thread \d+\n/, 'overflows: who began to recurse is known, and what it held';
    unlike scalar Heapsh::ask($file, 'info'), qr/^doubts/m, 'overflows: the stack is no memory of another allocator';
}

done_testing;
