#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Large blocks: one of noise that other blocks lie behind, and a mostly empty table.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my $program = Heapsh->start('large', env => { HEAPSNAP_THREADS => 3 });
my $file = $program->capture;
my %types = map { $_->{type} => [ $_->{objects}, $_->{bytes} ] } @{ Heapsh::ask_json($file, 'count') };
is_deeply \%types, { 'struct item' => [ 2001, 2001 * 16 ], 'unsigned char' => [ 1, 64 << 20 ] },
    'each block is found, and nothing else' or diag explain \%types;
is Heapsh::ask($file, 'find', '--count', 'leaked'), "Total: 0 objects, 0 B\n", 'none is lost: the entry of the table holds its item';
$program->finish;
is $program->errors, '', 'nothing was said';

# Arrays with an entry per block go to a temporary file when memory does not suffice.
SKIP: {
    skip 'a sanitizer takes all memory', 4 if $ENV{SANITIZE};
    $program = Heapsh->start('large', args => [400_000],
        env => { HEAPSNAP_WRITER_MEMORY => '96M', HEAPSNAP_CONTENT => 'none' });
    $file = $program->capture;
    is Heapsh::ask_json($file, 'find', '--count', 'type', 'struct item')->{count}, 800_001,
        'more blocks than there is memory for';
    is Heapsh::ask_json($file, 'find', '--count', 'leaked')->{count}, 0, 'none is lost';
    my ($module) = grep { $_->{path} =~ m{/large$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
    is $module->{note}, '', 'nothing is left out';
    $program->finish;
    is $program->errors, '', 'nothing was said';
}

# Places that are farther in a block than 32 bits reach are not known.
SKIP: {
    skip 'a sanitizer takes all memory', 2 if $ENV{SANITIZE};
    $program = Heapsh->start('vast');
    $file = $program->capture;
    my %known = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    $program->finish;
    skip 'no memory for a block of 5 GiB', 2 unless $known{'(the rest of pools)'};
    is $known{'struct near'}, 2, 'parts near the start are known';
    is $known{'struct far'}, undef, 'no part is seen where none is';
}
done_testing;
