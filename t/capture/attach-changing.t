#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach on processes that end, begin another program or go into the background meanwhile:
# each time there is a snapshot that is right, or one line that says why not.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use IO::Handle;
use IPC::Open2;
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep);

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);
my $program = "$build/t/programs/changing";

# The program's own 200 blocks, and some of libc's and the loader's.
sub is_right {
    my ($file) = @_;
    my %count;
    $count{$_}++ for values %{ Heapsh::blocks_of($file) };
    return ($count{104} // 0) >= 200;
}

# Attaches once. @return 'right', 'young' (it has not allocated all yet), 'refused', or what was wrong
sub attach {
    my ($pid) = @_;
    my $file = "$directory/changing.snap";
    unlink $file;
    my $said = `timeout -s KILL 60 $build/heapsnap attach --types none --file $file $pid 2>&1`;
    if ($? == 0) {
        # A thread may be stopped in malloc, when the sums do not agree: that is said.
        return is_right($file) ? 'right' : 'young';
    }
    return "left behind: $said" if -e $file;
    return 'refused' if $said =~ /^heapsnap: $pid (?:begins one program after the other[^\n]*|has ended|\(\S+\) is just ending)\n\z/
        || $said =~ /^heapsnap: $pid(?:: no such process| \(\S+\) has ended: it is a zombie[^\n]*)\n\z/;
    return 'young' if $said =~ /^heapsnap: [^\n]*: it has allocated nothing yet, or[^\n]*\n\z/;
    return $said;
}

# @return the ended children of a process that nobody has waited for
sub ended_children {
    my ($parent) = @_;
    my @ended;
    for my $path (glob '/proc/[0-9]*/stat') {
        open my $in, '<', $path or next;
        push @ended, $path if (<$in> // '') =~ /\) Z \Q$parent\E /;
    }
    return @ended;
}

for my $threads (0, 3) {
    my $name = $threads ? "exec() with $threads threads" : 'exec()';
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        chdir $directory;
        exec $program, 'exec', $threads or POSIX::_exit(127);
    }
    my %seen;
    # Where another program begins each time, no attempt succeeds by skill alone.
    for (1 .. 60) {
        $seen{ attach($pid) }++;
        last if $_ >= 25 && $seen{right};
    }
    # A program that it begins would inherit a child, and never wait for it.
    is_deeply [ended_children($pid)], [], "$name: no child of ours stays";
    ok delete $seen{right}, "$name: a snapshot that is right";
    delete @seen{qw(young refused)};
    is join('', keys %seen), '', "$name: or else one line that is clear";
    is waitpid($pid, POSIX::WNOHANG()), 0, "$name: it goes on";
    open my $end, '>', "$directory/end" or die $!;
    waitpid $pid, 0;
    is $?, 0, "$name: and ends as it would have";
    unlink "$directory/end";
}

{
    my $pid = open2(my $from, my $to, $program, 'fork');
    $to->autoflush;
    my %seen;
    for (1 .. 12) {
        print $to 'a';
        chomp(my $child = <$from>);
        my $outcome = attach($child);
        # A child that has just been forked has all that its parent had.
        $seen{$outcome}++;
        print $to "\n";
    }
    delete @seen{qw(young refused right)};
    is join('', keys %seen), '', 'children that end or change at once: one line that is clear';
    close $to;
    waitpid $pid, 0;
    is $?, 0, 'their parent goes on';
}

{
    my $pid = open2(my $from, my $to, $program, 'without-main');
    for (1 .. 600) {
        last if `cat /proc/$pid/status` =~ /^State:\s+Z/m;
        sleep 0.05;
    }
    is attach($pid), 'right', 'a process whose main thread has ended';
    my $info = Heapsh::ask("$directory/changing.snap", 'info');
    like $info, qr/^threads +1$/m, '... and is no thread of it';
    unlike $info, qr/could not be stopped/, '... so that all could be stopped';
    close $to;
    waitpid $pid, 0;
    is $?, 0, 'it ends as it would have';
}

# While heapsnap watch holds all threads and waits for its writer, the process is killed: it is gone at
# once, not when the threads would have been let go, 30 s later.
SKIP: {
    skip 'not root, who alone may watch at such a priority', 2 if $> != 0;
    my $copy = "$directory/held";
    mkdir $copy;
    system("cp $build/heapsnap $build/libheapsnap.so $copy") == 0 or die 'cp';
    open my $out, '>', "$copy/heapsnap-writer" or die $!;
    print $out "#!/bin/sh\necho >$copy/started\nexec sleep 1000\n";
    close $out;
    chmod 0755, "$copy/heapsnap-writer";
    my $steady = Heapsh->start('steady', bare => 1, args => [ 4, 'alone' ]);
    my $watch = fork // die "fork: $!";
    if (!$watch) {
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        exec "$copy/heapsnap", 'watch', '--before-oom', '1%', '--file', "$copy/never.snap", $steady->pid or POSIX::_exit(127);
    }
    for (1 .. 600) {
        last if -e "$copy/started" || waitpid($watch, POSIX::WNOHANG()) != 0;
        sleep 0.05;
    }
    skip 'less than 1 % of the memory is used', 2 unless -e "$copy/started";
    like `cat /proc/$steady->{pid}/task/*/status`, qr/^State:\s+t/m, 'watched: its threads are held';
    kill 'KILL', $steady->pid;
    my $gone = 0;
    for (1 .. 300) {
        last if $gone = waitpid($steady->pid, POSIX::WNOHANG());
        sleep 0.05;
    }
    is $gone, $steady->pid, 'watched: it is gone at once when it is killed';
    kill 'KILL', $watch;
    waitpid $watch, 0;
}

done_testing;
