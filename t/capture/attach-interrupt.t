#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach and core that are told to end while the snapshot is written: nothing is left half done.
# Beside threads that never sleep the writer has its share of the processors.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use POSIX qw(:sys_wait_h);
use Test::More;
use Time::HiRes qw(sleep time);

my $build = $Heapsh::build;
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

# As nohup or a script's background leaves them: what is ignored would be so in heapsnap, too.
$SIG{$_} = 'DEFAULT' for qw(HUP INT QUIT TERM);

sub starts_with { my ($pid, $name) = @_; return Heapsh::content("/proc/$pid/comm") =~ /^\Q$name\E/ }

# Processes that this one has begun, by their parents. @return pids
sub children {
    my ($pid) = @_;
    return map { split ' ', Heapsh::content($_) } glob "/proc/$pid/task/*/children";
}

sub await(&) {
    my ($condition) = @_;
    for (my $until = time + $Heapsh::patience; time < $until; sleep 0.002) {
        my @result = $condition->();
        return @result if @result;
    }
    return;
}

# Starts heapsnap, and stops the writer's worker once the file is begun. @return the pids of heapsnap, writer and worker
sub begin_writing {
    my ($directory, @command) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>', "$directory/said";
        open STDERR, '>&', \*STDOUT;
        exec "$build/heapsnap", @command;
    }
    my ($writer, $worker) = await {
        my ($writer) = grep { starts_with($_, 'heapsnap-writer') } children($pid) or return;
        my ($worker) = children($writer) or return;
        return kill('STOP', $worker) ? ($writer, $worker) : ();
    };
    return ($pid, $writer, $worker);
}

sub files_of { my ($directory) = @_; opendir my $all, $directory or die $!; return grep { /\.snap/ } readdir $all }

sub is_ended { my ($pid) = @_; return scalar await { kill(0, $pid) && !/^State:\s+Z/m ? () : 1 for Heapsh::content("/proc/$pid/status") } }

sub leaves_nothing {
    my ($name, $signal, $directory, @command) = @_;
    my ($pid, $writer, $worker) = begin_writing($directory, @command);
  SKIP: {
        ok $worker, "$name, SIG$signal: a writer at work" or skip 'no writer', 4;
        is scalar(files_of($directory)), 1, '... has begun a file';
        kill $signal, $pid;
        waitpid $pid, 0;
        is $? & 127, POSIX->can("SIG$signal")->(), '... heapsnap ends by the signal';
        ok is_ended($_), '... and so does the writer' for $writer, $worker;
        await { (files_of($directory)) ? () : 1 };
        is_deeply [files_of($directory)], [], '... and no part of a file stays';
        unlink "$directory/$_" for files_of($directory);
    }
    return;
}

my $program = Heapsh->start('steady', args => [ 3, 'alone' ], bare => 1);
my $directory = $program->{directory};
leaves_nothing('attach', $_, $directory, 'attach', '--file', "$directory/%N.snap", $program->pid) for qw(INT TERM HUP QUIT KILL);

# The process would have a child left if it takes in orphans.
SKIP: {
    my $reaper = eval { Heapsh->start('steady', args => [ 0, 'alone' ], bare => 1, by => [ 'unshare', '--pid', '--fork', '--kill-child' ]) }
        or skip 'no namespaces', 8;
    my ($init) = await { grep { starts_with($_, 'steady') } children($reaper->pid) };
    leaves_nothing('attach to an init', 'INT', $directory, 'attach', '--file', "$directory/%N.snap", $init);
    my ($text, $status) = $reaper->finish;
    is $text, "steady\n", 'attach to an init: it has no child left';
    is $status, 0, 'attach to an init: exit status';
}

# One that was started to ignore a signal goes on.
{
    local $SIG{HUP} = 'IGNORE';
    my ($pid, $writer, $worker) = begin_writing($directory, 'attach', '--file', "$directory/ignored.snap", $program->pid);
    kill 'HUP', $pid;
    sleep 0.3;
    kill 'CONT', $worker;
    waitpid $pid, 0;
    is $?, 0, 'an ignored signal: it goes on';
    is Heapsh::content("$directory/said"), "$directory/ignored.snap\n", '... and the snapshot is taken';
    unlink "$directory/ignored.snap";
}

SKIP: {
    system("gcore -o $directory/core @{[$program->pid]} >/dev/null 2>&1") == 0 or skip 'no gcore', 6;
    my ($core) = glob "$directory/core.*";
    leaves_nothing('core', 'INT', $directory, 'core', '--file', "$directory/%N.snap", $core);
}

my ($text, $status) = $program->finish;
is $text, "steady\n", 'the process goes on as before';
is $status, 0, '... exit status';

# --- beside threads that never sleep ---------------------------------------------

# 300 threads that never sleep: as one of their session the writer would have 1 in 300 of the time.
{
    my $busy = Heapsh->start('spinning-threads', args => [ 300, 1 ], bare => 1);
    my $file = "$busy->{directory}/busy.snap";
    my ($status, $session, $writer);
    # On a loaded machine no thread may get its turn in time to be stopped: that is another matter.
    for my $attempt (1 .. 20) {
        unlink $file;    # a writer may have come and gone between two looks
        my $pid = fork // die "fork: $!";
        if (!$pid) {
            open STDOUT, '>', '/dev/null';
            open STDERR, '>', "$busy->{directory}/said";
            exec "$build/heapsnap", 'attach', '--types', 'none', '--file', $file, $busy->pid;
        }
        while (waitpid($pid, WNOHANG) == 0) {
            ($writer) = grep { starts_with($_, 'heapsnap-writer') } children($pid);
            ($session) = Heapsh::content("/proc/$writer/stat") =~ /.*\) \S \d+ \d+ (\d+)/ if $writer;
            last if $session;
            sleep 0.002;
        }
        waitpid $pid, 0 if $session;
        $status = $?;
        last if $session;
    }
    is $session, $writer, '300 threads: the writer has a session of its own';
    is $status, 0, '300 threads: a snapshot is taken' or diag Heapsh::content("$busy->{directory}/said");
    kill 'KILL', $busy->pid;
}

done_testing;
