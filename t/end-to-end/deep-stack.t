#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A deep stack (t/programs/deep-stack.c): the innermost and the outermost frames are kept, and what is left out is told.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $path = tempdir(CLEANUP => 1) . '/deep-stack';
is system("cc -g -O0 -o $path t/programs/deep-stack.c"), 0, 'compiles';

for my $depth (4000, 4110, 20000) {
    my $program = Heapsh->start($path, args => [$depth]);
    my $file = $program->capture;
    is(($program->finish)[1], 0, "$depth: the program goes on");

    my ($thread) = @{ Heapsh::ask_json($file, 'callstack') };
    my @frame = @{ $thread->{frames} };
    my @own = grep { $frame[$_]{function} eq 'recurse' } 0 .. $#frame;
    my @depths = map { map { $_->{value} } grep { $_->{name} eq 'depth' } @{ $frame[$_]{locals} } } @own;
    my $skipped = $thread->{skipped_frames};
    is @own + $skipped, $depth, "$depth: so many calls";
    is $depths[0], 1, "$depth: the innermost";
    is $depths[-1], $depth, "$depth: the outermost";
    is $frame[$own[-1] + 1]{function}, 'main', "$depth: and its caller";
    is $frame[-1]{function}, '_start', "$depth: all callers";
    is scalar(Heapsh::ask($file, qw(find --count leaked))), "Total: 0 objects, 0 B\n", "$depth: what is held by frames that are left out is not leaked";

    my ($last) = grep { $depths[$_ + 1] != $depths[$_] + 1 } 0 .. $#depths - 1;
    my ($info) = Heapsh::ask($file, 'info') =~ /stopped, .*, (\d+ frames.*)$/m;
    my $text = Heapsh::ask($file, 'callstack');
    if ($depth < 20000) {
        is $skipped, 0, "$depth: none is left out";
        is $last, undef, "$depth: ... between two others";
        is $info, @frame . ' frames', "$depth: info";
        unlike $text, qr/left out/, "$depth: callstack says nothing";
    } else {
        is @frame, 4096 + 64, "$depth: those that are kept";
        is $depths[$last + 1] - $depths[$last], $skipped + 1, "$depth: between two others";
        is $info, "4160 frames; $skipped in between are left out", "$depth: info";
        my $next = 4096 + $skipped;
        like $text, qr/^  #4095 recurse .*\n(?: {8}.*\n)*  … $skipped frames are left out, and their variables\n  #$next recurse /m, "$depth: callstack";
        like $text, qr/^  #${\($next + 63)} +_start/m, "$depth: numbers are those of the stack";
        like scalar Heapsh::ask($file, 'sql', 'select max(number) from frames'), qr/^ +${\($next + 63)}$/m, "$depth: in SQL, too";
    }
}
done_testing;
