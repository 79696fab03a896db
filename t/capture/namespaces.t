#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Namespaces of process ids that do not go with /proc, or with the process's children: no other process is taken for
# the one that is meant, and none loses its namespace.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use IPC::Open2;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
plan skip_all => 'takes namespaces of processes' if $> != 0 || system('unshare --pid --fork true 2>/dev/null') != 0;
chdir $directory or die $!;
END { chdir '/' }

# --- children in another namespace ---------------------------------------------------------

# The first child of such a process is the namespace's first, with which that ends.
my $unshare = `uname -m` eq "aarch64\n" ? 97 : 272;
my $program = q{$| = 1; syscall(shift, 0x20000000) == 0 or die $!; print "ready\n"; <STDIN>;}
    . q{defined(my $pid = fork) or die "fork: $!\n"; if ($pid == 0) { print "process $$\n"; exit } waitpid $pid, 0; print "done\n"};

for my $way ('bare', 'attach', 'capture') {
    my @start = $way eq 'capture' ? ("$build/heapsnap", 'run', '--') : ();
    my $pid = open2(my $from, my $to, 'sh', '-c', 'exec 2>errors; exec "$@"', 'sh', @start, $^X, '-e', $program, $unshare);
    is scalar <$from>, "ready\n", "$way: it is ready";
    if ($way ne 'bare') {
        my $said = `timeout -s KILL 50 $build/heapsnap $way $pid 2>&1`;
        like $said, qr/\Aheapsnap: $pid [^\n]*another namespace of processes[^\n]*\n\z/, "$way: one line says why not";
    }
    print $to "\n";
    is join('', <$from>), "process 1\ndone\n", "$way: its first child is the first of the namespace";
    waitpid $pid, 0;
    is $?, 0, '... and it ends well';
    is_deeply [ glob '*.snap' ], [], '... without a snapshot';
}

# --- /proc of another namespace ---------------------------------------------------------------

my $outer = qr{/proc is of another namespace of processes};
my $said = `unshare --pid --fork sh -c '$build/heapsnap run --at-exit -- /bin/true' 2>&1`;
like $said, qr/\Aheapsnap: [^\n]*$outer[^\n]*; the program goes on\n\z/, 'run: one line says why there is no snapshot';
is_deeply [ glob '*.snap' ], [], '... and there is none';
for my $command ('list', 'list --all', 'capture $!', 'attach $!', 'watch $!') {
    $said = `unshare --pid --fork --kill-child sh -c 'sleep 100 & $build/heapsnap $command' 2>&1`;
    like $said, qr/\Aheapsnap: $outer[^\n]*\n\z/, "$command: refused";
    is $? >> 8, 1, '... with status 1';
}
is_deeply [ glob '*.snap' ], [], 'no snapshot of another process';
done_testing;
