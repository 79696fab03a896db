#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap run, capture and list; and the settings, which run hands on.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

delete $ENV{HEAPSNAP_STOP};    # settings are what the options say

my $build = abs_path($ENV{BUILD} || 'build');
my $heapsnap = "$build/heapsnap";
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# @return what heapsnap (or another command) printed, said, and its exit status
sub run {
    my (@words) = @_;
    my $command = join ' ', map { s/'/'\\''/gr =~ s/(.*)/'$1'/sr } @words;
    my $output = `cd $directory && $command 2>.stderr`;
    my $status = $? >> 8;
    open my $errors, '<', "$directory/.stderr" or die $!;
    my $said = join '', <$errors>;
    return ($output, $said, $status);
}

sub refuses {
    my ($what, $status_wanted, $pattern, @words) = @_;
    my ($output, $said, $status) = run($heapsnap, @words);
    like $said, qr/\Aheapsnap: $pattern\n\z/, "$what: one line says so";
    is "$status $output", "$status_wanted ", '... and nothing else';
    return;
}

# --- words ---------------------------------------------------------------------

my $usage = qr/.*(?:\? S|; s)ee heapsnap --help/;
refuses('no command', 2, $usage);
refuses('an unknown command', 2, qr/unknown command dance$usage/, 'dance');
refuses('no program', 2, $usage, 'run');
refuses('no program', 2, $usage, 'run', '--');
refuses('an unknown option', 2, qr/run: unknown option --dance$usage/, 'run', '--dance', 'true');
refuses('an option without value', 2, qr/run: --file needs a value$usage/, 'run', '--file');
refuses('a bad amount of content', 2, qr/run: --content many$usage/, 'run', '--content', 'many', 'true');
refuses("one file for many, by $$_[0]", 2, qr/run: $$_[0] takes many snapshots, and 5%%N is the name of one: it needs %N$usage/,
    'run', '--file', '5%%N', @$_, 'true')
    for ['--growth', '10M'], ['--every', '10m'];
refuses('a bad signal', 2, qr/run: --signal -9$usage/, 'run', '--signal=-9', 'true');
# What the library would only warn of: the program then runs for days, and takes no snapshot when it is asked to.
refuses("$$_[0] $$_[1]", 2, qr/run: $$_[0] \Q$$_[1]\E: $$_[2]$usage/, 'run', @$_[0, 1], 'true')
    for (map { my $option = $_; map { [$option, $_, 'not a signal that can be caught'] } qw(FOO KILL SIGSTOP SEGV 0 64 99999999999) }
        '--signal', '--trace-signal'),
    (map { ['--rate', $_, 'neither bytes per sample'] } qw(0 0.x xe- 1e-400 2.5)),
    ['--report-limit', 0, 'not a number of lines'];
refuses('a missing program', 1, qr/no-such-program: no such program/, 'run', 'no-such-program');
refuses('a directory', 1, qr{/tmp: not a program}, 'run', '/tmp');
refuses('a file without permission', 1, qr{/etc/passwd: cannot be run: Permission denied}, 'run', '/etc/passwd');
refuses('no pid', 2, $usage, 'capture');
refuses('a word for a pid', 2, $usage, 'capture', 'app');
refuses('a pid that is none', 1, qr/999999999: no such process/, 'capture', '999999999');
refuses('a pid that is none, after the options', 1, qr/999999999: no such process/, 'capture', '--verbose', '--', '999999999');
refuses('an option for a pid', 2, $usage, 'capture', '--', '--verbose');
refuses('no pid after the options', 2, $usage, 'capture', '--');
refuses('list of something', 2, $usage, 'list', 'all');
my ($output, $said, $status) = run($heapsnap, '--help');
like $output, qr/^Usage: heapsnap run/, '--help helps';
open my $makefile, '<', 'Makefile' or die $!;
my ($version) = map { /^VERSION\s*:=\s*(\S+)/ } <$makefile>;
($output) = run($heapsnap, '--version');
my $aarch64 = `uname -m` eq "aarch64\n";
my ($built, $limits) = split /^/, $output;
is $built, "heapsnap $version for " . ($aarch64 ? 'aarch64' : 'x86-64') . "\n", '--version tells the version and the machine';
like $limits // '', $aarch64 ? qr/ see heapsh-limits\(7\)$/ : qr/^$/, '... and how much of it was tested';

# --- run -------------------------------------------------------------------------

($output, $said, $status) = run($heapsnap, 'run', '--', 'sh', '-c', 'printf "%s|" "$0" "$@"; exit 7', 'a  b', '', "c'd");
is $output, "a  b||c'd|", 'run hands on the arguments as they are';
is $status, 7, 'and the exit status';
is $said, '', 'and says nothing itself';

($output) = run('env', 'LD_PRELOAD=', $heapsnap, 'run', 'sh', '-c', 'echo "$LD_PRELOAD"');
is $output, "$build/libheapsnap.so\n", 'run preloads the library';

($output) = run($heapsnap, 'run', '--file', '/tmp/%e', '--signal=USR1', '--content', 'all', '--verbose',
    'sh', '-c', 'env | grep ^HEAPSNAP | grep -v ^HEAPSNAP_RUN= | sort; test $HEAPSNAP_RUN = $$ && echo own');
my ($filters) = map { /^Seccomp_filters:\s*(\d+)/ ? $1 : () } do { open my $in, '<', '/proc/self/status' or die $!; <$in> };
$filters //= qx{grep -c '^Seccomp:.*[12]' /proc/self/status} + 0;
is $output, "HEAPSNAP_CONTENT=all\nHEAPSNAP_FILE=/tmp/%e\nHEAPSNAP_RUN_FILTERS=$filters\nHEAPSNAP_SIGNAL=USR1\nHEAPSNAP_VERBOSE=1\nown\n",
    'options are settings';

copy('/bin/true', "$directory/setuid") or die $!;
chmod 04755, "$directory/setuid";
refuses('a set-user-id program', 1, qr{\S*setuid: a set-user-id program.*}, 'run', './setuid');
open my $source, '>', "$directory/static.c" or die $!;
print $source "int main(void) { return 0; }\n";
close $source;
SKIP: {
    skip 'no static libc', 2
        if system("cc -static -o $directory/static $directory/static.c 2>/dev/null") != 0;
    refuses('a statically linked program', 1, qr/\S*static: statically linked.*/, 'run', './static');
}

# Where it has been installed, the library lies in the lib beside.
mkdir "$directory/$_" for qw(bin lib);
copy($heapsnap, "$directory/bin/heapsnap") or die $!;
chmod 0755, "$directory/bin/heapsnap";
symlink "$build/libheapsnap.so", "$directory/lib/libheapsnap.so";
symlink '../bin/heapsnap', "$directory/lib/link";
($output) = run('env', 'LD_PRELOAD=', './lib/link', 'run', 'sh', '-c', 'echo "$LD_PRELOAD"');
is $output, "$build/libheapsnap.so\n", 'the library is found from where heapsnap is installed';
unlink "$directory/lib/libheapsnap.so";
($output, $said, $status) = run('./bin/heapsnap', 'run', 'true');
like $said, qr/\Aheapsnap: no libheapsnap\.so in .*\n\z/, 'and missed where it is not';

# --- capture and list ---------------------------------------------------------------

my $program = Heapsh->start('shapes', directory => $directory);
my $pid = $program->pid;
($output, $said, $status) = run($heapsnap, 'capture', $pid);
is $output, "$directory/shapes-00.snap\n", 'capture prints the name of the file';
is "$status $said", '0 ', 'and nothing else';
ok -s "$directory/shapes-00.snap", 'which is there';
($output) = run($heapsnap, 'capture', $pid);
is $output, "$directory/shapes-01.snap\n", 'the next has the next number';
($output, $said, $status) = run($heapsnap, 'list');
like $output, qr/^ *$pid QUIT +shapes$/m, 'list has the program';
unlike $output, qr/^ *$$ /m, 'and not those without the library';
is "$status $said", '0 ', 'and nothing else';
refuses('a process without the library', 1, qr/$$ \(\S+\) runs without libheapsnap.so.*/, 'capture', $$);
refuses('two pids', 2, $usage, 'capture', $pid, $pid);
$program->finish;

# Its state in /proc is another thread's then, whose id is not the process's.
$program = Heapsh->start('changing', no_wait => 1, directory => $directory, args => ['without-main']);
$pid = $program->pid;
Heapsh::await(sub { `cat /proc/$pid/status` =~ /^State:\s+Z/m });
($output, $said, $status) = run($heapsnap, 'capture', $pid);
is "$status $said$output", "0 $directory/changing-00.snap\n", 'a process whose main thread has ended is captured';
kill 'KILL', $pid;

# A pattern with everything, in another directory than that of the program by then.
mkdir "$directory/50% of + it";
$program = Heapsh->start('/bin/sh', no_wait => 1, directory => "$directory/50% of + it",
    run => ['--signal', 'USR2', '--file', '%e.(%p)-%t %N.snap'],
    args => ['-c', 'cd /; while :; do sleep 0.05; done']);
$pid = $program->pid;
Heapsh::await(sub { `$heapsnap list` =~ /^ *$pid USR2 /m });
($output, $said, $status) = run($heapsnap, 'capture', $pid);
like $output, qr{\A\Q$directory/50% of + it/\E\w+\.\($pid\)-\d+ 00\.snap\n\z}, 'names are found in any form'
    or diag $said;
($output) = run($heapsnap, 'list');
like $output, qr/^ *$pid USR2 /m, 'list tells the signal';
kill 'KILL', $pid;

# One that has reset its handlers past libc would die.
my $sigaction = `uname -m` eq "x86_64\n" ? 13 : 134;
$program = Heapsh->start('/usr/bin/perl', no_wait => 1,
    args => ['-e', 'my $none = pack("Q4", (0) x 4); syscall(' . $sigaction . ', 3, $none, 0, 8); $| = 1; print "ready\n"; sleep 100']);
$program->line;
refuses('a program that would die of the signal', 1, qr/\d+ would die of SIGQUIT.*/, 'capture',
    $program->pid);
kill 'KILL', $program->pid;

# One that cannot write.
$program = Heapsh->start('shapes', run => ['--file', 'nowhere/x.snap']);
refuses('a snapshot that fails', 1, qr{\d+ wrote no snapshot: /.*/nowhere/x.snap: No such file or directory}, 'capture',
    $program->pid);
$program->finish;

# One that may no longer write where root has started it, or not even start the writer: other users cannot enter
# everywhere.
SKIP: {
    skip 'needs root', 4 if $> != 0;
    my $installed = tempdir(CLEANUP => 1);
    for my $name (qw(heapsnap heapsnap-writer libheapsnap.so)) {
        copy("$build/$name", "$installed/$name") or die "$name: $!";
        chmod 0755, "$installed/$name";
    }
    for ([0755, qr{/.*/perl-00.snap: Permission denied: it is of user \w+ now; --file of heapsnap run can name a place .* writes as you}],
        [0700, qr{\Q$installed\E/heapsnap-writer could not be started: permission denied}]) {
        my ($mode, $why) = @$_;
        chmod $mode, $installed;
        $program = Heapsh->start('/usr/bin/perl', no_wait => 1, bare => 1, by => ["$installed/heapsnap", 'run', '--'],
            args => ['-MPOSIX', '-e', '$| = 1; setgid(65534); setuid(65534) or die; print "ready\n"; sleep 100 while 1']);
        $program->line;
        refuses('a server that has given up its rights', 1, qr{\d+ wrote no snapshot: $why}, 'capture', $program->pid);
        kill 'KILL', $program->pid;
    }
}

# --- settings ---------------------------------------------------------------------

my %bad = (
    HEAPSNAP_SIGNAL  => 'KILL',
    HEAPSNAP_CONTENT => '-1',
    HEAPSNAP_FILE    => '',
    HEAPSNAP_THREADS => '0',
    HEAPSNAP_TYPES   => 'some',
    HEAPSNAP_VERBOSE => 'loud',
);
for my $name (sort keys %bad) {
    ($output, $said, $status) = run('env', "$name=$bad{$name}", "LD_PRELOAD=$build/libheapsnap.so", '/bin/echo', 'went on');
    like $said, qr/\Aheapsnap: $name: .*(is|are) used\n\z/, "$name=$bad{$name}: one line says what is used";
    is "$status $output", "0 went on\n", 'and the program runs';
}
# A snapshot that is asked for while another is being written comes after it, however long that takes.
{
    my $slow = tempdir(CLEANUP => 1);
    copy("$build/$_", "$slow/$_") for qw(heapsnap libheapsnap.so);
    open my $script, '>', "$slow/heapsnap-writer" or die $!;
    print $script "#!/bin/sh\nsleep 3\nexec $build/heapsnap-writer \"\$\@\"\n";
    close $script;
    chmod 0755, "$slow/$_" for qw(heapsnap heapsnap-writer);
    my $program = Heapsh->start("$slow/heapsnap", bare => 1, directory => $directory,
        args => ['run', '--file', 'slow-%N.snap', '--', "$build/t/programs/shapes"]);
    kill QUIT => $program->pid;
    select undef, undef, undef, 0.3;
    my ($path, $said, $status) = run($heapsnap, 'capture', $program->pid);
    is "$status $said$path", "0 $directory/slow-01.snap\n", 'a snapshot while another is being written comes next';
    $program->finish;
}

# The process may have no other, so there is no writer to say why. What the last one said is no answer.
SKIP: {
    skip 'not root', 6 if $> != 0;
    my $public = Heapsh::public_build();
    my $own = "$directory/nobody";
    my $program = Heapsh->start("$public/heapsnap", bare => 1,
        args => ['run', '--file', "$own/%e-%N.snap", '--', "$build/t/programs/kinds", 'modest']);
    my $pid = $program->pid;
    my $refused = qr/\Aheapsnap: $pid wrote no snapshot: it may have no further process .* heapsnap attach $pid, .*\n\z/;
    my $allow = sub { run(qw(setpriv --reuid 65534 --regid 65534 --clear-groups prlimit --pid), $pid, "--nproc=$_[0]:4096") };
    mkdir $own;
    chmod 0777, $own;
    chmod 0755, $directory;
    for my $file ('kinds-00.snap', 'kinds-01.snap') {
        my ($path, $said, $status) = run($heapsnap, 'capture', $pid);
        like $said, $refused, 'a process that may have no other says so';
        is "$status $path", '1 ', '... and no path';
        $allow->(4096);
        ($path) = run($heapsnap, 'capture', $pid);
        is $path, "$own/$file\n", '... and is captured when it may';
        $allow->(0);
    }
    $program->finish;
}
done_testing;
