#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs that handle, ignore, reset or wait for the signal themselves: they behave as without the
# library, and it knows whether the signal still takes snapshots.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/handlers";
my $library = "$build/libheapsnap.so";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
delete $ENV{HEAPSNAP_RUN};

# @return what it printed, its wait status, what was said on standard error
sub run {
    my ($environment, $shell, @words) = @_;
    my $output = `cd $directory && ulimit -c 0 && $shell exec env $environment @words 2>.stderr`;
    my $status = $?;
    open my $errors, '<', "$directory/.stderr" or die $!;
    return ($output, $status, join '', <$errors>);
}

# A way of the program's. @param states  as the library sees them, one after the other
sub behaves {
    my ($way, $states, $said_wanted, $shell) = @_;
    $shell //= '';
    subtest $shell ? "$way, after $shell" : $way => sub {
        my ($bare, $bare_status) = run('', $shell, $program, $way);
        my ($output, $status, $said) = run("LD_PRELOAD=$library", $shell, $program, $way);
        is join(' ', $output =~ /^state: (.*)\n/mg), $states, 'the library knows whose the signal is';
        is $output =~ s/^state: .*\n//mgr, $bare, 'the program finds what it would find alone';
        is $status, $bare_status, 'and ends as it would';
        is $said, $said_wanted, $said_wanted ? 'one line says so' : 'nothing is said';
        is_deeply [glob "$directory/*.snap"], [], 'and no snapshot is taken';
    };
    return;
}

my $elsewhere = "for SIGQUIT; for snapshots by signal start it with --signal and another one\n";
my $own = "heapsnap: the program has installed a handler of its own $elsewhere";
my $waits = "heapsnap: the program waits itself $elsewhere";
my $ignored = "trap '' QUIT;";

behaves('functions', join(' ', ('replaced ignored ours') x 6), $own);
behaves('functions', join(' ', ('replaced ignored ignored') x 6), $own, $ignored);
behaves('sigaction', 'replaced ours replaced ours', $own);
behaves('sigaction', 'replaced ignored replaced ignored', $own, $ignored);
behaves('unless-ignored', 'replaced', $own);
behaves('unless-ignored', 'ignored', '', $ignored);
behaves('if-default', 'replaced', $own);
behaves('if-default', 'ours', '', $ignored);
behaves('sigignore', 'ignored', '');
behaves('hold', 'ours', '');
behaves('one-shot', '', $own);
behaves('wrong', 'ours', '');
behaves('reset-all', 'ours', '');
behaves('reset-all', 'ours', '', $ignored);
behaves('die', '', '');
behaves('die', '', '', $ignored);
behaves('die-in-handler', '', $own);
behaves('die-of-thread', '', '');
behaves('die-of-queue', '', '');
behaves('die-of-timer', '', '');
behaves('fork', 'replaced ours replaced', $own);
behaves('vfork', 'ours ours', '');
behaves('wait', 'ours waited', $waits);
behaves('signalfd', 'waited', $waits);
behaves('raw', 'ignored', '');
behaves('other', 'ours', '');

# Also where handlers of ours are on more signals than one.
$ENV{HEAPSNAP_AT_EXIT} = 'signals';
$ENV{HEAPSNAP_TRACE_SIGNAL} = '60';
$ENV{HEAPSNAP_TRACE} = '/dev/null';
behaves('other', 'ours', '');
delete @ENV{qw(HEAPSNAP_AT_EXIT HEAPSNAP_TRACE_SIGNAL HEAPSNAP_TRACE)};

# The line is for whoever has called heapsnap run; others may read a child's standard error.
my ($output, $status, $said) = run("HEAPSNAP_RUN=1 LD_PRELOAD=$library", '', $program, 'unless-ignored');
is $said, '', 'a program that another has started says nothing';
($output, $status, $said) = run("LD_PRELOAD=$library", 'HEAPSNAP_RUN=$$', $program, 'unless-ignored');
is $said, $own, 'one that heapsnap run has started does';

# --- in other languages -----------------------------------------------------------

my @languages = (
    ['perl', 'perl', '-e', q{'$SIG{QUIT} = sub { print "own\n" }; kill QUIT => $$; select undef, undef, undef, 0.01;
        $SIG{QUIT} = "DEFAULT"; kill QUIT => $$; sleep 1; print "lives\n"'}],
    ['python', 'python3', '-c', q{'import signal, os
print(signal.getsignal(signal.SIGQUIT) == signal.SIG_DFL)
signal.signal(signal.SIGQUIT, lambda *a: print("own", flush=True)); os.kill(os.getpid(), signal.SIGQUIT)
signal.signal(signal.SIGQUIT, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGQUIT); print("lives")'}],
    ['sh', 'sh', '-c', q{'trap "echo own" QUIT; kill -QUIT $$; trap - QUIT; kill -QUIT $$; echo lives'}],
    ['bash', 'bash', '-c', q{'trap "echo own" QUIT; kill -QUIT $$; trap - QUIT; kill -QUIT $$; echo lives'}],
);
for (@languages) {
    my ($name, @words) = @$_;
    SKIP: {
        skip "no $name", 1 unless has($words[0]);
        my ($bare, $bare_status) = run('', '', @words);
        ($output, $status) = run("LD_PRELOAD=$library", '', @words);
        is "$status $output", "$bare_status $bare", "$name: handles the signal as without the library";
    }
}

open my $source, '>', "$directory/signals.cc" or die $!;
print $source <<'END';
#include <csignal>
#include <cstdio>
static void own(int) {}
int main()
{
    std::printf("%d\n", std::signal(SIGQUIT, own) == SIG_DFL);
    std::printf("%d\n", std::signal(SIGQUIT, SIG_DFL) == own);
}
END
close $source;
is system("c++ -o $directory/signals $directory/signals.cc"), 0, 'a C++ program';
($output) = run("LD_PRELOAD=$library", '', "$directory/signals");
is $output, "1\n1\n", 'finds by std::signal what it would find alone';

# --- Go's runtime, whose handlers nobody sees being installed ---------------------------

for my $case (['QUIT', 7], ['USR2', 7], ['CONT', 1]) {
    my ($signal, $state) = @$case;
    my $file = "$directory/go.out";
    my $pid = fork // die $!;
    if ($pid == 0) {
        open STDOUT, '>', $file or die $!;
        @ENV{qw(LD_PRELOAD HEAPSNAP_SIGNAL)} = ($library, $signal);
        exec "$build/t/programs/go-like";
    }
    for (1 .. 1200) { last if -s $file; select undef, undef, undef, 0.05 }
    my $announced = `cat $file`;
    is $announced, "$state\n", $state == 1 ? "SIG$signal, which it leaves alone, is ours" : "SIG$signal is not relied on";
    if ($state != 1) {
        like `$build/heapsnap capture $pid 2>&1`, qr/\Aheapsnap: $pid .*has Go's runtime, which handles SIG$signal, which is not sent.*\n\z/, 'and is not sent: one line says why';
        ok kill(0, $pid), 'the program lives';
    }
    kill KILL => $pid;
    waitpid $pid, 0;
    unlink $file;
}

# --- programs that restrict their system calls ----------------------------------------

for my $way (qw(prctl syscall)) {
    ($output, $status) = run("LD_PRELOAD=$library", '', "$build/t/programs/sandboxed", $way);
    is "$status $output", "0 ready\nwent on\n", "a sandbox by $way(): malloc makes no system call of its own";
}

# A file that t/programs/sandboxed.c counts its rounds in, and ends by. @return its path
sub control {
    my ($over) = @_;
    open my $out, '>', "$directory/control" or die $!;
    print $out pack 'ii', 0, $over;
    close $out or die $!;
    return "$directory/control";
}

# Waits until the program has gone on for a while, then has it end.
sub end_later {
    my ($path) = @_;
    open my $file, '+<:raw', $path or die $!;
    my $rounds = sub {
        sysseek $file, 0, 0;
        sysread $file, my $bytes, 4;
        return unpack 'i', $bytes;
    };
    my $until = $rounds->() + 3;
    for (1 .. 6000) { last if $rounds->() >= $until; select undef, undef, undef, 0.01 }
    sysseek $file, 4, 0;
    syswrite $file, pack('i', 1);
    close $file;
}

# The library knows before a filter is installed that a snapshot would end the program.
sub sandbox {
    my ($way, $what) = @_;
    my $control = control(0);
    my $pid = open(my $out, '-|') // die $!;
    if ($pid == 0) {
        chdir $directory;
        $ENV{LD_PRELOAD} = $library;
        open STDERR, '>', "$directory/.stderr" or die $!;
        exec "$build/t/programs/sandboxed", $way, $what, $control;
    }
    <$out>;
    my $answer = `$build/heapsnap capture $pid 2>&1`;
    kill QUIT => $pid if $what eq 'malloc';
    end_later($control);
    my $rest = join '', <$out>;
    close $out;
    return ($answer, "$? $rest", do { local (@ARGV, $/) = "$directory/.stderr"; <> // '' }, $pid);
}
for my $way (qw(prctl syscall)) {
    my ($answer, $end, undef, $pid) = sandbox($way, 'malloc');
    is $answer, "heapsnap: $pid (sandboxed) restricts its system calls, and its filter would end it for a snapshot\n",
        "a filter by $way() that would end the program: one line says why there is no snapshot";
    is $end, "0 went on\n", '... and the program goes on, even if the signal is sent';
    is_deeply [glob "$directory/sandboxed*.snap"], [], '... without a snapshot';
}
my ($output_of_fork) = run("LD_PRELOAD=$library", '', "$build/t/programs/sandboxed", 'prctl', 'fork', control(1));
is $output_of_fork, "ready\nwent on\n", 'a child of such a program lives, too';
my ($answer, $end, $late) = sandbox('prctl', 'ptrace');
like $answer, qr{/sandboxed-00\.snap\n\z}, 'a filter that lets snapshots be taken: there is one';
is $end, "0 went on\n", '... and the program goes on';
(undef, $end, $late) = sandbox('prctl', 'errors');
is $late, "heapsnap: no snapshot: operation not permitted; the program goes on\n", 'a filter that gives errors: one line says why';
is $end, "0 went on\n", '... and the program goes on';
done_testing;
