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
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/capture-undisturbed";
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
$ENV{HEAPSNAP_CONTENT} = 'none';
$ENV{HEAPSNAP_TYPES} = 'none';
my $all = 30;    # threads

# Starts the program, which sleeps for most of its time, so that several can be started at once.
sub start {
    my ($name, $registers, @wrap) = @_;
    return run(name => $name, registers => $registers, wrap => \@wrap, slower => 1);
}

sub run {
    my (%run) = @_;
    my ($name, $registers) = @run{qw(name registers)};
    my $directory = tempdir(CLEANUP => 1);
    my @library = $registers ? ("LD_PRELOAD=$build/libheapsnap.so", "HEAPSNAP_REGISTERS=$registers") : ();
    open my $out, '-|', "cd $directory && exec @{$run{wrap}} env SLOWER=$run{slower} @library $program 2>errors" or die "$name: $!";
    return { %run, directory => $directory, out => $out };
}

# @return what it printed, and the run. Where threads waited for a processor about as long as a timeout takes that
# started anew, once more, and more slowly.
sub finish {
    my ($run) = @_;
    my $output = join '', readline $run->{out};
    close $run->{out};
    return ($output, $run) if $output !~ /ended after/ || $run->{slower} > 4;
    return finish(run(%$run, slower => 4 * $run->{slower}));
}

# Waits for its end. @return how many of its threads have known registers: at most in each snapshot, and at
# least in each that was taken while all still slept. On a slow machine the timeouts of some end before
# the last one.
sub exact {
    my ($run) = @_;
    my $output;
    ($output, $run) = finish($run);
    my ($name, $directory) = @$run{qw(name directory)};
    # strace itself disturbs some.
    like $output, @{ $run->{wrap} } ? qr/^done$/m : qr/^done\n\z/, "$name: no call was disturbed, no child is left";
    open my $errors, '<', "$directory/errors" or die $!;
    is join('', grep { !/waits itself for SIGQUIT/ } <$errors>), '', "$name: nothing is said";
    my @files = glob "$directory/*.snap";
    is scalar @files, 5, "$name: all snapshots were written";
    my ($most, $least) = (0);
    for my $file (@files) {
        my @threads = @{ Heapsh::ask_json($file, 'info')->{threads} };
        my $known = grep { $_->{state} eq 'stopped, registers exact' } @threads;
        $most = $known if $known > $most;
        $least = $known if @threads == $all && (!defined $least || $known < $least);
    }
    return ($most, $least // 0);
}

# On aarch64 poll() has a timeout in memory that a stop may change, and tracers cannot have epoll_wait,
# semop and sigwaitinfo restarted: five threads fewer.
my $enough = `uname -m` eq "x86_64\n" ? 16 : 11;
my @strace = qw(strace -f --seccomp-bpf -e trace=flock -o /dev/null);
my $has_strace = has('strace');
my $bare = start('without us');
my $holding = start('held', '1s');
my $leaving = start('without time for it', '0ms');
my $traced = $has_strace ? start('traced already', '1s', @strace) : undef;
is +(finish($bare))[0], "done\n", 'without us';

# Left alone: what a stop would give a new timeout or EINTR, and sockets, which may have one.
# On a busy machine a thread may not get a processor in time to be held: then once more.
my $held = (exact($holding))[1];
for (2 .. 3) {
    $held = (exact(start('held', '1s')))[1] if $held < $enough;
}
cmp_ok $held, '>=', $enough, 'most sleeping threads are held';
# Where the last snapshots are late, the timeouts of some threads have ended, and who runs is stopped.
my ($left_most, $left_least) = exact($leaving);
is $left_least, 1, 'none is held';
cmp_ok $left_most, '<', $enough, 'and in no snapshot as many as are held otherwise';

SKIP: {
    skip 'strace is not installed', 4 unless $traced;
    cmp_ok +(exact($traced))[0], '<', $enough, 'what is traced already cannot be held';
}
done_testing;
