#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Structures of the C and C++ libraries that are one value for a person (t/programs/library-values.cc).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my $program = Heapsh->start('library-values', run => [ '--content', 700 ]);
my $file = $program->capture;
my $pid = $program->pid;
my %expected = (
    idle => 'unlocked',
    held => "locked by thread $pid",
    twice => "locked by thread $pid, 2 times",
    table => "locked for writing by thread $pid",
    wake => 'condition variable, 1 thread waits',
    delay => '250 ms',
    age => '3 min',
    since => '77 s',
    directory => '"/var/spool/worker/of/some/length"',
    plain => "locked by thread $pid",
    readers => 'locked by 2 readers',
    signal => 'condition variable',
);
my $shown = Heapsh::ask($file, 'show', 'worker');

like $shown, qr/^  $_ = \Q$expected{$_}\E$/m, $_ for sort keys %expected;
like $shown, qr/^  odd = \{\n    __r = 5\n  \}$/m, 'a unit without a name';
like $shown, qr/^  ours = \{\n    number = 7\n/m, "a union of the program's";
unlike $shown, qr/parts:/, 'a pointer to a lock in it makes it no pool';
like $shown, qr/^  last = \(not kept\)$/m, 'a structure of which nothing was kept takes one line';
like Heapsh::ask($file, 'show', '--all', 'worker'), qr/^ +__owner = $pid$/m, '--all shows the members';
is Heapsh::ask_json($file, 'show', 'worker')->{fields}{plain}{__data}{__owner}, $pid, 'so does --json';
like Heapsh::ask($file, 'show', 'worker->plain.__data.__owner'), qr/= $pid$/m, 'and a path of members';
done_testing;
