#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Nothing changes for a program of which snapshots are taken.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

my $output = `cd $directory && LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-unchanged 2>&1`;
is $?, 0, 'the program ends well';
is $output, <<'END', 'and finds nothing changed';
by signal
by call
with SIGCHLD ignored
with a child of its own
under a profiling timer
on a small signal stack
without a descriptor left
done
END
my @names = map { s{.*/}{}r } sort glob "$directory/* $directory/.*.snap*";
is_deeply \@names, [map { sprintf 'capture-unchanged-%02d.snap', $_ } 0 .. 8],
    'each snapshot has its file, and no other file is left';
done_testing;
