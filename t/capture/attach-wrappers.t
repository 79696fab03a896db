#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# After attach sizes are not exact, so a block may be something longer than what a pointer's type says. A wrapper
# of that type is not longer.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);
my $program = Heapsh->start('wrapped', bare => 1);
my $file = "$directory/wrapped.snap";
my $said = `$build/heapsnap attach --file $file @{[$program->pid]} 2>&1`;
$program->finish;
ok -e $file, 'attached' or diag $said;
is Heapsh::ask_json($file, 'find', '--count', 'type', 'context')->{count}, 50, 'what unique_ptr holds has its type';
done_testing;
