#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The signal lands at the worst of times.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Hostile;
use Test::More;

my $program = 'hostile-timing';
survives('inside malloc, free, realloc, calloc, memalign', $program, 'malloc', snapshots => 8);
# A block that is being moved is in the snapshot, once.
for my $way (qw(realloc mremap)) {
    my @found;
    survives("inside $way, which moves blocks", $program, $way, snapshots => 8, check => sub {
        push @found, Heapsh::ask_json($_[0], 'find', 'size', 3000001, 'or', 'size', 6000002)->{count};
    });
    is_deeply \@found, [(3) x 8], 'each block is there once' or diag "@found";
}
survives('inside dlopen and dlclose', $program, 'dlopen', snapshots => 8);
survives('inside printf', $program, 'printf', snapshots => 8);
survives('inside fork', $program, 'fork', snapshots => 8);
survives('inside a destructor of thread-local storage', $program, 'destructor', snapshots => 8);
survives('inside exit', $program, 'exit');
survives('two at once', $program, 'two', snapshots => 2);
survives('in code of the kernel (vDSO)', $program, 'vdso', snapshots => 8);

# The new program gets to know of the frozen copy: a limit that heapsh-limits(7) names.
survives('the program execs while it is written', $program, 'exec');
done_testing;
