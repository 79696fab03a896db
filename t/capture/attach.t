#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach: what a snapshot of a process says that nobody has prepared; and the process goes on as
# if nothing had been.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use Heapsh;
use POSIX qw(WNOHANG);
use Test::More;
use Time::HiRes qw(sleep);

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my ($output, $number);

# Runs heapsnap attach. @return the snapshot's path, or undef
sub attach { return attach_by([], @_) }

# @param $by  what runs it
sub attach_by {
    my ($by, $program, @options) = @_;
    $number++;
    my $file = "$program->{directory}/$number.snap";
    my $pid = ref $program->{pid} ? ${ $program->{pid} } : $program->{pid};
    $output = `@$by $build/heapsnap attach --file $file @options $pid 2>&1`;
    return $? == 0 && -e $file ? $file : undef;
}

sub start { return Heapsh->start($_[0], bare => 1, @_[1 .. $#_]) }

sub is_whole { my ($text, $status) = $_[0]->finish; is $text, $_[1], $_[2]; is $status, 0, "$_[2]: exit status" }

# --- what the snapshot says of itself -----------------------------------------

{
    my $program = start('live-blocks', args => ['live', 2, 100]);
    my $file = attach($program, '--content', 'all');
    my $info = Heapsh::ask_json($file, 'info');
    is $info->{origin}, 'attached', 'info: the origin';
    is $info->{allocators}, 'glibc', 'info: the allocator';
    like scalar Heapsh::ask($file, 'info'), qr/^taken +by heapsnap attach; blocks are those of glibc\n +Not known: where and when/m,
        'info: as text';
    is attach_by([qw(sh -c 'ulimit -f 4; exec "$@"' sh)], $program), undef, 'a limit of the size of files: no snapshot';
    like $output, qr/^heapsnap: a description of the process: File too large\n\z/, '... and it says so';
    my ($block) = sort keys %{ Heapsh::blocks_of($file) };
    like scalar Heapsh::ask($file, "show $block"), qr/^  where and when it was allocated is not known; /m,
        'show: where and when is not known';
    like scalar Heapsh::ask($file, 'sites'), qr/^Nobody had prepared the process: where/m, 'sites: says so';
    is_whole($program, '', 'info');
}

sub threads_of { return Heapsh::ask($_[0], 'info') =~ /^threads +(\d+)/m ? $1 : '' }

# --- the process goes on -------------------------------------------------------

{
    my $program = start('blocking-calls');
    ok attach($program, '--types', 'none'), 'calls: attached' or diag $output;
    my ($text, $status) = $program->finish;
    my @lines = split /\n/, $text;
    is shift @lines, '0 descriptors, 0 blocked signals, 0 signals of children', 'calls: nothing is left over';
    is pop @lines, 'no children', 'calls: no child';
    is $_, s/ .* |ok$//r, $_ for grep { !/ ok$/ } @lines;
    is scalar(grep { / ok$/ } @lines), scalar @lines, 'calls: each returns what it would have, and when' or diag $text;
    is $status, 0, 'calls: exit status';
}

# A process whose only thread sleeps in a call.
sub sleeps {
    my ($pid) = @_;
    my ($last, $looks) = ('', 0);
    for (my $until = time + $Heapsh::patience; time < $until; sleep 0.02) {
        my $status = Heapsh::content("/proc/$pid/status");
        my ($switches) = $status =~ /^State:\s+S.*^voluntary_ctxt_switches:\s+(\d+)/ms;
        $looks = defined $switches && $switches eq $last ? $looks + 1 : 0;
        $last = $switches // '';
        return 1 if $looks == 5;
        return 0 if $status !~ /^State:\s+[RSDT]/m;    # it has ended
    }
    return 0;
}

for my $call (qw(open write lock ring)) {
    my $place = Heapsh::tempdir(CLEANUP => 1) . '/fifo';
    POSIX::mkfifo($place, 0600) or die "$place: $!";
    my $program = start('lone-call', args => [$call, $place]);
    SKIP: {
        skip "$call: not here", 3 unless sleeps($program->pid);
        ok attach($program, '--types', 'none'), "the only thread in $call: attached" or diag $output;
        if ($call eq 'open') {
            open my $other, '>', $place or die "$place: $!";
            print $other 'x';
        }
        my ($text, $status) = $program->finish;
        is $status, 0, "$call: the call does what it would have done";
        is length $text, $call eq 'write' ? 64 * 4096 : 0, "$call: all is written";
    }
}

{
    my $program = start('steady', args => [20]);
    for (1 .. 5) {
        my $file = attach($program, '--types', 'none');
        ok $file, "steady: attached, $_" or diag $output;
        is threads_of($file), 29, 'steady: its threads' if $file;
    }
    is_whole($program, "steady\n", 'steady');
}

# Whoever traces may be killed at any moment.
{
    my $program = start('steady', args => [ 3, 'alone' ]);
    my $kills = $ENV{KILLS} || 60;
    my $alive = 1;
    for my $i (1 .. $kills) {
        my $tracer = fork // die "fork: $!";
        if (!$tracer) {
            open STDOUT, '>', '/dev/null';
            open STDERR, '>', '/dev/null';
            exec "$build/heapsnap", 'attach', '--types', 'none', '--file', "$program->{directory}/killed-%N.snap", $program->pid;
        }
        sleep $i / $kills * 0.06;
        kill 'KILL', $tracer;
        waitpid $tracer, 0;
        $alive &&= waitpid($program->pid, WNOHANG) == 0;
    }
    ok $alive, 'the tracer is killed: the process lives';
    is_whole($program, "steady\n", 'the tracer is killed');
}

{
    my $program = start('steady', args => [ 1000, 'alone' ]);
    my $file = attach($program, '--types', 'none');
    ok $file, '1000 threads: attached' or diag $output;
    is threads_of($file), 1001, '1000 threads: all are there' if $file;
    is_whole($program, "steady\n", '1000 threads');
}

# --- names ------------------------------------------------------------------------

{
    my $program = start('steady', args => [ 3, 'alone' ]);
    for my $name ('steady-00.snap', 'steady-01.snap') {
        $output = `cd $program->{directory} && $build/heapsnap attach --types none @{[$program->pid]} 2>&1`;
        is $output, "$program->{directory}/$name\n", "numbered as by capture: $name";
    }
    is_whole($program, "steady\n", 'numbers');
}

# --- a standard output that takes nothing ------------------------------------------

SKIP: {
    skip 'no /dev/full', 4 unless -c '/dev/full';
    my $program = start('rounds');
    my $prepared = Heapsh->start('rounds');
    for (["attach --types none --file $program->{directory}/full.snap", $program, 'full.snap'], ['capture', $prepared, 'rounds-00.snap']) {
        my ($command, $process, $name) = @$_;
        is `$build/heapsnap $command $process->{pid} 2>&1 >/dev/full`,
            "heapsnap: cannot write to standard output: No space left on device; the snapshot is $process->{directory}/$name\n",
            "$command, to a full disk: which snapshot there is";
        is $?, 1 << 8, '... exit status';
    }
    kill 'KILL', $_->pid for $program, $prepared;
}

# --- in a sandbox of heapsnap's own ------------------------------------------------

# Where no signal can be blocked, none tells of a child that has ended.
{
    my $program = start('steady', args => [ 3, 'alone' ]);
    my $by = [ 'timeout', $Heapsh::patience, "$build/t/helper/without_call", 'rt_sigprocmask' ];
    ok attach_by($by, $program, '--types', 'none'), 'signals cannot be blocked: attached' or diag $output;
    is_whole($program, "steady\n", 'signals cannot be blocked');
}

# --- stopped, filtered, contained ------------------------------------------------

sub state_of { my ($pid) = @_; open my $in, '<', "/proc/$pid/status" or return ''; return join('', <$in>) =~ /^State:\s+(\S)/m ? $1 : '' }

{
    my $program = start('steady', args => [ 3, 'alone' ]);
    kill 'STOP', $program->pid;
    sleep 0.02 until state_of($program->pid) eq 'T';
    ok attach($program, '--types', 'none'), 'stopped: attached' or diag $output;
    is state_of($program->pid), 'T', 'stopped: it stays so';
    kill 'CONT', $program->pid;
    is_whole($program, "steady\n", 'stopped');
}

SKIP: {
    skip 'no namespaces here', 3 if $> != 0 || system('unshare --pid --fork --mount-proc true 2>/dev/null') != 0;
    # The first process of a namespace takes in orphans: the copy must not become one of its own.
    my $program = start('/usr/bin/unshare', args => [ '--pid', '--fork', '--mount-proc', "$build/t/programs/steady" ]);
    open my $children, '<', "/proc/$program->{pid}/task/$program->{pid}/children" or die $!;
    my ($first) = <$children> =~ /(\d+)/;
    ok attach({ %$program, pid => $first }, '--types', 'none'), 'first of its namespace: attached' or diag $output;
    is_whole($program, "steady\n", 'first of its namespace');
}

# --- refusals ---------------------------------------------------------------------

sub is_refused {
    my ($pid, $why, $name) = @_;
    $output = `$build/heapsnap attach --file $build/t/never.snap $pid 2>&1`;
    is $? >> 8, 1, "$name: refused";
    like $output, qr/^heapsnap: $pid.*$why.*\n\z/, "$name: why";
}

{
    my $zombie = fork // die "fork: $!";
    POSIX::_exit(0) unless $zombie;
    sleep 0.02 until state_of($zombie) eq 'Z';
    is_refused($zombie, 'has ended', 'a zombie');
    waitpid $zombie, 0;
    is_refused($zombie, 'no such process', 'no process');
}

SKIP: {
    skip 'no threads of the kernel here', 2 if ! -e '/proc/2/status' || -s '/proc/2/maps' || `cat /proc/2/status` =~ /^VmSize/m;
    is_refused(2, 'thread of the kernel', 'a thread of the kernel');
}

{
    # ptrace(PTRACE_SEIZE)
    my $program = start('steady', args => [ 0, 'alone' ]);
    my $ptrace = `uname -m` eq "x86_64\n" ? 101 : 117;
    is syscall($ptrace, 0x4206, $program->pid + 0, 0, 0), 0, 'traced: by this test';
    is_refused($program->pid, "is being traced by $$", 'traced');
    is_whole($program, "steady\n", 'traced') if 0; # a tracer that waits for nothing hangs it
    kill 'KILL', $program->pid;
}

SKIP: {
    skip 'not root', 2 if $> != 0 || system('setpriv --reuid=65534 true 2>/dev/null') != 0;
    my $program = start('steady', args => [ 0, 'alone' ]);
    my $pid = $program->pid;
    # From a place that nobody may enter.
    system("mkdir -p /tmp/heapsnap-$$ && cp $build/heapsnap $build/heapsnap-writer /tmp/heapsnap-$$ && chmod 755 /tmp/heapsnap-$$");
    $output = `setpriv --reuid=65534 --clear-groups /tmp/heapsnap-$$/heapsnap attach $pid 2>&1`;
    like $output, qr/^heapsnap: $pid \(steady\) may not be examined: it is another user's, root's, and you are nobody; root may$/, "another user's: why";
    system("rm -r /tmp/heapsnap-$$");
    is_whole($program, "steady\n", "another user's");
}

# Among hundreds of threads that run, attach would wait for a processor while those are stopped: it is real-time
# before it touches the first one, and no longer once there is a copy.
SKIP: {
    skip 'no strace, or none of a sanitizer', 3 if $ENV{SANITIZE} || system('strace -o /dev/null true 2>/dev/null') != 0;
    skip 'no real-time scheduling here', 3 if system('chrt -f 10 true 2>/dev/null') != 0;
    my $program = Heapsh->start('kinds', bare => 1);
    my ($file, $log) = map { "$program->{directory}/$_" } qw(urgent.snap log);
    is system("strace -e trace=ptrace,sched_setscheduler -o $log $build/heapsnap attach --types none --file $file $program->{pid} >/dev/null"), 0,
        'real-time: taken';
    # Not all versions of strace know the flag that children inherit nothing.
    open my $in, '<', $log or die $!;
    my $calls = join '', map { /^sched_setscheduler.*(FIFO|0x40000001)/ ? 'raised ' : /^sched_setscheduler/ ? 'restored ' : /(SEIZE)/ ? "$1 " : () } <$in>;
    like $calls, qr/^raised SEIZE /, 'real-time: before a thread is stopped';
    like $calls, qr/SEIZE restored $/, 'real-time: not for longer';
    $program->finish;
}

# Each call that the victim is made to do takes long: then the other threads are stopped before the
# holder is made. strace(1) delays the waiting for the victim.
SKIP: {
    my @strace = ('strace', '-e', 'inject=wait4:delay_exit=60000');
    skip 'no strace that delays calls, or none of a sanitizer', 5
        if $ENV{SANITIZE} || system("@strace -e trace=wait4 -o /dev/null true 2>/dev/null") != 0;
    my $program = start('steady', args => [ 3, 'alone' ]);
    my ($file, $log) = map { "$program->{directory}/slow.$_" } qw(snap log);
    is system("@strace -e trace=ptrace,wait4 -o $log $build/heapsnap attach --types none --file $file $program->{pid} >/dev/null"), 0,
        'slow calls: attached';
    open my $in, '<', $log or die $!;
    my $calls = join '', map { /(SEIZE|EXITKILL)/ ? "$1 " : () } <$in>;
    like $calls, qr{^SEIZE (EXITKILL )?(SEIZE ){3}(EXITKILL )?EXITKILL $}, 'slow calls: all threads are stopped before the holder is made';
    is threads_of($file), 4, 'slow calls: its threads';
    is_whole($program, "steady\n", 'slow calls');
}

# --- prepared processes ------------------------------------------------------------

# Headers win: the blocks, sites and types are those of a snapshot that the library takes.
{
    my $program = Heapsh->start('rounds');
    my $attached = attach($program);
    ok $attached, 'prepared: attached' or diag $output;
    my $captured = $program->capture;
    is_deeply Heapsh::blocks_of($attached), Heapsh::blocks_of($captured), 'prepared: the same blocks';
    is scalar Heapsh::ask($attached, $_), scalar Heapsh::ask($captured, $_), "prepared: the same $_" for qw(sites types roots);
    my $info = Heapsh::ask_json($attached, 'info');
    is "$info->{origin} $info->{prepared}", 'attached 1', 'prepared: info';
    like scalar Heapsh::ask($attached, 'info'), qr/^taken +by heapsnap attach; it ran under heapsnap, so nothing is missing$/m,
        'prepared: info as text';
    like scalar `$build/heapsh-diff $attached $captured`, qr/^Total: 0 objects, 0 B: from 270 objects/m, 'prepared: of one process, and with births';
    kill 'KILL', $program->pid;
}

{
    my $program = Heapsh->start('steady', args => [ 3, 'alone' ], run => [qw(--every 1h)]);
    my $file = attach($program, '--types', 'none');
    ok $file, 'prepared, with a timer: attached' or diag $output;
    is threads_of($file), 4, 'prepared, with a timer: the thread that keeps time is none of its own' if $file;
    is_whole($program, "steady\n", 'prepared, with a timer');
}

# --- sparse memory --------------------------------------------------------------------

# As this kernel has it, and as before Linux 6.7, which cannot list touched pages.
SKIP: {
    my @old = ("$build/t/helper/without_call", "PAGEMAP_SCAN");
    my $attached = eval { start('sparse-mapping') } or skip 'there is no address space of 32 TiB', 16;
    my @files = (attach($attached, '--types', 'none'), attach_by(\@old, $attached, '--types', 'none'));
    my $blocks = Heapsh::blocks_of($files[0]);
    is_deeply Heapsh::blocks_of($files[1]), $blocks, 'a vast mapping: the same blocks on old kernels';
    push @files, map { Heapsh->start('sparse-mapping', by => $_)->capture } [], \@old;
    for my $file (@files) {
        ok $file, 'a mapping of 32 TiB with a few pages in use' or diag $output;
        my ($held) = @{ Heapsh::ask_json($file, 'find', 'size=104')->{objects} };
        like scalar(Heapsh::ask($file, 'identify', $held->{address})), qr/\+0x155555555008 of the mapping at 0x/,
            'the block that one page leads to';
        is Heapsh::ask_json($file, qw(find --count size=200))->{count}, 8, 'the blocks that the others lead to';
        is Heapsh::ask_json($file, qw(find --count leaked))->{count}, 0, 'none is lost';
    }
}

# --- which processes there are --------------------------------------------------------

{
    my $program = start('steady', args => [ 3, 'alone' ]);
    my $prepared = Heapsh->start('steady', args => [ 3, 'alone' ]);
    my @rows = `$build/heapsnap list --all`;
    is $rows[0], "    PID USER         MEMORY MALLOC            PROGRAM\n", 'list --all: the heading';
    my %row = map { /^ *(\d+) (.*)/ ? ($1 => $2) : () } @rows;
    like $row{ $program->pid }, qr/^\S+ +[\d.]+ [KM]iB glibc +steady$/, 'list --all: a process';
    like $row{ $prepared->pid }, qr/^\S+ +[\d.]+ [KM]iB glibc +prepared steady$/, 'list --all: a prepared one';
    is $row{2}, undef, 'list --all: no thread of the kernel' if `cat /proc/2/status 2>/dev/null` !~ /^VmSize/m;
    is_whole($program, "steady\n", 'list --all');
    is_whole($prepared, "steady\n", 'list --all');
}

{
    my $program = start('steady', args => [ 3, 'alone' ]);
    my $pid = $program->pid;
    is `$build/heapsnap attach $pid --types none --file $program->{directory}/behind.snap 2>&1`,
        "$program->{directory}/behind.snap\n", 'options behind the pid';
    is_whole($program, "steady\n", 'options behind the pid');
}
like `$build/heapsnap $_ --help`, qr/^Usage: heapsnap run /, "$_ --help" for qw(run capture attach watch core list);
like `$build/heapsnap attach 1 2 2>&1`, qr/attach: one process at a time, not 2, too/, 'two pids';

like `$build/heapsnap attach 2>&1`, qr/^heapsnap: attach: which process\? See heapsnap --help$/, 'no pid';
like `$build/heapsnap attach x 2>&1`, qr/^heapsnap: attach: x is no pid; see heapsnap --help$/, 'not a pid';
like `$build/heapsnap attach --types some 1 2>&1`, qr/attach: --types some: neither all nor none/, 'a wrong value';

done_testing;
