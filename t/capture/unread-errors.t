#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Standard error that nobody reads: the library's lines neither end, stop nor hold up a program which writes none itself.
use strict;
use warnings;
use Cwd qw(abs_path);
use Fcntl;
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use POSIX ();
use Socket;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# Runs a program with that as its standard error. @return its output and wait status, or that it hangs
sub run {
    my ($errors, @command) = @_;
    pipe(my $out, my $in) or die $!;
    my $pid = fork // die $!;
    if ($pid == 0) {
        chdir $directory or die $!;
        $SIG{$_} = 'DEFAULT' for qw(PIPE QUIT TTOU);
        open STDOUT, '>&', $in or die $!;
        open STDERR, '>&', $errors->[0] or die $!;
        exec @command or POSIX::_exit(127);
    }
    close $in;
    my $outcome = 'hangs';
    Heapsh::await(sub { waitpid($pid, POSIX::WNOHANG()) == $pid and $outcome = $?, 1 });
    if ($outcome eq 'hangs') {
        kill KILL => $pid;
        waitpid $pid, 0;
    }
    local $/;
    return ($outcome, scalar <$out>);
}

sub gone_pipe { pipe(my $out, my $in) or die $!; return [$in] }

sub gone_socket {
    socketpair(my $here, my $there, AF_UNIX, SOCK_STREAM, PF_UNSPEC) or die $!;
    return [$here];
}

# Its other end stays open, and unread.
sub full_pipe {
    pipe(my $out, my $in) or die $!;
    fcntl $in, F_SETFL, O_NONBLOCK;
    1 while syswrite $in, 'x' x 4096;
    fcntl $in, F_SETFL, 0;
    return [$in, $out];
}

# A job in the background of a terminal that stops such jobs when they write.
# @return as run()
sub run_in_background {
    my (@command) = @_;
    my $leader = <<'END';
        system 'stty', 'tostop';
        my $pid = fork // die $!;
        if ($pid == 0) {
            setpgid(0, 0);
            open STDOUT, '>', 'output' or die $!;
            exec @ARGV;
        }
        waitpid $pid, WUNTRACED;
        my $status = $?;    # of one that is stopped, too
        kill KILL => $pid;
        open my $out, '>', 'status' or die $!;
        print $out $status;
END
    my $terminal = abs_path("$build/t/helper/terminal");
    my $pid = fork // die $!;
    if ($pid == 0) {
        chdir $directory or die $!;
        $SIG{$_} = 'DEFAULT' for qw(PIPE QUIT TTOU);
        open STDOUT, '>', '/dev/null' or die $!;
        exec $terminal, $^X, '-MPOSIX', '-e', $leader, @command or POSIX::_exit(127);
    }
    waitpid $pid, 0;
    return map { Heapsh::content("$directory/$_") } 'status', 'output';
}

my $handler = q{$SIG{QUIT} = sub { 1 }; $| = 1; print "went on\n"};
my %errors = (
    'a pipe whose reader has gone' => \&gone_pipe,
    'a socket whose reader has gone' => \&gone_socket,
    'a pipe that is full' => \&full_pipe,
);
my %run = map { my $errors = $errors{$_}; $_ => sub { run($errors->(), @_) } } keys %errors;
$run{'a terminal that stops who writes'} = \&run_in_background;
for my $what (sort keys %run) {
    for my $option ('', '--every 1h', '--at-exit --verbose') {
        my @command = ("$build/heapsnap", 'run', split(' ', $option), '--', $^X, '-e', $handler);
        is join(' ', $run{$what}->(@command)), "0 went on\n", "$what, $option: the program goes on";
    }
    local $ENV{HEAPSNAP_EVERY} = 'soon';
    is join(' ', $run{$what}->("$build/heapsnap", 'run', '--', 'echo', 'went on')), "0 went on\n", "$what: at its start, too";
}

# Who reads late has the line.
pipe(my $out, my $in) or die $!;
is join(' ', run([$in], "$build/heapsnap", 'run', '--', $^X, '-e', $handler)), "0 went on\n", 'a pipe with a reader';
close $in;
like do { local $/; <$out> }, qr/\Aheapsnap: the program has installed a handler of its own for SIGQUIT; .*\n\z/, '... which gets the line';
done_testing;
