#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A snapshot before memory ends: heapsnap run --before-oom and heapsnap watch, of programs that grow in
# a control group until the kernel kills them.
use strict;
use warnings;
use lib 't/lib';
use Cgroup;
use Cwd qw(abs_path);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
# A program waits 30 s for its snapshot: on an emulated processor that must be a small one. The library and
# the writer need as much there as elsewhere, which is a larger share of the memory.
my ($mib, $used, $most) = $Heapsh::patience > 60 ? (64, qr/[3-5]\d/, 0.4) : (256, qr/1\d\d/, 0.5);
my $limit = $mib << 20;
my ($watcher, $watched);    # pid and exit status of heapsnap watch

# Starts a program in a group of its own. @return the program and its group
sub start {
    my ($run, @arguments) = @_;
    my $group = Cgroup->create($limit) or return;
    my @words = ($group->enter, @$run, "$build/t/programs/grow", @arguments);
    return (Heapsh->start($words[0] =~ m{/} ? $words[0] : '/bin/sh', bare => 1, args => [ @words[1 .. $#words] ]), $group);
}

# Lets it grow until it is killed. @return its wait status
sub grow {
    my ($program) = @_;
    return ($program->finish)[1];
}

sub is_good {
    my ($file, $name) = @_;
    my $info = Heapsh::ask_json($file, 'info');
    cmp_ok $info->{bytes}, '>', $most * $limit, "$name: when most of the memory was used";
    cmp_ok $info->{bytes}, '<', $limit, "$name: and not all";
    like scalar Heapsh::ask($file, 'types'), qr/struct piece/, "$name: it has types" if $_[2];
}

SKIP: {
    my ($program, $group) = start([ "$build/heapsnap", 'run', '--before-oom', '--' ], 4000, 1, 200);
    skip 'no group for memory: ' . Cgroup::reason(), 1 unless $program;
    is grow($program), 9, 'run: it is killed for its memory';
    my @files = $program->snapshots;
    is scalar(@files), 1, 'run: it has left one snapshot' or diag $program->errors;
    is $program->errors, '', 'run: silently';
    is_good($files[0], 'run') if @files;
    undef $program;

    ($program, $group) = start([ "$build/heapsnap", 'run', '--before-oom=50%', '--' ], 4000, 4);
    is grow($program), 9, 'run, 4 threads: it is killed for its memory';
    @files = $program->snapshots;
    is scalar(@files), 1, 'run, 4 threads: it has left one snapshot' or diag $program->errors;
    cmp_ok Heapsh::ask_json($files[0], 'info')->{bytes}, '>', 0.3 * $limit, 'run, 4 threads: at the share that was asked for'
        if @files;
    undef $program;

    # Several processes in one group: they wait for the first one's snapshot.
    undef $program;
    $group = Cgroup->create($limit) or die Cgroup::reason();
    my @words = ($group->enter, "$build/heapsnap", 'run', '--before-oom', '--file', '%e-%p-%N.snap', '--', '/bin/sh', '-c',
        "for i in 1 2 3 4; do $build/t/programs/grow 4000 1 5000 </dev/null >/dev/null & done; echo ready; wait");
    $program = Heapsh->start('/bin/sh', bare => 1, args => [ @words[1 .. $#words] ]);
    $program->finish;
    cmp_ok scalar(my @grown = glob "$program->{directory}/grow-*.snap"), '>=', 1, 'four processes: one has left a snapshot'
        or diag $program->errors;
    undef $program;

    # It comes near the end, and lives.
    ($program, $group) = start([ "$build/heapsnap", 'run', '--before-oom', '--' ], int(0.8 * $mib + 0.5), 1, 100);
    my ($text, $status) = do { print { $program->{in} } "\n"; ($program->line, 0) };
    is $text, 'grown', 'near: it goes on';
    sleep 1;
    is scalar(@files = $program->snapshots), 1, 'near: it has left one snapshot, and no more';
    is(($program->finish)[1], 0, 'near: exit status');

    ($program, $group) = start([ "$build/heapsnap", 'run', '--before-oom', '--' ], $mib / 8);
    is(grow($program), 0, 'far: it ends by itself');
    is scalar(@files = $program->snapshots), 0, 'far: no snapshot';
}

SKIP: {
    my ($program, $group) = start([], 4000, 1, 500);
    skip 'no group for memory: ' . Cgroup::reason(), 1 unless $program;
    skip 'processes may not be traced here', 1 unless attachable($program->pid);
    my $output = watch($program);
    is grow($program), 9, 'watch: it is killed for its memory';
    my ($file) = $output->() =~ m{^(/\S+\.snap)$}m;
    ok $file, 'watch: its snapshot' or diag $output->();
    like $output->(), qr/^heapsnap: \d+ \(grow\): $used of $mib MiB are used of \/sys\/fs\/cgroup\S+$/m, 'watch: why';
    is $watched, 0, 'watch: exit status';
    is_good($file, 'watch', 1) if $file;

    # Threads that allocate without pause wait for each other in page faults and mprotect(): they are
    # stopped as well, or else the program is killed while it is being copied.
    ($program, $group) = start([], 4000, 16);
    $output = watch($program);
    is grow($program), 9, 'watch, 16 threads: it is killed for its memory';
    ok $output->() =~ m{^(/\S+\.snap)$}m, 'watch, 16 threads: its snapshot' or diag $output->();
    is $watched, 0, 'watch, 16 threads: exit status';

    # Memory ends while all processors are busy: the watcher must have its turn then, and its writer need not.
    SKIP: {
        skip 'no real-time class here', 3 if system 'chrt --fifo 1 true 2>/dev/null';
        ($program, $group) = start([], int(0.8 * $mib + 0.5), 1, 100);
        $output = watch($program);
        is policy_soon($watcher, 1), 1, 'watch: the watcher is real-time';
        print { $program->{in} } "\n";
        is policy(child_of($watcher)), policy($$), 'watch: the writer is not';
        is policy($watcher), policy($$), 'watch: nor is the watcher once there is a copy';
        $output->();
        $program->finish;
    }

    ($program, $group) = start([], $mib / 16);
    $output = watch($program);
    is grow($program), 0, 'watch: it ends by itself';
    like $output->(), qr/^heapsnap: \d+ has ended, and its memory had not come near an end\n\z/, 'watch: says so';
    is $watched >> 8, 1, 'watch: exit status without a snapshot';
}

sub attachable { return `$build/heapsnap attach --types none --file /dev/null/x $_[0] 2>&1` !~ /may not be/ }

# Begins to watch. @return what waits for it, and gives what it has said
sub watch {
    my ($program) = @_;
    my $pid = $program->pid;
    $watcher = open my $in, '-|', "exec $build/heapsnap watch --file $program->{directory}/watched.snap $pid 2>&1" or die $!;
    # Between two looks at the memory it is in ppoll(): only then it will see what the program does.
    my $ppoll = `uname -m` eq "x86_64\n" ? 271 : 73;
    Heapsh::await(sub { Heapsh::content("/proc/$watcher/syscall") =~ /^$ppoll / });
    my $text;
    return sub {
        return $text if defined $text;
        local $/;
        $text = <$in>;
        close $in;
        $watched = $?;
        return $text;
    };
}

# Scheduling policy of a process, sched(7).
sub policy {
    my ($pid) = @_;
    return (split ' ', Heapsh::content("/proc/$pid/stat") =~ s/^.*\) //sr)[38];
}

# Waits until a process has a policy. @return the one that it has
sub policy_soon {
    my ($pid, $wanted) = @_;
    Heapsh::await(sub { policy($pid) == $wanted });
    return policy($pid);
}

# Waits for a process that runs another program than the watcher.
sub child_of {
    my ($pid) = @_;
    return Heapsh::await(sub {
        my ($child) = split ' ', Heapsh::content("/proc/$pid/task/$pid/children");
        return $child && (readlink "/proc/$child/exe" // '') =~ /heapsnap-writer$/ ? $child : 0;
    });
}

# --- misuse ---------------------------------------------------------------------------

like `$build/heapsnap watch 2>&1`, qr/watch: which process\?/, 'no pid';
like `$build/heapsnap watch --before-oom 100% 1 2>&1`, qr/watch: --before-oom 100%: not a share, like 90%/, 'a wrong share';
like `$build/heapsnap attach --before-oom 90% 1 2>&1`, qr/attach: unknown option --before-oom/, 'attach has none';
like `$build/heapsnap run --before-oom=0% true 2>&1`, qr/run: --before-oom=0%: not a share, like 90%/, 'run: a wrong share';
like `HEAPSNAP_BEFORE_OOM=much $build/heapsnap run true 2>&1`,
    qr/^heapsnap: HEAPSNAP_BEFORE_OOM: much: neither 0, nor 1, nor a share, like 90%; no snapshot before memory ends$/, 'a wrong variable';
done_testing;
