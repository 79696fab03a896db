#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap capture: what it waits for, when it gives up, and what it says then.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = $Heapsh::build;
my $heapsnap = "$build/heapsnap";
my $directory = tempdir(CLEANUP => 1);
chmod 0755, $directory;

# @return output, standard error and status of a command of the shell
sub run {
    my ($command) = @_;
    my $output = `$command 2>$directory/said`;
    my $status = $? >> 8;
    open my $said, '<', "$directory/said" or die $!;
    local $/;
    return ($output, <$said> // '', $status);
}

# A shell that cannot be signalled well waits itself; perl does not, and takes a while to write.
sub busy {
    my ($code, %option) = @_;
    my $script = '$| = 1; @many = map { "x$_" } 1 .. 300000; print "ready\n"; ' . $code;
    return Heapsh->start('/bin/sh', args => ['-c', "$option{before} exec perl -MPOSIX -e '$script'"], run => $option{run});
}

# Starts to capture, and waits until the snapshot is being written.
sub begin {
    my ($program) = @_;
    my $pid = $program->pid;
    open my $capture, '-|', "$heapsnap capture $pid 2>&1" or die $!;
    Heapsh::await(sub { `$heapsnap list` =~ /^ *$pid .* \(writing a snapshot: .* \d+ s\)$/m }) or die 'it does not begin';
    return $capture;
}

sub end {
    my ($capture) = @_;
    local $/;
    my $text = <$capture> // '';
    close $capture;
    return ($text, $? >> 8);
}

# --- a program that goes meanwhile ---------------------------------------------------

for (['ends', '<STDIN>; POSIX::_exit(0)'], ['becomes another program', '<STDIN>; exec "sleep", "100"']) {
    my ($what, $code) = @$_;
    my $program = busy($code, before => '');
    my $capture = begin($program);
    print { $program->{in} } "\n";
    my ($text, $status) = end($capture);
    is $text, "$program->{directory}/perl-00.snap\n", "a program that $what while it is written: the name is printed";
    ok -s "$program->{directory}/perl-00.snap", '... of a file that is there';

    $program = busy($code, before => 'ulimit -f 8;');
    $capture = begin($program);
    print { $program->{in} } "\n";
    ($text, $status) = end($capture);
    is $text, 'heapsnap: ' . $program->pid . " wrote no snapshot: $program->{directory}/perl-00.snap: File too large\n",
        '... or why there is none';
    is $status, 1, '... with status 1';
}

# --- a program that does not take the signal -------------------------------------------

my $stopped = busy('sleep 1 while 1', before => '');
kill 'STOP', $stopped->pid;
my ($output, $said, $status) = run("$heapsnap capture " . $stopped->pid);
like $said, qr/\Aheapsnap: (\d+) is stopped: .*kill -CONT \1\)\n\z/, 'a program that is stopped';
kill 'CONT', $stopped->pid;
ok $stopped->wait_for(1), '... takes it when it goes on';

my $blocking = busy('sigprocmask(SIG_BLOCK, POSIX::SigSet->new(SIGQUIT)); sleep 1 while 1', before => '');
Heapsh::await(sub { Heapsh::content("/proc/@{[$blocking->pid]}/status") =~ /^SigBlk:\s*\w*[4-7c-f]\b/m });    # SIGQUIT is 3
($output, $said) = run("$heapsnap capture " . $blocking->pid);
like $said, qr/\Aheapsnap: \d+ has SIGQUIT blocked: .*\n\z/, 'a program that blocks the signal';

my $zombie = fork // die;
POSIX::_exit(0) if !$zombie;
Heapsh::await(sub { Heapsh::content("/proc/$zombie/status") =~ /^State:\s+Z/m });
($output, $said) = run("$heapsnap capture $zombie");
is $said, "heapsnap: $zombie has ended\n", 'a process that has ended, and has not been waited for';
waitpid $zombie, 0;
($output, $said) = run("$heapsnap capture $zombie");
is $said, "heapsnap: $zombie: no such process\n", 'one that has been';

# --- many --------------------------------------------------------------------------------

my $crowd = tempdir(CLEANUP => 1);
for my $number (0 .. 19999) {
    open my $file, '>', sprintf('%s/a long name of a snapshot that makes the list long-%02d.snap', $crowd, $number) or die $!;
}
my $pattern = 'a long name of a snapshot that makes the list long-%N.snap';
my $among = Heapsh->start('shapes', directory => $crowd, run => ['--file', $pattern]);
($output, $said, $status) = run("$heapsnap capture " . $among->pid);
is $output, "$crowd/a long name of a snapshot that makes the list long-20000.snap\n", 'among 20,000 files of such names';
is "$status $said", '0 ', '... without a word';

# --- without the right to read memory -----------------------------------------------------

# As where ptrace_scope is 1.
open my $source, '>', "$directory/blind.c" or die $!;
print $source <<'END';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
int openat(int directory, const char *path, int flags, ...)
{
	if (strcmp(path, "mem") == 0) {
		errno = EACCES;
		return -1;
	}
	return ((int (*)(int, const char *, int, int))dlsym(RTLD_NEXT, "openat"))(directory, path, flags, 0);
}
END
close $source;
SKIP: {
    skip 'a sanitizer comes first', 9 if $ENV{SANITIZE};
    is system("cc -shared -fPIC -o $directory/blind.so $directory/blind.c"), 0, 'a library makes heapsnap blind';
    my $blind = "LD_PRELOAD=$directory/blind.so $heapsnap";
    ($output, $said, $status) = run("$blind capture " . $among->pid);
    is $output, "$crowd/a long name of a snapshot that makes the list long-20001.snap\n", 'the snapshot is found by its name';
    is "$status $said", '0 ', '... without a word';
    my $pid = $among->pid;
    like +(run("$blind list"))[0], qr/^ *$pid QUIT   shapes$/m, 'list has it';

    my $elsewhere = tempdir(CLEANUP => 1);
    my $copy = Heapsh::public_build();
    system("$copy/heapsnap run --signal USR1 --file '$elsewhere/%%%e.%p.%t-%N!' sleep 100 & echo \$! >$elsewhere/pid");
    chomp(my $sleeper = `cat $elsewhere/pid`);
    Heapsh::await(sub { `$heapsnap list` =~ /^ *$sleeper USR1   sleep$/m });
    like +(run("$blind capture $sleeper"))[0], qr{\A$elsewhere/%sleep\.$sleeper\.\d+-00!\n\z}, 'of a copy of the library, by any name';
    kill 'TERM', $sleeper;
    my $replaced = Heapsh->start('/usr/bin/perl', args => ['-e', '$SIG{QUIT} = sub { print "hit\n" }; $| = 1; print "ready\n"; sleep 1 while 1']);
    ($output, $said) = run("$blind capture " . $replaced->pid);
    like $said, qr/\Aheapsnap: \d+ \(perl\S*\) has a handler of its own for SIGQUIT, .*heapsnap attach \d+ .*--signal.*\n\z/, 'a handler of the program\'s own gets no signal';
    like +(run("$heapsnap capture " . $replaced->pid))[1], qr/\Aheapsnap: \d+ \(perl\S*\) has a handler of its own for SIGQUIT, .*--signal.*\n\z/, '... also where memory can be read';
    my $program = busy('<STDIN>; POSIX::_exit(0)', before => '');
    my $pid_of_capture = open my $capture, '-|', "exec env $blind capture " . $program->pid or die $!;
    # It has found the frozen copy, and keeps its folder open.
    Heapsh::await(sub {
        my @folders = map { readlink // () } glob "/proc/$pid_of_capture/fd/*";
        return scalar grep { m{^/proc/\d+$} && Heapsh::content("$_/comm") eq "heapsnap-frozen\n" } @folders;
    });
    print { $program->{in} } "\n";
    is +(end($capture))[0], "$program->{directory}/perl-00.snap\n", 'a program that ends meanwhile';
}
$among->finish;

# --- other users, other namespaces ----------------------------------------------------------

SKIP: {
    skip 'not root', 5 if $> != 0;
    my $program = Heapsh->start('shapes');
    my $pid = $program->pid;
    my $nobody = 'setpriv --reuid 65534 --regid 65534 --clear-groups ' . Heapsh::public_build() . '/heapsnap';
    ($output, $said, $status) = run("$nobody capture $pid");
    is $said, "heapsnap: $pid: permission denied\n", 'a process of another user';
    ($output, $said, $status) = run("$nobody list");
    # Other tests may have programs of that user at the same time.
    unlike "$output$said", qr/^ *$pid /m, '... is not listed';

    skip 'no namespaces', 3 if system('unshare --pid --mount-proc --fork true 2>/dev/null') != 0;
    my $inside = tempdir(CLEANUP => 1);
    my $child = fork // die;
    if (!$child) {
        open STDOUT, '>', '/dev/null';
        exec 'unshare', '--pid', '--mount-proc', '--fork', '--kill-child', 'sh', '-c',
            "mount -t tmpfs none $inside && cd $inside && exec $heapsnap run --file '%p-%N.snap' sleep 100";
    }
    my $outer = Heapsh::await(sub {
        return (grep { `cat /proc/$_/status` =~ /^PPid:\t$child$/m }
            map { /^ *(\d+) QUIT   sleep$/ ? $1 : () } `$heapsnap list`)[0];
    }) or die 'it does not start';
    ($output, $said) = run("$heapsnap capture $outer");
    is $output, "/proc/$outer/root$inside/1-00.snap\n", 'in a container: the name leads there' or diag $said;
    ok -s "/proc/$outer/root$inside/1-00.snap", '... the file is there';
  SKIP: {
        skip 'a sanitizer comes first', 1 if $ENV{SANITIZE};
        ($output) = run("LD_PRELOAD=$directory/blind.so $heapsnap capture $outer");
        is $output, "/proc/$outer/root$inside/1-01.snap\n", 'also by names alone';
    }
    kill 'KILL', $child;
    waitpid $child, 0;
}
done_testing;
