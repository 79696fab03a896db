#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Threads asleep in blocking calls are held and go on, with their results and in their time; or
# are left alone, where holding is refused.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/capture-undisturbed";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
$ENV{HEAPSNAP_CONTENT} = 'none';
$ENV{HEAPSNAP_TYPES} = 'none';

# @return how many of the program's threads have known registers, at least in each snapshot
sub exact {
    my ($name, $registers, @wrap) = @_;
    unlink glob "$directory/*.snap";
    my $output = `cd $directory && @wrap env LD_PRELOAD=$build/libheapsnap.so HEAPSNAP_REGISTERS=$registers $program 2>errors`;
    # strace itself disturbs some.
    like $output, @wrap ? qr/^done$/m : qr/^done\n\z/, "$name: no call was disturbed, no child is left";
    open my $errors, '<', "$directory/errors" or die $!;
    is join('', grep { !/waits itself for SIGQUIT/ } <$errors>), '', "$name: nothing is said";
    my @files = glob "$directory/*.snap";
    is scalar @files, 5, "$name: all snapshots were written";
    my $least = 30;
    for my $file (@files) {
        my $known = grep { $_->{state} eq 'stopped, registers exact' } @{ Heapsh::ask_json($file, 'info')->{threads} };
        $least = $known if $known < $least;
    }
    return $least;
}

is `cd $directory && $program`, "done\n", 'without us';

# Left alone: what a stop would give a new timeout or EINTR, and sockets, which may have one.
# On a busy machine a thread may not get a processor in time to be held: then once more.
my $held = 0;
for my $attempt (1 .. 3) {
    $held = exact('held', '1s') if $held < 16;
}
cmp_ok $held, '>=', 16, 'most sleeping threads are held';
is exact('without time for it', '0ms'), 1, 'none is held';

SKIP: {
    skip 'strace is not installed', 4 unless `sh -c 'command -v strace'`;
    my $exact = exact('traced already', '1s', 'strace', '-f', '--seccomp-bpf', '-e', 'trace=flock', '-o', '/dev/null');
    cmp_ok $exact, '<', 16, 'what is traced already cannot be held';
}
done_testing;
