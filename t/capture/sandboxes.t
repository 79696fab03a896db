#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that restrict their own system calls, or were started with such a restriction, live on with the
# library, whatever it is asked to do, as they do without.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/sandboxes";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# @return what it printed, and its wait status
sub run {
    my (@words) = @_;
    my $output = `cd $directory && ulimit -c 0 && exec @words 2>.stderr`;
    return "$? $output";
}

sub said {
    open my $in, '<', "$directory/.stderr" or die $!;
    return join '', <$in>;
}

my $heapsnap = "$build/heapsnap run";
my $number = 0;
for my $way (qw(prctl thread all-threads inherited raw)) {
    my $bare = run($program, $way, 300);
    is $bare, 7 * 256 . " ready\nwent on\n", "$way: lives without the library";
    my @options = ('');
    push @options, "--trace t-$way.trace", "--no-snapshots --trace u-$way.trace --rate 16K", '--growth 100K', '--every 50ms'
        unless $way eq 'raw';    # nobody can know of that filter
    for my $options (@options) {
        is run("$heapsnap $options -- $program", $way, 300), $bare, "$way, $options: as without";
        is said(), '', '... and nothing is said' unless $options =~ /every|growth/;
    }
    unlink glob "$directory/*.snap";
}

# A thread that has its system calls refused for a while: none of ours is made in it.
SKIP: {
    my $bare = run($program, 'dispatch', 0);
    skip 'no dispatching of system calls', 9 if $bare !~ /dispatches/;
    for my $options ('', '--growth 100K', '--every 20ms', '--trace d.trace --rate 16') {
        is run("$heapsnap $options -- $program", 'dispatch', 0), $bare, "dispatch, $options: as without";
    }
    # It begins while a snapshot is being taken, which waits for busy threads.
    is run("$heapsnap --every 20ms -- $program", 'dispatch', 20, 30), $bare, "dispatch during a snapshot, $_: as without" for 1 .. 5;
    unlink glob "$directory/*.snap";
}

# A trace goes on where nobody may wake the thread that writes it, and ends well.
for my $trace ('t-prctl', 'u-prctl', 't-thread', 'u-thread') {
    my $said = `$build/heapsh-trace --sites $directory/$trace.trace 2>&1`;
    like $said, qr/allocate \(sandboxes\.c:\d+\)/, "$trace: the trace has what was allocated in the sandbox";
    unlike $said, qr/incomplete|cut|no end/i, '... and its end';
}

for my $options ('', '--trace s.trace', '--no-snapshots --trace v.trace --rate 16K', '--growth 100K', '--every 1h') {
    is run("$heapsnap $options -- $program", 'strict'), 9 * 256 . " went on\n", "strict mode, $options: as without";
}

is run("$heapsnap -- $program", 'bad'), run($program, 'bad'), 'filters that cannot be read: the kernel says so';

# What was not installed, or only in a child, hinders no snapshot.
Heapsh::public_build();    # made here, not by a child that removes it at its end
for my $way ($> == 0 ? qw(vfork refused) : 'vfork') {
    chmod 0777, $directory;
    my $pid = open(my $out, '-|') // die $!;
    if ($pid == 0) {
        chdir $directory;
        # As nobody it must reach the writer.
        exec Heapsh::public_build() . '/heapsnap', 'run', '--', $program, $way, 3000;
    }
    my $ready = '';
    while (<$out>) { $ready .= $_; last if /ready/ }
    like `$build/heapsnap capture $pid 2>&1`, qr{/sandboxes-\d+\.snap\n\z}, "$way: a snapshot can be taken";
    kill KILL => $pid;
    close $out;
}

# The library does not work where a filter of the program's came before it, and says so.
my $pid = open(my $out, '-|') // die $!;
if ($pid == 0) {
    chdir $directory;
    exec split(' ', $heapsnap), '--', "$program", 'inherited', 3000;
}
<$out>;
my $answer = `$build/heapsnap capture $pid 2>&1`;
is $answer, "heapsnap: $pid (sandboxes) restricts its system calls, and its filter would end it for a snapshot\n",
    'a filter from before: one line says why there is no snapshot';
kill KILL => $pid;
close $out;
done_testing;
