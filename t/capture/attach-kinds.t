#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap attach on processes of every kind: servers and runtimes as people run them, those that are
# restricted in some way, and those that belong to others. Each goes on as if nothing had been.
use strict;
use warnings;
use lib 't/lib';
use Cgroup;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use Heapsh;
use IO::Socket::INET;
use IPC::Open2;
use Test::More;
use Time::HiRes qw(sleep time);

my $build = abs_path($ENV{BUILD} || 'build');
if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);
chmod 0755, $directory;
my ($number, @pids) = (0);

sub state_of { my ($pid) = @_; open my $in, '<', "/proc/$pid/status" or return ''; return join('', <$in>) =~ /^State:\s+(\S)/m ? $1 : '' }
sub has { return grep { -x "$_/$_[0]" } split(/:/, $ENV{PATH}), '/usr/sbin' }

# Attaches once. @return the blocks, and what was said
sub attach {
    my ($pid, @before) = @_;
    my $file = "$directory/" . ++$number . '.snap';
    my $said = `@before $build/heapsnap attach --types none --file $file $pid 2>&1`;
    return (undef, $said) unless -e $file;
    my $info = Heapsh::ask_json($file, 'info');
    return ($info->{objects}, $info->{allocators}, $info->{doubts}, $file);
}

# @param $most      blocks; undef: any number
# @param $own_heap  true: the program may have much memory of its own
sub is_taken {
    my ($pid, $name, $allocator, $least, $most, $own_heap) = @_;
    my ($blocks, $said, $doubts) = attach($pid);
    ok defined $blocks, "$name: taken" or return diag $said;
    is $said, $allocator, "$name: the allocator";
    cmp_ok $blocks, '>=', $least, "$name: blocks";
    cmp_ok $blocks, '<=', $most, "$name: and no others" if defined $most;
    $doubts =~ s/^\d+ MiB of anonymous memory hold no block of a known allocator$// if $own_heap;
    is $doubts, '', "$name: the sums agree";
}

sub is_refused {
    my ($pid, $name, $why) = @_;
    my ($blocks, $said) = attach($pid);
    is $blocks, undef, "$name: refused";
    like $said, qr/^heapsnap: $pid [^\n]*$why[^\n]*\n\z/, "$name: why";
}

# Taken by the user that the program has become, who may raise its limit; which is what it was then.
sub is_taken_as_nobody {
    my ($pid, $name) = @_;
    my ($own, $file) = ("$directory/nobody", "$directory/nobody/modest.snap");
    mkdir $own;
    chmod 0777, $own;
    my $before = limit_of($pid);
    my $public = Heapsh::public_build();
    my $said = `setpriv --reuid 65534 --regid 65534 --clear-groups $public/heapsnap attach --types none --file $file $pid 2>&1`;
    is eval { Heapsh::ask_json($file, 'info')->{objects} }, 100, "$name: its blocks" or diag $said;
    is limit_of($pid), $before, "$name: its limit is as before";
}

sub limit_of { my ($pid) = @_; open my $in, '<', "/proc/$pid/limits" or return ''; return (grep { /^Max processes/ } <$in>)[0] }
sub has_capability { my ($number) = @_; open my $in, '<', '/proc/self/status'; return hex(join("", <$in>) =~ /^CapEff:\s*\w*(\w{8})$/m ? $1 : 0) >> $number & 1 }

# Starts a command. @return its pid
sub begin {
    my (@command) = @_;
    my $pid = fork // die "fork: $!";
    if (!$pid) {
        open STDOUT, '>', '/dev/null';
        open STDERR, '>', '/dev/null';
        open STDIN, '<', '/dev/null';
        exec { $command[0] } @command or POSIX::_exit(127);
    }
    push @pids, $pid;
    return $pid;
}

sub end {
    my ($pid, $signal) = @_;
    kill $signal || 'KILL', $pid;
    waitpid $pid, 0;
    @pids = grep { $_ != $pid } @pids;
}

END { local $?; for (@pids) { kill 'KILL', $_; waitpid $_, 0 } }

# The children of a process whose name is like this.
sub children {
    my ($pid, $name) = @_;
    my @found;
    for my $status (glob '/proc/[0-9]*/status') {
        open my $in, '<', $status or next;
        my $text = join '', <$in>;
        push @found, $status =~ /(\d+)/ if $text =~ /^PPid:\s+$pid$/m && $text =~ /^Name:\s+$name/m;
    }
    return @found;
}

# A port that nobody listens at.
sub free_port { my $socket = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die $!; return $socket->sockport }

# @return what a server answers, or ''
sub talk {
    my ($port, $text) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 10) or return '';
    print $socket $text;
    my $answer = '';
    sysread $socket, $answer, 4096;
    return $answer;
}

# --- servers and runtimes ------------------------------------------------------------------

SKIP: {
    skip 'no redis-server', 6 unless has('redis-server');
    my $port = free_port();
    my $pid = begin('redis-server', '--port', $port, '--save', '', '--bind', '127.0.0.1');
    Heapsh::await(sub { talk($port, "PING\r\n") =~ /PONG/ }) or skip 'redis-server did not start', 6;
    my ($empty) = attach($pid);
    for my $from (0 .. 9) {
        my $text = join '', map { sprintf "SET key%04d value-of-the-key-%04d\r\n", $from * 100 + $_, $_ } 0 .. 99;
        my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port") or die $!;
        print $socket $text;
        my $got = '';
        while (length $got < 500) { sysread($socket, $got, 4096, length $got) or last }
    }
    is_taken($pid, 'redis', `ldd \$(which redis-server)` =~ /jemalloc/ ? 'jemalloc' : 'glibc', $empty + 2500, $empty + 3300);    # it frees some of what it began with
    like talk($port, "PING\r\n"), qr/PONG/, 'redis: it goes on';
    end($pid, 'TERM');
}

SKIP: {
    skip 'no nginx', 8 unless has('nginx');
    my $port = free_port();
    open my $out, '>', "$directory/nginx.conf" or die $!;
    print $out "pid $directory/nginx.pid; error_log $directory/error.log; worker_processes 1; events { worker_connections 64; }\n"
        . "http { access_log off; server { listen 127.0.0.1:$port; return 200 fine; } }\n";
    close $out;
    my $pid = begin((has('nginx'))[0] . '/nginx', '-c', "$directory/nginx.conf", '-g', 'daemon off;');
    Heapsh::await(sub { talk($port, "GET / HTTP/1.0\r\n\r\n") =~ /fine/ }) or skip 'nginx did not start', 8;
    is_taken($pid, 'nginx', 'glibc', 100);
    is_taken((children($pid, 'nginx'))[0], 'a worker of nginx', 'glibc', 100);
    like talk($port, "GET / HTTP/1.0\r\n\r\n"), qr/fine/, 'nginx: it goes on';
    end($pid, 'TERM');
}

SKIP: {
    my ($postgres) = glob '/usr/lib/postgresql/*/bin/postgres';
    skip 'no postgres, or not root', 8 if !$postgres || $> != 0;
    my $user = getpwnam('postgres') ? 'postgres' : 'nobody';
    my $place = "$directory/postgres";
    my $port = free_port();
    mkdir $place;
    chown scalar(getpwnam $user), -1, $place;
    my $bin = $postgres =~ s{/[^/]*$}{}r;
    system("setpriv --reuid=$user --clear-groups $bin/initdb -D $place/data -A trust >/dev/null 2>&1") == 0 or skip 'no initdb', 8;
    my $pid = begin('setpriv', "--reuid=$user", '--clear-groups', $postgres, '-D', "$place/data", '-p', $port, '-k', $place);
    my $answers = sub { `setpriv --reuid=$user --clear-groups psql -h $place -p $port -Atc 'select 40 + 2' postgres 2>/dev/null` eq "42\n" };
    Heapsh::await($answers) or skip 'postgres did not start', 8;
    is_taken($pid, 'postgres', 'glibc', 1000);
    is_taken($_, "postgres' child", 'glibc', 1000) for (children($pid, 'postgres'))[0];
    ok $answers->(), 'postgres: it goes on';
    end($pid, 'INT');
}

# Runtimes that print "ready", and "done" when they get a line.
sub runtime {
    my ($name, $allocator, $least, @command) = @_;
    my ($in, $out);
    my $started = eval { open2($in, $out, @command) } or return fail "$name: $@";
    my $pid = Heapsh::await(sub { <$in> =~ /ready (\d+)/ ? $1 : undef });
    is_taken($pid, $name, $allocator, $least, undef, 1);
    local $SIG{PIPE} = 'IGNORE';
    print {$out} "\n";
    close $out;
    is scalar(<$in>), "done\n", "$name: it goes on";
    waitpid $started, 0;
    is $?, 0, "$name: exit status";
}

SKIP: {
    skip 'no python3', 6 unless has('python3');
    local $ENV{PYTHONMALLOC} = 'malloc';
    runtime('python', 'glibc', 50000, 'python3', '-c',
        'import os, select, sys, time; a = [str(i) for i in range(50000)]; print("ready", os.getpid(), flush=True)' . "\n"
            . 'while not select.select([sys.stdin], [], [], 0)[0]: time.sleep(0.3)' . "\n" . 'print("done")');
}

# A program goes by the name that it was started by, as redis-server, which is a link to redis-check-rdb. What else
# it writes over that name does not count.
{
    system("cp $build/t/programs/kinds $directory/file && ln -s file $directory/alias") == 0 or die 'alias';
    for ([ 'bare', bare => 1 ], ['prepared']) {
        my ($how, @options) = @$_;
        my $program = Heapsh->start("$directory/alias", @options);
        my (undef, $said, undef, $file) = attach($program->pid);
        is Heapsh::ask_json($file, 'info')->{program}, 'alias', "a link to an executable, $how: its name";
        like scalar `$build/heapsnap list --all`, qr/^ *@{[$program->pid]} .* alias$/m, "a link to an executable, $how: list --all";
        my ($build_id) = map { $_->{build_id} } grep { $_->{path} =~ m{/file$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
        like scalar `$build/heapsh-export --format rows -o - $file 2>&1 | gzip -dcf`, qr/^[^\n]*\talias\t[^\n]*\b$build_id\b/m,
            "a link to an executable, $how: the build of its file";
        is(($program->finish)[1], 7 << 8, "a link to an executable, $how: exit status");
    }
    my $program = Heapsh->start('/bin/bash', bare => 1, args => [ '-c', "exec -a other $directory/file" ]);
    like scalar `$build/heapsnap list --all`, qr/^ *@{[$program->pid]} .* file$/m, 'a name that is none of its files: the name of its file';
    is(($program->finish)[1], 7 << 8, 'a name that is none of its files: exit status');
}

# Allocators of runtimes, which they use unless told otherwise.
for (
    [ 'python3', 'small objects of Python', 'PYTHONMALLOC=malloc', '-c',
        'import os, sys; a = [str(i) for i in range(50000)]; print("ready", os.getpid(), flush=True); sys.stdin.readline()' ],
    [ 'php', 'values of PHP', 'USE_ZEND_ALLOC=0', '-n', '-r',
        '$a = []; for ($i = 0; $i < 50000; $i++) $a[] = "a string $i"; echo "ready ", getmypid(), "\n"; fgets(STDIN);' ],
  )
{
  SKIP: {
        my ($name, $what, $advice, @words) = @$_;
        skip "no $name", 4 unless has($name);
        my $started = open2(my $in, my $out, $name, @words);
        my $pid = Heapsh::await(sub { <$in> =~ /ready (\d+)/ ? $1 : undef });
        my ($blocks, $said, $doubts) = attach($pid);
        is $said, 'glibc', "${name}: its own allocator: the allocator of others" or diag $said;
        my ($size) = $doubts =~ /^$what \((\d+) KiB\) are not known: start it with \Q$advice\E$/;
        cmp_ok $size // 0, '>=', 50000 * 32 / 1024, "${name}: its own allocator: how much is not known" or diag $doubts;
        my ($memory) = `cat /proc/$pid/status` =~ /^RssAnon:\s+(\d+)/m;
        cmp_ok $size // 0, '<=', $memory, "${name}: its own allocator: and no more than there is";
        close $out;
        waitpid $started, 0;
        is $?, 0, "${name}: its own allocator: exit status";
    }
}

SKIP: {
    skip 'no node', 6 unless has('node');
    runtime('node', 'glibc', 1000, 'node', '-e',
        'const a = []; for (let i = 0; i < 1000; i++) a.push(Buffer.alloc(5000)); console.log("ready", process.pid);'
        . 'const t = setInterval(() => {}, 5); process.stdin.once("end", () => { clearInterval(t); console.log("done"); }).resume()');
}

SKIP: {
    skip 'no java', 6 unless has('java') && has('javac');
    open my $out, '>', "$directory/Sleeper.java" or die $!;
    print $out 'public class Sleeper { public static void main(String[] a) throws Exception { System.out.println("ready " +'
        . ' ProcessHandle.current().pid()); while (System.in.available() == 0) Thread.sleep(1);'
        . ' System.out.println("done"); } }';
    close $out;
    system("javac -d $directory $directory/Sleeper.java 2>/dev/null") == 0 or skip 'no javac', 6;
    runtime('java', 'glibc', 1000, 'java', '-Xmx64m', '-cp', $directory, 'Sleeper');
}

SKIP: {
    skip 'no go', 6 unless has('go');
    mkdir "$directory/go";
    open my $out, '>', "$directory/go/main.go" or die $!;
    print $out <<'END';
package main
// #include <string.h>
// void *volatile keep[1000];
// static void fill(void) { for (int i = 0; i < 1000; i++) keep[i] = strdup("kept by C"); }
import "C"
import ("fmt"; "os"; "time")
func main() {
	C.fill()
	c := make(chan int)
	for i := 0; i < 50; i++ { go func() { for { time.Sleep(time.Millisecond); c <- 1 } }() }
	fmt.Println("ready", os.Getpid())
	end := make(chan int)
	go func() { os.Stdin.Read(make([]byte, 1)); close(end) }()
	for { select { case <-c: case <-end: fmt.Println("done"); return } }
}
END
    close $out;
    system("cd $directory/go && CGO_ENABLED=1 GO111MODULE=off GOFLAGS= GOCACHE=$directory/go/cache go build -o go main.go >/dev/null 2>&1") == 0 or skip 'no cgo', 6;
    runtime('go with cgo', 'glibc', 1000, "$directory/go/go");
}

# --- restricted in some way --------------------------------------------------------------------

# @return its wait status after a byte
sub kind {
    my ($kind, $check) = @_;
    my $program = Heapsh->start('kinds', bare => 1, args => [$kind]);
    my $state = $kind eq 'guarded' ? qr/R/ : qr/[SD]/;
    Heapsh::await(sub { state_of($program->pid) =~ $state });
    $check->($program->pid, $kind);
    is(($program->finish)[1], 7 << 8, "$kind: it goes on");
}

my $exact = sub { is_taken(@_, 'glibc', 100, 100) };
kind($_, $exact) for '', qw(full narrow quit reaper);
kind('reserved', sub { is_taken(@_, 'glibc', 100, 100, 1) });

# A thread may be stopped in malloc, when the sums do not agree: that is said.
kind('creator', sub { my ($blocks, $said) = attach($_[0]); cmp_ok $blocks // 0, '>=', 100, "creator: its blocks, and its threads'" or diag $said });

# Attaching needs no signal: a handler of the program's is never called.
{
    my $program = Heapsh->start('kinds', args => ['quit']);
    my ($blocks, $said) = attach($program->pid);
    is $blocks, 100, 'quit, prepared: its blocks' or diag $said;
    is(($program->finish)[1], 7 << 8, 'quit, prepared: it goes on');
}
SKIP: {
    skip 'not root', 29 if $> != 0;
    kind($_, $exact) for qw(filter strict hidden);
    # A thread has filters of its own. Its stack and its storage are blocks, too.
    kind($_, sub { is_taken(@_, 'glibc', 101, 103) }) for qw(guarded guarding);
    # A limit of its own is no obstacle to who may raise it: CAP_SYS_RESOURCE.
    kind('alone', has_capability(24) ? $exact : sub { is_refused(@_, 'may have no further process: RLIMIT_NPROC') });
    kind('modest', \&is_taken_as_nobody);
}
# A write of so much would end early, when it has been interrupted.
{
    pipe my $out, my $in or die "pipe: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) { syswrite $in, 'x' x 1_000_000; exit }
    my $call = '';
    for (1 .. 500) { $call = `cat /proc/$pid/syscall 2>/dev/null`; last if $call =~ /^1 /; select undef, undef, undef, 0.02 }
    is_refused($pid, 'full pipe', 'no thread that may be interrupted: each waits for .*room in a pipe');
    kill 'KILL', $pid;
    waitpid $pid, 0;
}
kind('vfork', sub { is_refused(@_, 'no thread that may be interrupted: each waits for a disk, a child of vfork') });

SKIP: {
    skip 'no real-time scheduling here', 5 if system('chrt -f 10 true 2>/dev/null') != 0;
    my $program = Heapsh->start('/usr/bin/chrt', bare => 1, args => [ '-f', 50, "$build/t/programs/kinds" ]);
    is_taken($program->pid, 'real-time', 'glibc', 100, 100);
    is(($program->finish)[1], 7 << 8, 'real-time: it goes on');
}

{
    # It says that it is the shell: a process that only was forked is running, too.
    my $pid = begin('/bin/sh', '-c', "echo >$directory/busy; while :; do :; done");
    Heapsh::await(sub { -s "$directory/busy" });
    is_taken($pid, 'busy', 'glibc', 10);
    is state_of($pid), 'R', 'busy: it goes on';
    end($pid);
}

SKIP: {
    skip 'no strace', 2 unless has('strace');
    my $program = Heapsh->start('kinds', bare => 1);
    my $tracer = begin('strace', '-o', '/dev/null', '-p', $program->pid);
    Heapsh::await(sub { `cat /proc/$program->{pid}/status` =~ /^TracerPid:\s+[1-9]/m }) or skip 'strace may not trace', 2;
    is_refused($program->pid, 'under strace', "is being traced by $tracer \\(strace\\): only one can");
    end($tracer, 'INT');
    is_taken($program->pid, 'strace has left', 'glibc', 100, 100);
    is(($program->finish)[1], 7 << 8, 'under strace: it goes on');
}

# No libc is needed to be of 32 bits.
SKIP: {
    open my $out, '>', "$directory/small.S" or die $!;
    print $out ".globl _start\n_start: mov \$29, %eax\nint \$0x80\njmp _start\n.section .note.GNU-stack,\"\",\@progbits\n";
    close $out;
    system("cc -m32 -nostdlib -static -no-pie -o $directory/small $directory/small.S 2>/dev/null") == 0 or skip 'no 32-bit programs', 3;
    my $pid = begin("$directory/small");
    # A kernel may run none.
    Heapsh::await(sub { state_of($pid) eq 'Z' || ((readlink("/proc/$pid/exe") // '') eq "$directory/small" && state_of($pid) eq 'S') });
    if (state_of($pid) eq 'Z') {
        end($pid);
        skip 'the kernel runs no 32-bit programs', 3;
    }
    is_refused($pid, '32 bits', 'is a 32-bit process');
    unlike scalar `$build/heapsnap list --all`, qr/^ *$pid /m, '32 bits: it is not listed either';
    is state_of($pid), 'S', '32 bits: it goes on';
    end($pid);
}

# --- containers ----------------------------------------------------------------------------------

SKIP: {
    my @container = qw(/usr/bin/unshare --user --map-root-user --pid --fork --mount --mount-proc --uts --ipc --net);
    skip 'no namespaces here', 5 if system("@container true 2>/dev/null") != 0;
    my $program = Heapsh->start($container[0], bare => 1, args => [ @container[1 .. $#container], "$build/t/programs/kinds" ]);
    is_taken((children($program->pid, 'kinds'))[0], 'in a container', 'glibc', 100, 100);
    is(($program->finish)[1], 7 << 8, 'in a container: it goes on');
}

# Files that only the process can reach by their paths, or nobody any more. @return the module of that name
sub module_of {
    my ($pid, $name) = @_;
    my (undef, $said, undef, $file) = attach($pid);
    return { note => $said } unless $file;
    return (grep { $_->{path} =~ m{/$name} } @{ Heapsh::ask_json($file, 'info')->{modules} })[0];
}

SKIP: {
    my @mounts = qw(/usr/bin/unshare --user --map-root-user --mount);
    skip 'no namespaces here', 4 if system("@mounts true 2>/dev/null") != 0;
    my $mount = "$directory/mount";
    mkdir $mount;
    # Another program has the path outside.
    for my $outside ('nothing', 'another program') {
        system('cp', "$build/t/programs/steady", "$mount/kinds") if $outside ne 'nothing';
        my $start = "mount -t tmpfs none $mount && cp $build/t/programs/kinds $mount && exec $mount/kinds";
        my $program = Heapsh->start($mounts[0], bare => 1, args => [ @mounts[1 .. $#mounts], 'sh', '-c', $start ]);
        my $module = module_of($program->pid, 'kinds');
        is $module->{note}, '', "in a mount of its own, where we have $outside: its file is found";
        is $module->{debug}, "$mount/kinds", '... and its debug information, which is its own';
        $program->finish;
    }
}

# Debug files that are installed there, and not here.
SKIP: {
    my @mounts = qw(/usr/bin/unshare --user --map-root-user --mount);
    skip 'no namespaces here', 4 if system("@mounts true 2>/dev/null") != 0;
    my $mount = "$directory/mount";
    my $copy = Heapsh::program_path('kinds');
    system("cd $directory && objcopy --only-keep-debug $copy linked.debug && objcopy -S --add-gnu-debuglink=linked.debug $copy linked") == 0 or die;
    my ($first, $rest) = `readelf -n $copy` =~ /Build ID: (..)(\S+)/;
    my $folder = "/usr/lib/debug/.build-id/$first";
    for ([ 'beside it', "cp $directory/linked.debug $mount" ],
        [ 'by its build id', "mount -t tmpfs none /usr/lib/debug && mkdir -p $folder && cp $directory/linked.debug $folder/$rest.debug" ]) {
        my ($where, $install) = @$_;
        skip 'no directory for debug files here', 2 if $where ne 'beside it' && !-d '/usr/lib/debug';
        my $start = "mount -t tmpfs none $mount && cp $directory/linked $mount && $install && exec $mount/linked";
        my $program = Heapsh->start($mounts[0], bare => 1, args => [ @mounts[1 .. $#mounts], 'sh', '-c', $start ]);
        my $module = module_of($program->pid, 'linked');
        is $module->{note}, '', "a debug file in a mount of its own, $where: is found";
        like $module->{debug}, qr{^/proc/\d+/root/.*debug$}, '... there';
        $program->finish;
    }
}

# As an upgrade leaves it in a server that runs on.
SKIP: {
    skip 'not root, who alone may follow the links to mapped files', 2 if $> != 0 || !-r "/proc/$$/map_files";
    open my $source, '>', "$directory/lib.c" or die $!;
    print $source "int value(void) { return 1; }\n";
    close $source;
    system("cc -g -shared -fPIC -o $directory/libgone.so $directory/lib.c") == 0 or die 'cc';
    my $program = Heapsh->start('kinds', bare => 1, env => { LD_PRELOAD => "$directory/libgone.so" });
    unlink "$directory/libgone.so";
    my $module = module_of($program->pid, 'libgone');
    is $module->{note}, '', 'a library that is gone: its file is found';
    is $module->{debug}, "$directory/libgone.so (deleted)", '... and its debug information, by a name that means it later, too';
    $program->finish;
}

# A SIGSTOP that comes while the copy is made stops the process, as it would have, and the copy is made nevertheless.
{
    my $program = Heapsh->start('kinds', bare => 1);
    my $pid = $program->pid;
    my ($stopped, $taken) = (0, 0);
    for my $round (0 .. 29) {
        my $attach = fork // die "fork: $!";
        if (!$attach) {
            open STDOUT, '>', '/dev/null';
            exec "$build/heapsnap", 'attach', '--types', 'none', '--file', "$directory/stop-$round.snap", $pid or POSIX::_exit(127);
        }
        sleep $round * 0.0004;
        kill 'STOP', $pid;
        waitpid $attach, 0;
        $taken++ if $? == 0;
        $stopped++ if Heapsh::await(sub { state_of($pid) eq 'T' });
        kill 'CONT', $pid;
    }
    is $stopped, 30, 'SIGSTOP meanwhile: it is stopped each time';
    is $taken, 30, 'SIGSTOP meanwhile: a snapshot is taken each time';
    is(($program->finish)[1], 7 << 8, 'SIGSTOP meanwhile: it goes on');
}

# A frozen thread never returns from a call that it is made to do, or does not even stop: a refusal, before
# any thread is touched, and the process goes on as if nothing had been when it is thawed.
for my $version (1, 2) {
  SKIP: {
        my $group = $> == 0 ? Cgroup->freezer($version) : undef;
        skip 'not root, or ' . Cgroup::reason(), 4 unless $group;
        my ($shell, @enter) = $group->enter;
        my $program = Heapsh->start("/bin/$shell", bare => 1, args => [ @enter, "$build/t/programs/kinds" ]);
        ok $group->freeze, "frozen by version $version";
        is_refused($program->pid, "frozen by version $version", 'it is in a cgroup that is frozen');
        $group->thaw;
        is(($program->finish)[1], 7 << 8, "frozen by version $version: it goes on");
    }
}

# --- heaps that are nobody's who is known -----------------------------------------------------------

for (['plain', '', qr/it has allocated nothing yet, or its allocator is none that is known \(glibc, [^)]*\): link it dynamically, and start it by heapsnap run/],
    ['go', '__attribute__((section(".go.buildinfo"), aligned(16), used)) char info[32] = "\xff Go buildinf:";',
        qr/it is written in Go, whose runtime has a heap of its own, which is not read; Go's profiles \(runtime\/pprof\) show that/]) {
    my ($name, $data, $why) = @$_;
    Heapsh::write_file("$directory/$name.c", "$data\nvolatile int value = 1;\n"
        . "void _start(void) { for (;;) value++; }\n");
    is system("cc -static -nostdlib -O1 -o $directory/$name $directory/$name.c"), 0, "$name: compiles";
    my $pid = fork // die "fork: $!";
    exec "$directory/$name" or exit 1 unless $pid;
    Heapsh::await(sub { (readlink "/proc/$pid/exe") =~ /\Q$name\E$/ });
    like +(attach($pid))[1], qr/^heapsnap: \S+: $why\n\z/, "$name: why there is no snapshot";
    my $has_core = system("gcore -o $directory/$name-core $pid >/dev/null 2>&1") == 0;
    kill 'KILL', $pid;
    waitpid $pid, 0;
  SKIP: {
        skip 'no gcore', 1 unless $has_core;
        $why =~ s/ link/ the next time, link/;
        like scalar `$build/heapsnap core --file $directory/$name.snap $directory/$name-core.$pid 2>&1`, qr/^heapsnap: \S+: $why\n\z/, "$name: from a core file";
    }
}

# --- somebody else's -------------------------------------------------------------------------------

SKIP: {
    skip 'not root', 5 if $> != 0 || system('setpriv --reuid=65534 true 2>/dev/null') != 0;
    my $public = Heapsh::public_build();
    system("cp $build/t/programs/kinds $public/own && cp $public/own $public/other && chmod 4755 $public/other && chmod 755 $public/own && chmod 777 $public");
    my $as_nobody = 'setpriv --reuid=65534 --regid=65534 --clear-groups';
    my @as_nobody = split ' ', $as_nobody;
    for ([ 'other', 'set-user-id', qr/^heapsnap: \d+ \(other\) may not be examined: it runs set-user-id, as root for nobody; root may$/ ], [ 'own', "one's own", qr/^\S+\.snap$/ ]) {
        my ($name, $what, $said) = @$_;
        my $program = Heapsh->start('/usr/bin/setpriv', bare => 1, args => [ @as_nobody[1 .. $#as_nobody], "$public/$name" ]);
        my $pid = $program->pid;
        like scalar `cd $public && $as_nobody $public/heapsnap attach --types none $pid 2>&1`, $said, "$what, by nobody";
        is_taken($pid, "$what, by root", 'glibc', 100, 100);
        is(($program->finish)[1], 7 << 8, "$what: it goes on");
    }
}

done_testing;
