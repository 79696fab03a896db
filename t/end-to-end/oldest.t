#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap run --no-snapshots --oldest: the oldest blocks of a program that is only traced, and what holds
# them. All blocks are sampled, so their order, their holders and their number are known.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use JSON::PP;
use Test::More;

my $build = $Heapsh::build;
$ENV{XDG_CACHE_HOME} ||= "$build/t/cache";
my @traced = qw(--no-snapshots --trace app.trace --rate 1);

# @return what a command prints and says, and its exit status
sub run {
    my $output = `@_ 2>&1`;
    return ($output, $? >> 8);
}

sub json { return JSON::PP->new->decode(scalar `$build/heapsh-trace --json --oldest @_`) }

# The trace has begun when there are events in its file, behind a head of less than 300 bytes.
sub wait_for_trace {
    my ($program) = @_;
    my $until = time + $Heapsh::patience;
    select undef, undef, undef, 0.01 while (-s "$program->{directory}/app.trace" || 0) < 300 && time < $until;
    return;
}

# Has the program write what holds its oldest blocks. @return the file
sub written {
    my ($program) = @_;
    wait_for_trace($program);
    my ($path, $status) = run("timeout $Heapsh::patience $build/heapsnap capture", $program->pid);
    is $status, 0, 'heapsnap capture' or diag $path, $program->errors;
    chomp $path;
    return $path;
}

# "session_open 56: registry → struct registry .first → struct session"
sub brief {
    my ($sample) = @_;
    my ($root, @steps) = @{ $sample->{path} || [] };
    my ($site) = split / /, $sample->{site};
    return join ' ', $site, "$sample->{size}:", $root ? $root->{root}{name} : 'leaked',
        map { ($_->{field} || (), '→', $_->{object}{type} // '?') } @steps;
}

# --- by a signal, and at the end

my $program = Heapsh->start('old-blocks', run => [@traced, '--oldest=45', '--at-exit']);
my $trace = "$program->{directory}/app.trace";
my $file = written($program);
is $file, "$trace.00.oldest", 'the file lies beside the trace, and has its name';
is +(stat $file)[2] & 07777, 0600, 'for its owner alone';
my $answer = json($trace);
is $answer->{snapshot}, $file, 'heapsh-trace finds it';
my $sessions = 'registry → struct registry .first → struct session';
is_deeply [map { brief($_) } @{ $answer->{oldest} }[0 .. 6]],
    ['registry_new 16: registry → struct registry',
    "session_open 56: $sessions .next → struct session .next → struct session",
    "session_open 56: $sessions .next → struct session",
    "session_open 56: $sessions",
    'order_lose 128: leaked',
    'record_new 96: records [0] → struct record',
    'record_new 96: records [1] → struct record'], 'the oldest, by age, and what holds them';
is $answer->{oldest}[4]{leaked}, JSON::PP::true, 'nothing holds the order';
is $answer->{samples}, 45, 'as many as were asked for';
is scalar @{ $answer->{oldest} }, 20, 'of which 20 are printed';
is_deeply [map { brief($_) } @{ json('--limit 50', $trace)->{oldest} }[5 .. 44]],
    [map { "record_new 96: records [$_] → struct record" } 0 .. 39], 'the last of them are the records';
my ($first, $second) = @{ $answer->{oldest} };
is $_->{age_us}, $answer->{time_us} - $_->{born_us}, 'an age is the time from birth to the signal' for $first, $second;
cmp_ok $first->{born_us}, '<=', $second->{born_us}, 'ages go down';
is_deeply [map { brief($_) } @{ json('--site registry_new', $trace)->{oldest} }],
    ['registry_new 16: registry → struct registry'], 'a filter';
my $address = qr/0x[0-9a-f]+/;
like +(run("$build/heapsh-trace --oldest --limit 2 $trace"))[0], qr{\A
    \Q$file\E,\ \S+\ \S+\ from\ the\ trace's\ beginning:\ 45\ sampled\ blocks,\ the\ oldest\ first\n
    \n\S+\ \S+\ \ 16\ B\ \ registry_new\ \(old-blocks\.c:\d+\)\n
    \ \ the\ global\ variable\ registry\ \(old-blocks\.c:\d+,\ old-blocks\)\n
    \ {4}→\ struct\ registry\ at\ $address\n
    \n\S+\ \S+\ \ 56\ B\ \ session_open\ \(old-blocks\.c:\d+\)\n
    .*\n\ {4}→\ struct\ registry\ at\ $address\n\ {4}\.first\ →\ struct\ session\ at\ $address\n
    \ {4}\.next\ →\ struct\ session\ at\ $address\n\ {4}\.next\ →\ struct\ session\ at\ $address\n\z}x, 'in words';

# heapsh reads it, too.
is_deeply Heapsh::ask_json($file, 'info')->{origin}, 'traced', 'heapsh: where it comes from';
like scalar Heapsh::ask($file, 'info'), qr/^left out  all but the 45 oldest sampled blocks, and a path/m, 'and that it is a part';
is Heapsh::ask($file, 'find', '--count', 'type', 'record'), "Total: 40 objects, 4.1 KiB\n", 'heapsh: objects';

my ($rest, $status) = $program->finish;
is_deeply [$rest, $status, $program->errors], ['', 0, ''], 'the program does what it does, and says nothing';
ok -e "$trace.01.oldest", '--at-exit writes another at the end';
is json($trace)->{snapshot}, "$trace.01.oldest", 'the latest one is read';
is_deeply [map { brief($_) } @{ json('--limit 4', $trace)->{oldest} }], [map { brief($_) } @{ $answer->{oldest} }[0 .. 3]],
    'which has the same oldest';

# A file that an earlier trace of that name has left does not count.
my $other = Heapsh->start('old-blocks', run => [@traced, '--oldest=3']);
copy(written($other), "$trace.02.oldest") or die "copy: $!";
my $small = json("$other->{directory}/app.trace");
is_deeply [map { brief($_) } @{ $small->{oldest} }], [map { brief($_) } @{ $answer->{oldest} }[0 .. 2]], '--oldest=3';
is json($trace)->{snapshot}, "$trace.01.oldest", "another process's file is passed over";
$other->finish;

# --- without the file

unlink glob "$trace.*.oldest";
my $ages = json($trace);
is_deeply [map { $_->{size} } @{ $ages->{oldest} }[0 .. 4]], [16, 56, 56, 56, 128], 'ages and sizes are known all the same';
is $ages->{oldest}[0]{path}, undef, 'and no path is';
like +(run("$build/heapsh-trace --oldest $trace"))[0], qr/^What holds them is not known: there is neither a snapshot /m, 'which it says';

# --- with the library for snapshots

my $captured = Heapsh->start('old-blocks', run => [qw(--trace app.trace --rate 1)]);
wait_for_trace($captured);
my $snapshot = $captured->capture;
is_deeply [map { brief($_) } @{ json('--snapshot', $snapshot, '--limit 4', "$captured->{directory}/app.trace")->{oldest} }],
    [map { brief($_) } @{ $answer->{oldest} }[0 .. 3]], 'a snapshot tells the same';
$captured->finish;

# --- other allocators

SKIP: {
    my ($jemalloc) = map { m{=> (\S+libjemalloc\.so\S*)$} ? $1 : () } `PATH=\$PATH:/sbin:/usr/sbin ldconfig -p`;
    skip 'jemalloc is not installed', 2 unless $jemalloc;
    skip 'a sanitizer comes first', 2 if $ENV{SANITIZE};
    my $above = Heapsh->start('old-blocks', run => [@traced, '--oldest'], env => { LD_PRELOAD => $jemalloc });
    written($above);
    is_deeply [map { brief($_) } @{ json('--limit 4', "$above->{directory}/app.trace")->{oldest} }],
        [map { brief($_) } @{ $answer->{oldest} }[0 .. 3]], "jemalloc's blocks";
    $above->finish;
}

# --- what cannot be

my $directory = tempdir(CLEANUP => 1);
my $run = "cd $directory && $build/heapsnap run";
is_deeply [run("$run --oldest --trace x /bin/true")],
    ["heapsnap: run: --oldest is for --no-snapshots: a snapshot has all blocks, and heapsh-trace --oldest --snapshot "
        . "tells which are the oldest; see heapsnap --help\n", 2], '--oldest with snapshots';
is_deeply [run("$run --no-snapshots --oldest=few /bin/true")],
    ["heapsnap: run: --oldest=few: not a number of blocks; see heapsnap --help\n", 2], 'no number';
is_deeply [run("cd $directory && HEAPSNAP_OLDEST=1e9 LD_PRELOAD=$build/libheapsnap-trace.so /bin/true")],
    ["heapsnap: HEAPSNAP_OLDEST: 1e9: not a number of blocks up to 10000; none are looked for\n", 0], 'one line says so';
my $untraced = Heapsh->start('old-blocks', run => [qw(--no-snapshots --oldest --trace-signal USR2)]);
my ($said, $failed) = run("timeout $Heapsh::patience $build/heapsnap capture", $untraced->pid);
is $failed, 1, 'before the trace has begun there is nothing to write';
like $said, qr/no old blocks: the process has not begun a trace/, 'which it says';
is +($untraced->finish)[1], 0, 'and the program goes on';
done_testing;
