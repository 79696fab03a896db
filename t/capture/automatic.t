#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots that nobody asks for one by one: by time, by growth, at the end; and what is kept.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use List::Util qw(min);
use POSIX ();
use Test::More;
use Time::HiRes qw(sleep time);

my $build = abs_path($ENV{BUILD} || 'build');
our $bin = $build;
my $program = "$build/t/programs/capture-automatic";
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

our $directory;

# True while frozen copies or writers run: some have no file yet. A daemon never ends.
sub is_being_written {
    my ($way) = @_;
    return 1 if grep { /\.snap\.[0-9a-f]+$/ } glob "$directory/.*";
    return $way ne 'daemon' && grep { (readlink("$_/cwd") // '') eq $directory } glob '/proc/[0-9]*';
}

# @return what it printed, its wait status, the files it left, what was said on stderr
sub run {
    my ($way, @options) = @_;
    $directory = tempdir(CLEANUP => 1);
    chmod 0777, $directory;
    my $output = `cd $directory && exec $bin/heapsnap run @options -- $program $way 2>.stderr`;
    my $status = $?;
    Heapsh::await(sub { scalar(() = glob "$directory/*-01.snap") }) if $way eq 'daemon';
    Heapsh::await(sub { !is_being_written($way) });
    open my $errors, '<', "$directory/.stderr" or die $!;
    return ($output, $status, [map { s{.*/}{}r } sort glob "$directory/*"], join '', <$errors>);
}

sub names { return [map { sprintf 'capture-automatic-%02d.snap', $_ } @_] }
sub live { return Heapsh::ask_json("$directory/$_[0]", 'info')->{bytes} }

# The least time between two of the files, in seconds.
sub least_gap {
    my @times = map { Heapsh::ask_json("$directory/$_", 'info')->{time_ns} } @{ $_[0] };
    return min(map { ($times[$_] - $times[$_ - 1]) / 1e9 } 1 .. $#times);
}

# --- by growth

my ($output, $status, $files, $said) = run('growing', '--growth 8M --min-interval 0');
is_deeply $files, names(0 .. 3), '36 MiB more are four times 8 MiB';
is $said, '', 'silently';
my @live = map { live($_) } @$files;
for my $i (0 .. 3) {
    my $grown = $live[$i] - ($i ? $live[$i - 1] : 0);
    cmp_ok abs($grown - (8 << 20)), '<', 1 << 20, "file $i: 8 MiB more, and less than 1 MiB late";
}
like scalar(Heapsh::ask("$directory/$files->[1]", 'callstack')), qr/\bgrow\b/,
    'the stack says who was allocating';
unlike scalar(Heapsh::ask("$directory/$files->[1]", 'roots', '--stack', '--all')), qr/variable \w+ of take_if_grown/,
    'variables of the library itself hold nothing';

(undef, undef, $files) = run('growing', '--growth 100% --min-interval 0');
@live = map { live($_) } @$files;
is scalar(grep { $live[$_] < 2 * $live[$_ - 1] } 1 .. $#live), 0, 'by a share: each has doubled';
cmp_ok scalar(@live), '>=', 4, 'and none is left out';
(undef, undef, $files) = run('growing', '--growth 8M --min-interval 1h');
is_deeply $files, names(0), 'but no sooner than the interval after the one before';
(undef, undef, $files) = run('churning', '--growth 8M --min-interval 0');
is_deeply $files, [], 'what is freed again is no growth';
(undef, undef, $files) = run('growing-child', '--growth 8M --min-interval 0 --file %p-%N.snap');
my %of;
for my $file (@$files) {
    push @{ $of{$1} }, $2 if $file =~ /^(\d+)-(\d+)/;
}
is_deeply [map { "@$_" } values %of], ['00 01', '00 01'], 'a child of fork() counts for itself';
($output, undef, $files) = run('api');
is $output, "-22 -2 0 0\n", 'heapsnap_set says what it does not know';
is_deeply $files, names(0, 1), 'and sets it, and unsets it';

# --- by time

my $start = time;
($output, undef, $files, $said) = run('idling', '--every 300ms --min-interval 0');
my $took = time - $start;
my ($seconds) = $output =~ /^events: 0, seconds: ([\d.]+)$/;
ok defined $seconds, 'a program that sleeps does not notice';
cmp_ok scalar(@$files), '>=', 2, 'that snapshots are taken meanwhile';
# One that comes late on a busy machine is followed by one in time.
cmp_ok scalar(@$files), '<=', $took / 0.3 + 1, 'and not more often';
cmp_ok $seconds // 'inf', '<', 5, 'nor sleeps longer';
is $said, '', 'silently';
is scalar(@{ Heapsh::ask_json("$directory/$files->[0]", 'callstack') }), 1,
    'the thread that keeps time is none of the program\'s';
($output, undef, $files) = run('idling', '--every 100ms --min-interval 0.4s');
cmp_ok least_gap($files), '>', 0.39, 'no sooner than the least time between two';
(undef, undef, $files) = run('daemon', '--every 200ms --min-interval 0 --file %p-%N.snap');
cmp_ok scalar(@$files), '>=', 2, 'a daemon goes on';
is scalar(keys %{ { map { /^(\d+)/ ? ($1 => 1) : () } @$files } }), 1, 'under its own name';

SKIP: {
    skip 'no user namespaces here', 2 if system('unshare -U true 2>/dev/null') != 0;
    ($output, undef, $files) = run('namespace', '--every 100ms --file %p-%N.snap');
    is $output, "alone: 0\nwith another: 22\nsetns: -1, 9\n",
        'a program of one thread is one to the kernel, also while a snapshot is written';
    cmp_ok scalar(@$files), '>=', 1, 'and is captured';
}

SKIP: {
    skip 'only root can give up its rights', 1 if $>;
    # Whom the program becomes may not be able to enter the checkout.
    local $bin = Heapsh::public_build();
    (undef, undef, $files) = run('drop-rights', '--every 200ms --min-interval 0');
    cmp_ok scalar(@$files), '>=', 1, 'a program that has given up its rights is captured';
    is_deeply [map { (stat "$directory/$_")[4] } @$files], [(65534) x @$files],
        'files belong to whom the program has become';
}

# --- at the end

# __builtin_trap() raises SIGILL on x86-64, SIGTRAP on aarch64.
my $trap = (POSIX::uname())[4] eq 'aarch64' ? POSIX::SIGTRAP() : POSIX::SIGILL();

for (['growing', 0, 'return from main'], ['thread', 7 << 8, 'exit() in a thread'],
    ['threads-end', 0, 'the end of the last thread'], ['quick', 8 << 8, 'quick_exit()']) {
    (undef, $status, $files) = run($_->[0], '--at-exit');
    is "$status: @$files", "$_->[1]: @{ names(0) }", $_->[2];
}
is live(@$files) >= 0, 1, 'and it can be read';
(undef, $status, $files) = run('dump-and-exit', '--at-exit');
is "$status: @$files", (6 << 8) . ": @{ names(0, 1) }", 'after one that is being written';
(undef, $status, $files) = run('at-once', '--at-exit=all');
is "$status: @$files", (9 << 8) . ': ', 'not _exit()';
(undef, $status, $files) = run('children', '--at-exit', '--file %e-%N.snap');
is "$status: @$files", "0: @{ names(0, 1) }", 'children end too';
(undef, $status, $files) = run('abort', '--at-exit');
is "$status: @$files", '6: ', 'a program that dies of a signal does not exit';
for (['abort', 6], ['fault', 11], ['faults', 11], ['trap', $trap], ['terminate', 15]) {
    ($output, $status, $files) = run($_->[0], '--at-exit=signals');
    is "$output$status: @$files", "$_->[1]: @{ names(0) }", "$_->[0] by a signal: a snapshot, and dead";
}
like scalar(Heapsh::ask("$directory/$files->[0]", 'callstack')), qr/\bterminate\b/, 'with its stack';
(undef, $status, $files) = run('handled', '--at-exit=signals');
is "$status: @$files", (3 << 8) . ': ', 'a signal that the program handles is its own';
(undef, $status, $files) = run('growing', '--at-exit=signals');
is "$status: @$files", '0: ', 'and exit is no signal';

# --- what is kept

(undef, undef, $files) = run('many', '--keep 2');
is_deeply $files, names(3, 4), 'the oldest go, and their numbers stay theirs';
(undef, undef, $files) = run('many', '--keep 2 --at-exit');
is_deeply $files, names(4, 5), 'also those of the end';

# --- what makes no sense

sub complaint {
    my ($name, $value) = @_;
    local $ENV{$name} = $value;
    return (run('many'))[3];
}
is complaint('HEAPSNAP_EVERY', 'soon'), 'heapsnap: HEAPSNAP_EVERY: soon: not a time of 10ms at'
    . " least, like 30s, 500ms, 5m or 1h; no snapshots by time\n", 'HEAPSNAP_EVERY';
is complaint('HEAPSNAP_EVERY', '1ms'), 'heapsnap: HEAPSNAP_EVERY: 1ms: not a time of 10ms at'
    . " least, like 30s, 500ms, 5m or 1h; no snapshots by time\n", 'HEAPSNAP_EVERY too short';
is complaint('HEAPSNAP_EVERY', '1.'), 'heapsnap: HEAPSNAP_EVERY: 1.: not a time of 10ms at'
    . " least, like 30s, 500ms, 5m or 1h; no snapshots by time\n", 'HEAPSNAP_EVERY without what follows a point';
is complaint('HEAPSNAP_GROWTH', '1.5'), 'heapsnap: HEAPSNAP_GROWTH: 1.5: neither bytes, like'
    . " 64M, nor a share, like 10%; no snapshots by growth\n", 'HEAPSNAP_GROWTH of half a byte';
is complaint('HEAPSNAP_GROWTH', '64X'), 'heapsnap: HEAPSNAP_GROWTH: 64X: neither bytes, like'
    . " 64M, nor a share, like 10%; no snapshots by growth\n", 'HEAPSNAP_GROWTH';
is complaint('HEAPSNAP_AT_EXIT', 'yes'), 'heapsnap: HEAPSNAP_AT_EXIT: yes: neither 0, nor 1 or'
    . " exit, nor signals, nor all; no snapshot at the end\n", 'HEAPSNAP_AT_EXIT';
is complaint('HEAPSNAP_KEEP', '-1'),
    "heapsnap: HEAPSNAP_KEEP: -1: not a number up to 10000; all files are kept\n", 'HEAPSNAP_KEEP';
is complaint('HEAPSNAP_MIN_INTERVAL', 'x'),
    "heapsnap: HEAPSNAP_MIN_INTERVAL: x: not a time, like 10s; 1s is used\n", 'HEAPSNAP_MIN_INTERVAL';
for (['--every soon', '--every soon: not a time, like 30s or 5m'],
    ['--growth=1X', '--growth 1X: neither bytes, like 64M, nor a share, like 10%'],
    ['--keep -2', '--keep -2: not a number of files'],
    ['--at-exit=yes', '--at-exit=yes: neither exit, nor signals, nor all']) {
    (undef, $status, $files, $said) = run('many', $_->[0]);
    is "$status: $said", "512: heapsnap: run: $_->[1]; see heapsnap --help\n", $_->[0];
}
done_testing;
