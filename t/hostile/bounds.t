#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Bounds on the cost of writing a snapshot: memory, time, processor. And on that of damaged symbols:
# types, never the snapshot.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Hostile;
use Test::More;
use Time::HiRes qw(sleep);

my $build = $Heapsh::build;
my $sanitized = $ENV{SANITIZE};

sub slurp {
    my ($path) = @_;
    open my $in, '<', $path or return '';
    local $/;
    return scalar(<$in>) // '';
}

# The process that does the writer's work, for a program that is marked; stopped when found.
sub stop_worker {
    my ($mark) = @_;
    return Heapsh::await(sub {
        for my $path (glob '/proc/[0-9]*/comm') {
            next unless slurp($path) eq "heapsnap-writer\n";
            my ($pid) = $path =~ /(\d+)/;
            my $frozen = (split /\0/, slurp("/proc/$pid/cmdline"))[1] // next;
            next unless slurp("/proc/$frozen/environ") =~ /HOSTILE_MARK=\Q$mark\E\0/;
            my ($worker) = split ' ', slurp("/proc/$pid/task/$pid/children");
            return $worker if $worker && kill 'STOP', $worker;
        }
        return;
    }) || die 'no writer';
}

# The program whose copy a worker reads: worker, supervisor, copy, program.
sub program_of {
    my ($worker) = @_;
    my $parent = sub { slurp("/proc/$_[0]/status") =~ /^PPid:\s+(\d+)/m ? $1 : die "$_[0]: no parent" };
    my $frozen = (split /\0/, slurp('/proc/' . $parent->($worker) . '/cmdline'))[1];
    return $parent->($frozen);
}

# Waits until a process has not run for a second, and not for want of a processor.
sub await_rest {
    my ($pid) = @_;
    my ($before, $same) = ('', 0);
    for (1 .. 10 * $Heapsh::patience) {
        my $now = slurp("/proc/$pid/schedstat");
        $same = $now eq $before && slurp("/proc/$pid/stat") !~ /\) R/ ? $same + 1 : 0;
        return if $same == 10;
        $before = $now;
        sleep 0.1;
    }
    return;
}

# Runs a function in a process beside.
sub beside {
    my ($function) = @_;
    my $pid = fork() // die;
    return $pid if $pid;
    $function->();
    require POSIX;
    POSIX::_exit(0);
}

sub note_of {
    my ($file, $name) = @_;
    my ($module) = grep { $_->{path} =~ m{/\Q$name\E$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
    return $module->{note};
}

sub capture {
    my ($program, %option) = @_;
    my ($output, $status, $said, $directory) =
        run_way("$build/libheapsnap.so", $program, $option{way} // '', %option);
    my @files = glob "$directory/*.snap";
    return ("$output$said", @files);
}

# Files that crash their reader are hard to come by: a signal from elsewhere stands for one.
subtest 'symbols that crash the writer, which is polite' => sub {
    my $log = tempdir(CLEANUP => 1) . '/log';
    my $child = beside(sub {
        my $worker = stop_worker('crash');
        my $stat = slurp("/proc/$worker/stat") =~ s/^.*\) //sr;
        open my $out, '>', $log;
        print $out 'nice ', (split ' ', $stat)[16], ', ', slurp("/proc/$worker/oom_score_adj");
        print $out `ionice -p $worker`;
        kill 'TRAP', $worker;    # which sanitizers leave alone
        kill 'CONT', $worker;
    });
    my ($said, $file) = capture('hostile-memory', way => 'many',
        env => { HOSTILE_MARK => 'crash', HEAPSNAP_WRITER_NICE => 1 });
    waitpid $child, 0;
    is $said, "done\n", 'the snapshot is written';
    is Heapsh::ask_json($file, 'find', 'size', '100')->{count}, 50_000, 'with all objects';
    my $notes = join ' ', map { $_->{note} } @{ Heapsh::ask_json($file, 'info')->{modules} };
    like $notes, qr/not read: heapsnap-writer crashed by it \(signal 5\)/, 'and says what it lacks';
    is slurp($log), "nice 19, 1000\nidle\n", 'by a writer that leaves all to others';
};

subtest 'a writer that is killed' => sub {
    my ($said, @files);
    # On a busy machine the writer may have finished when it is found: then once more.
    for (1 .. 4) {
        my $child = beside(sub { kill 'KILL', stop_worker('kill') });
        ($said, @files) = capture('hostile-memory', way => 'many', env => { HOSTILE_MARK => 'kill' });
        kill 'KILL', $child;
        waitpid $child, 0;
        last unless @files && $said eq "done\n";
    }
    like $said, qr{^heapsnap: \S+/hostile-memory-00.snap: heapsnap-writer was ended by signal 9; is memory short\?; the program goes on$}m,
        'is told of';
    is scalar @files, 0, 'and leaves nothing';
};

# LeakSanitizer has a process of its own, which would be stopped for good.
subtest 'a writer that hangs' => $sanitized ? sub { plan skip_all => 'sanitized' } : sub {
    my $child = beside(sub {
        stop_worker('hang') while 1;
    });
    my ($said, @files) = capture('hostile-memory', way => 'many',
        env => { HOSTILE_MARK => 'hang', HEAPSNAP_WRITER_TIME => '2s' });
    kill 'KILL', $child;
    waitpid $child, 0;
    # It is stopped while it reads symbols, then without them; or is done before the second time.
    if (@files) {
        my $notes = join ' ', map { $_->{note} } @{ Heapsh::ask_json($files[0], 'info')->{modules} };
        like $notes, qr/not read: that took more than 1\.0 s/, 'goes on without those symbols';
        is $said, "done\n", 'and nothing is said';
    } else {
        like $said, qr{^heapsnap: \S+/hostile-memory-00.snap: not written within 2\.0 s; the program goes on$}m,
            'is told of';
        like $said, qr/^done$/m, 'and the program goes on';
    }
};

SKIP: {
    skip 'a sanitizer takes all memory', 1 if $sanitized;
    subtest 'a ceiling for memory' => sub {
        my ($said, $file) = capture('hostile-memory', way => 'many', env => { HEAPSNAP_WRITER_MEMORY => '200M' });
        is $said, "done\n", 'a snapshot with symbols';
        is note_of($file, 'hostile-memory'), '', 'where they fit';
        # With the least memory that a snapshot takes there is none left for symbols.
        my ($too_little, $enough) = (5 << 10, 30 << 10);
        while ($enough - $too_little > 128) {
            my $middle = ($enough + $too_little) >> 1;
            my ($output, $written) = capture('hostile-memory', way => 'many', env => { HEAPSNAP_WRITER_MEMORY => "${middle}K" });
            $too_little = $middle, next unless $written;
            ($said, $file, $enough) = ($output, $written, $middle);
        }
        is $said, "done\n", 'a snapshot without symbols';
        like note_of($file, 'hostile-memory'), qr/^not read: heapsnap-writer may use [\d.]+ MiB$/, 'where they do not';
        is Heapsh::ask_json($file, 'find', 'size', '100')->{count}, 50_000, 'has all objects';
        ($said, $file) = capture('hostile-memory', way => 'many', env => { HEAPSNAP_WRITER_MEMORY => '5M' });
        like $said, qr{^heapsnap: \S+-00\.snap: out of memory: heapsnap-writer may use 5\.0 MiB; the program goes on$}m,
            'none, and a line, where nothing fits';
        is $file, undef, 'and no file';
    };
}

# As capture, of a program whose writer waits until the program has written everything, however busy the machine is.
sub capture_what_writes {
    my ($program, %option) = @_;
    my $mark = $option{way};
    my $child = beside(sub {
        my $worker = stop_worker($mark);
        await_rest(program_of($worker));
        kill 'CONT', $worker;
    });
    my @said_and_files = capture($program, %option, env => { HOSTILE_MARK => $mark, HEAPSNAP_WRITER_NICE => 1 });
    waitpid $child, 0;
    return @said_and_files;
}

subtest 'what it cost' => sub {
    my ($said, $file) = capture_what_writes('hostile-memory', way => 'copied');
    is $said, "done\n", 'a program that writes while it is captured';
    my $info = Heapsh::ask_json($file, 'info');
    cmp_ok $info->{copied_bytes}, '>=', 64 << 20, 'what was copied for it is counted';
    cmp_ok $info->{copied_bytes}, '<', 72 << 20, 'and little else';
    cmp_ok $info->{writer_bytes}, '>', 1 << 20, 'memory of the writer';
    cmp_ok $info->{writer_ns}, '>', 1e7, 'and its time';
    like scalar Heapsh::ask($file, 'info'), qr/^writing   [\d.]+ s, [\d.]+ MiB in heapsnap-writer, 6\d\.\d MiB copied by the program's writes$/m,
        'are told';
};

# A cgroup that the program all but fills. @return the command to enter it, the way to remove it
sub make_cgroup {
    my ($bytes) = @_;
    for my $try (['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'], ['/sys/fs/cgroup', 'memory.max']) {
        my ($root, $limit) = @$try;
        my $path = "$root/heapsh-test-$$";
        next unless -d $root && mkdir $path;
        if (-e "$path/$limit" && system("echo $bytes >$path/$limit") == 0) {
            return ("echo \$\$ >$path/cgroup.procs", sub { rmdir $path });
        }
        rmdir $path;
    }
    return;
}

SKIP: {
    skip 'a sanitizer takes all memory', 1 if $sanitized;
    my ($enter, $remove) = $> == 0 ? make_cgroup(80 << 20) : ();
    skip 'a cgroup takes root', 1 unless $enter;
    subtest 'a cgroup that the program all but fills' => sub {
        my ($said, @files) = capture('hostile-memory', way => 'full', before => $enter);
        like $said, qr{^heapsnap: .*: out of memory: heapsnap-writer may use [\d.]+ MiB; the program goes on$}m,
            'a line says why there is no snapshot';
        like $said, qr/^done$/m, 'the program ends as ever';
        is_deeply \@files, [], 'no file is left';
        ($said, @files) = capture_what_writes('hostile-memory', way => 'fuller', before => $enter);
        like $said, qr/^heapsnap: .*; the program goes on$/m, 'also where the copy grows';
        like $said, qr/^done$/m, 'the program ends as ever';
        sleep 0.2;
        $remove->();
    };
}
done_testing;
