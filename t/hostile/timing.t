#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The signal lands at the worst of times.
use strict;
use warnings;
use lib 't/lib';
use Hostile;
use Test::More;

my $program = 'hostile-timing';
survives('inside malloc, free, realloc, calloc, memalign', $program, 'malloc', snapshots => 5);
survives('inside dlopen and dlclose', $program, 'dlopen', snapshots => 5);
survives('inside printf', $program, 'printf', snapshots => 5);
survives('inside fork', $program, 'fork', snapshots => 5);
survives('inside a destructor of thread-local storage', $program, 'destructor', snapshots => 5);
survives('inside exit', $program, 'exit');
survives('two at once', $program, 'two', snapshots => 2);
survives('in code of the kernel (vDSO)', $program, 'vdso', snapshots => 5);

# The new program gets to know of the frozen copy: a limit that the README names.
survives('the program execs while it is written', $program, 'exec');
done_testing;
