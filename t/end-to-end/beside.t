#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Memory that a program has mapped itself holds blocks also where the kernel has joined it with large blocks.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Test::More;

my %way = (
    'with the library' => sub { my $program = Heapsh->start('beside'); return ($program, $program->capture) },
    'attached' => sub {
        my $program = Heapsh->start('beside', bare => 1);
        my $file = "$program->{directory}/attached.snap";
        is system("timeout $Heapsh::patience $Heapsh::build/heapsnap attach --file $file " . $program->pid . ' >/dev/null'), 0, 'heapsnap attach';
        return ($program, $file);
    },
);
for my $name (sort keys %way) {
    my ($program, $file) = $way{$name}->();
    my $size = $name eq 'attached' ? 72 : 64;    # what is usable
    like scalar Heapsh::ask($file, 'find', '--count', 'size', "=$size"), qr/^Total: 35 objects, /, "$name: all blocks are there";
    like scalar Heapsh::ask($file, 'find', '--count', 'size', "=$size", 'leaked'), qr/^Total: 5 objects, /, "$name: those that nothing holds are leaked";
    like scalar Heapsh::ask('--debug', Heapsh::program_path('beside'), $file, 'find', '--count', 'size', "=$size", 'leaked'), qr/^Total: 5 objects, /, "$name: the same with debug information that comes later";
    $program->finish;
}
done_testing;
