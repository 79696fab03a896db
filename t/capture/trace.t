#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Traces of programs whose history is known: sums within the error that heapsh-trace itself tells.
use strict;
use warnings;
use Compress::Zlib qw(memGunzip);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use POSIX ();
use JSON::PP;
use List::Util qw(max);
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory;
our @options;    # of heapsnap run: trace-untracked.t has some

# Runs a history. @return what it says of itself, its trace's path, its wait status
sub run {
    my ($history, $rate, $name, $complaints) = @_;
    $directory = tempdir(CLEANUP => 1);
    $name //= 'a.trace';
    local $ENV{HEAPSNAP_TRACE} = $name;
    local $ENV{HEAPSNAP_RATE} = $rate;
    my $output = `cd $directory && $build/heapsnap run @options -- $build/t/programs/trace-history $history 2>.stderr`;
    my $status = $?;
    open my $errors, '<', "$directory/.stderr" or die $!;
    my $said = join '', <$errors>;
    is $said =~ s/^Killed\n//r, $complaints // '', "$history: says " . ($complaints ? 'why' : 'nothing');
    return ({ $output =~ /^(\S+) (\S+)$/mg }, "$directory/a.trace", $status);
}

sub tool { my ($file, @options) = @_; return scalar `$build/heapsh-trace @options $file 2>&1` }
sub asked { return JSON::PP->new->utf8->decode(tool(shift, '--json', @_)) }

# The sum of a function's blocks, as one of the places of an answer.
sub of_site {
    my ($answer, $function) = @_;
    my ($place) = grep { $_->{place} =~ /^\Q$function\E / } @{ $answer->{places} };
    return $place ? $place->{sum} : { bytes => 0, error => 0, samples => 0 };
}

# Three times the error is six standard deviations. Twice is too little: sums are skewed, and of 1500 runs
# of 'doubling' one was off by 2.14 times its error. The error grows with the root of the sum; from a sum
# that happens to be small one would expect too small a one.
sub within {
    my ($sum, $exact, $name) = @_;
    my $error = $sum->{bytes} && $sum->{error} * sqrt(max(1, $exact / $sum->{bytes}));
    my $ok = abs($sum->{bytes} - $exact) <= 3 * $error + 1;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok($ok, $name) || diag "$sum->{bytes} ±$sum->{error} is not $exact";
}

# --- totals, and the file

# At 10K, one of 17,000 large blocks is missed, and so one of 40 in one of 440 runs: far from a normal distribution.
my ($exact, $file) = run('steady', '5K');
my $all = asked($file);
is $all->{dropped}, 0, 'no event is missing';
ok $all->{ended}, 'the trace has an end';
is $all->{mean}, 5120, 'the rate is known';
within(of_site($all, $_), $exact->{$_}, "$_: bytes within the error") for sort keys %$exact;
cmp_ok of_site($all, 'make_small')->{samples}, '>', 200, 'small blocks are sampled, too';
cmp_ok $all->{peak}{bytes}, '<', 200000, 'hardly any two live at a time';
cmp_ok -s $file, '<=', 12 * 2 * $all->{allocated}{samples} + 4000, '12 bytes per event at most';
my $mode = (stat $file)[2] & 07777;
is $mode, 0600, 'for the eyes of its owner alone';
my $by_tree = asked($file, '--tree');
is $by_tree->{places}[0]{place} =~ s/ .*//r, 'main', 'the tree begins at main';
like tool($file, '--collapsed'), qr/^main \(trace-history\.c:\d+\);steady \(.*\);make_small \(.*\) \d+$/m,
    'collapsed stacks';
my $profile = memGunzip(tool($file, '--pprof'));
like $profile, qr/alloc_space.*inuse_space(?=.*trace-history\.c).*make_small/s, 'a profile for pprof';
like tool($file), qr/^trace-history \(pid \d+\), .*; 1 sample in 5\.0 KiB\nallocated +\S+ MiB ±/,
    'the summary';

# --- filters

is of_site(asked($file, '--size', "'>1000'"), 'make_small')->{samples}, 0, '--size';
is scalar @{ asked($file, '--sites', '--site', 'make_large')->{places} }, 1, '--site';
is of_site(asked($file, '--sites', '--not-frame', 'steady'), 'make_small')->{samples}, 0, '--not-frame';
is of_site(asked($file, '--sites', '--frame', 'steady'), 'make_large')->{samples},
    of_site($all, 'make_large')->{samples}, '--frame';
is asked($file, '--sites', '--longer', '1h')->{places}[0], undef, '--longer';

# --- what is there at the end, at the peak, at a time

($exact, $file) = run('leak', '10K');
$all = asked($file, '--sites', '--by', 'end');
within(of_site($all, 'make_medium'), $exact->{leaked}, 'what is not freed');
is of_site($all, 'make_small')->{samples}, 0, 'what is freed';

($exact, $file) = run('peak', '50K');
$all = asked($file);
within($all->{peak}, $exact->{peak}, 'the peak');
within($all->{end}, $exact->{end}, 'and the end');
cmp_ok $all->{peak_us} / 1000, '<', $exact->{peak_ms} + 200, 'no later than it was';
within(of_site(asked($file, '--sites', '--by', '99h'), 'make_large'), $exact->{end}, 'at a time');

($exact, $file) = run('doubling', '20K');
$all = asked($file);
within(of_site($all, 'doubling'), $exact->{grow}, 'each size that realloc has made');
within($all->{end}, $exact->{end}, 'of which the last one stays');

# --- lifetimes: an analysis in C

# Once more, and more slowly, where the program had to wait for a processor.
for my $pace (1 .. 10) {
    local $ENV{PACE_MS} = $pace;
    ($exact, $file) = run('backlog', '3000');
    last if $exact->{late_ms} < 10 * $pace;
}
my %queue = `$build/t/helper/trace_queue $file` =~ /^(\S+) (\d+)$/mg;
within(of_site(asked($file), 'make_medium'), $exact->{make_medium}, 'a queue');
cmp_ok $queue{part1}, '>', $queue{part0}, 'the later in, the longer there';
cmp_ok $queue{part2}, '>', $queue{part0}, 'until it is emptied';
cmp_ok $queue{freed}, '>', 1000, 'all have been freed';
is $queue{elsewhere}, 0, 'by the thread that made them';

($exact, $file) = run('across', '10K');
%queue = `$build/t/helper/trace_queue $file` =~ /^(\S+) (\d+)$/mg;
is $queue{elsewhere}, $queue{freed}, 'frees by another thread';
is of_site(asked($file, '--sites', '--by', 'end'), 'make_medium')->{samples}, 0, 'nothing is left';

# --- processes

($exact, $file) = run('forked', '3000');
within(of_site(asked($file), 'make_medium'), $exact->{make_medium}, "the parent's trace");
is of_site(asked($file, '--sites', '--by', 'end'), 'make_medium')->{samples}, 0, 'knows its own frees';
$all = asked("$file.$exact->{child}");
is of_site($all, 'make_medium')->{samples}, 0, "the child's trace knows of its own blocks alone";
within(of_site($all, 'make_small'), 100000, 'and of all of these');
is $all->{pid}, $exact->{child}, 'under its pid';

# A process may have the pid of an earlier one. What it says would be read by its parent.
{
    my $folder = tempdir(CLEANUP => 1);
    my $late = 'echo $$; echo the trace of another process > b.trace.$$; LD_PRELOAD=$ours exec "$0" leak > /dev/null';
    local $ENV{late} = $late;
    my $said = `cd $folder && $build/heapsnap run @options --trace b.trace --rate 1 -- sh -c 'ours=\$LD_PRELOAD LD_PRELOAD= sh -c "\$late" $build/t/programs/trace-history; :' 2>&1`;
    like $said, qr/^\d+\n\z/, 'a pid of which there is a trace: nothing is said';
    my $pid = $said =~ s/\D//gr;
    is -s "$folder/b.trace.$pid", 29, '... it stays';
    is asked("$folder/b.trace.$pid.2")->{pid}, $pid, '... and there is another one';
}

($exact, $file, my $status) = run('killed', '3000');
is $status & 127 || $status >> 8, $status & 127 ? 9 : 137, 'a program is killed';
$all = asked($file);
ok !$all->{ended}, 'its trace is cut off';
within(of_site($all, 'make_medium'), $exact->{make_medium}, 'and has what came before');

($exact, undef) = run('asked', '3000', '');
$file = "$directory/asked.trace";
is asked($file)->{mean}, 3000, 'the rate counts for a trace that the program asks for';
within(of_site(asked($file), 'make_medium'), $exact->{make_medium}, 'so that its sum is known');
within(asked($file)->{end}, $exact->{make_medium}, 'and ends before all is freed');

# --- all blocks are sampled: figures are exact

my %found;
for my $history (qw(leak peak backlog doubling across forked killed)) {
    my ($exact, $file) = run($history, '1');
    # Not of what printf() allocates.
    my $all = asked($file, '--site', $history eq 'doubling' ? 'doubling' : q('make_*'));
    is $all->{dropped}, 0, "$history: no event is missing";
    is $all->{allocated}{error}, 0, 'nothing is estimated';
    $found{$history} = { exact => $exact, file => $file, %$all };
}
is $found{leak}{end}{samples}, 5000, 'leak: each block';
is $found{leak}{end}{bytes}, $found{leak}{exact}{leaked}, 'leak: its bytes';
is $found{leak}{allocated}{samples}, 10000, 'leak: of so many';
is $found{peak}{peak}{samples}, 301, 'peak: its blocks';
is $found{peak}{peak}{bytes}, $found{peak}{exact}{peak}, 'peak: its bytes';
is $found{peak}{end}{samples}, 30, 'peak: what stays';
like $found{backlog}{peak}{samples}, qr/^100[01]$/, 'backlog: what waits at most';
is $found{backlog}{allocated}{samples}, 2000, 'backlog: all that ever waited';
is $found{backlog}{end}{samples}, 0, 'backlog: it is emptied';
is $found{doubling}{allocated}{samples}, 50 * 11, 'realloc: each size that a block has had';
is $found{doubling}{allocated}{bytes}, $found{doubling}{exact}{grow}, 'realloc: in bytes';
is $found{doubling}{end}{bytes}, $found{doubling}{exact}{end}, 'realloc: the last size stays';
is $found{across}{allocated}{samples}, 10000, 'another thread: all blocks';
is { `$build/t/helper/trace_queue $found{across}{file}` =~ /^(\S+) (\d+)$/mg }->{elsewhere}, 10000,
    'another thread: frees all of them';
is $found{forked}{allocated}{samples}, 1000, 'fork: all blocks';
is $found{forked}{end}{samples}, 0, 'fork: that are freed';
is asked("$found{forked}{file}.$found{forked}{exact}{child}", q(--site 'make_*'))->{end}{samples}, 1000, "fork: the child's own";
is asked("$found{forked}{file}.$found{forked}{exact}{child}", q(--site 'make_*'), '--thread',
    $found{forked}{exact}{child})->{allocated}{samples}, 1000, "fork: by the child's thread";
is $found{killed}{allocated}{samples}, 1000, 'killed: all that is older than 50 ms';

# --- sums are right on average, and as often as the error promises

{
    my ($deviations, $within, $runs) = (0, 0, 16);
    for (1 .. $runs) {
        my ($exact, $file) = run('steady', '30K');
        my $sum = asked($file)->{allocated};
        my $off = ($sum->{bytes} - $exact->{make_small} - $exact->{make_medium} - $exact->{make_large})
            / ($sum->{error} / 2);
        $deviations += $off / sqrt $runs;
        $within += abs $off <= 2;
    }
    cmp_ok abs $deviations, '<', 4, 'unbiased: the mean of 16 runs is within four of its standard deviations';
    cmp_ok $within, '>=', 11, "$within of 16 runs are within the error, which 19 of 20 should be";
}

# --- filters: a block of each kind at each time is known

{
    # At 0 s ten blocks of 3000 bytes; at 0.3 s twenty of these, five of 100000 that die at once, thirty
    # of 100 by another thread; at 0.6 s the first twenty are freed, and one of 100000 is made.
    # Again where a busy machine kept the program waiting, and more slowly: times below are of a machine
    # that is in time at once.
    my ($exact, $file, $slower);
    for my $try (0 .. 19) {
        $slower = 2**int($try / 5);
        local $ENV{STAGE_MS} = 300 * $slower;
        ($exact, $file) = run('staged', '1');
        last if $exact->{late_ms} < 50 * $slower;
    }
    my $times = sub { return map { s/(\d+)ms/$slower * $1 . 'ms'/ger } @_ };
    my @ours = ('--frame', q('make_*'));
    my $samples = sub { return asked($file, @ours, $times->(@_))->{allocated}{samples} };
    is $samples->(), 66, 'all';
    is $samples->('--between', ',150ms'), 10, '--between: until a time';
    is $samples->('--between', '150ms,450ms'), 55, '--between: two times';
    is $samples->('--between', '450ms,'), 1, '--between: from a time';
    is $samples->('--live', ',150ms'), 10, '--live: at the beginning';
    is $samples->('--live', '450ms,1h'), 61, '--live: at some time of the second half';
    is $samples->('--live', '150ms,450ms'), 65, '--live: in the middle';
    is $samples->('--at', '150ms'), 10, '--at: a moment';
    is $samples->('--at', '450ms'), 60, '--at: a later one';
    is $samples->('--at', '99h'), 41, '--at: the end';
    is $samples->('--shorter', '100ms'), 5, '--shorter: freed at once';
    is $samples->('--shorter', '450ms'), 15, '--shorter: and after 0.3 s';
    is $samples->('--shorter', '1h'), 25, '--shorter: all that are freed';
    is $samples->('--longer', '200ms'), 60, '--longer';
    is $samples->('--longer', '450ms'), 10, '--longer than 0.45 s';
    is $samples->('--size', '3000'), 30, '--size';
    is $samples->('--size', q('<3000')), 30, '--size below';
    is $samples->('--size', q('>2K')), 36, '--size above';
    is $samples->('--thread', $exact->{thread}), 30, '--thread';
    is $samples->('--thread', asked($file)->{pid}), 36, '--thread: the first';
    is $samples->('--site', 'make_medium'), 30, '--site: a function';
    is $samples->('--site', q('make_[sl]*')), 36, '--site: a glob';
    is $samples->('--site', 'trace-history.c'), 66, '--site: a file';
    is $samples->('--site', 'trace-history'), 66, '--site: a module';
    is $samples->('--frame', 'make_some'), 30, '--frame: on behalf of a function';
    is $samples->('--frame', 'staged', '--frame', 'make_large'), 6, '--frame: two';
    is $samples->('--not-frame', 'make_some'), 36, '--not-frame';
    is $samples->('--not-frame', 'make_some', '--not-frame', 'make_large'), 30, '--not-frame: two';
    is $samples->('--between', '150ms,450ms', '--shorter', '1h', '--size', 3000), 10, 'several';
    my ($line) = asked($file, '--sites')->{places}[0]{place} =~ /\((trace-history\.c:\d+)\)/;
    is $samples->('--site', $line), asked($file, '--sites', @ours)->{places}[0]{sum}{samples}, '--site: a line';
    is_deeply { map { ($_->{place} =~ s/ .*//r, $_->{sum}{samples}) }
        @{ asked($file, '--sites', @ours, '--by', $times->($_->[0]))->{places} } }, $_->[1], "--by $_->[0]"
        for ['allocated', { make_large => 6, make_medium => 30, make_small => 30 }],
        ['end', { make_large => 1, make_medium => 10, make_small => 30 }],
        ['peak', { make_large => 1, make_medium => 30 }],
        ['150ms', { make_medium => 10 }];
    my %lived = map { ($_->{alive} ? 'alive' : $_->{below_us}, $_->{sum}{samples}) }
        @{ asked($file, '--lifetimes', '--site', 'make_medium')->{lifetimes} };
    my %expected = (alive => 10);
    for my $us (map { 300_000 * $slower * $_ } 1, 2) {
        my $below = 1;
        $below *= 10 while $below <= $us;
        $expected{$below} += 10;
    }
    is_deeply \%lived, \%expected, 'lifetimes';
    is asked($file, @ours, '--timeline')->{timeline}[-1]{live}{samples}, 41, 'the timeline ends at the end';
}

# --- what finds no room is counted: a block that is not there, or one whose free is not

{
    my ($exact, $file) = run('flood', '1');
    my $ours = asked($file, '--site', 'make_small');
    my $others = asked($file)->{allocated}{samples} - $ours->{allocated}{samples};
    cmp_ok $others, '<=', 12, 'what threads and printf() need';
    cmp_ok abs($exact->{make_small} - $ours->{allocated}{samples} + $ours->{end}{samples} - $ours->{dropped}), '<=', 12,
        "$ours->{dropped} events of $exact->{make_small} blocks are missing: as many as it says, but for those";
}

{
    my ($exact, $file) = run('many', '1');
    my $ours = asked($file, '--site', 'make_small');
    cmp_ok $ours->{allocated}{samples}, '>', 100_000, 'of as many as there is room for, all is known';
    is $ours->{end}{samples}, $ours->{allocated}{samples}, 'none of them is freed';
    my $more = $ours->{dropped} - ($exact->{make_small} - $ours->{allocated}{samples});
    ok $more == 0 || $more == 1, "the others are missing, as it says, and what printf() needs perhaps: $more";
}

# --- wrappers are looked through

{
    my (undef, $file) = run('wrapped', '1');
    my $found = sub { return { map { ($_->{place} =~ s/ .*//r, $_->{sum}{samples}) }
        @{ asked($file, '--sites', '--size', q('>2000'), '--size', q('<2010'), @_)->{places} } } };
    my $makers = { map { ("make_$_", 100) } qw(apple pear cherry plum fig) };
    is_deeply $found->(), $makers, 'a site is the caller of xmalloc()';
    is_deeply $found->('--wrappers'), { xmalloc => 500 }, '--wrappers';
    my $tree = asked($file, '--callers', '--size', 2003)->{places}[0];
    like $tree->{place}, qr/^make_cherry /, 'in trees';
    like asked($file, '--callers', '--wrappers', '--size', 2003)->{places}[0]{calls}[0]{place}, qr/^make_cherry /,
        'with --wrappers one call further up';
    is asked($file, '--site', 'make_plum')->{allocated}{samples}, 100, 'by filters';
}

# --- by signal. A mean of a byte samples all blocks: figures are exact.

{
    local $ENV{HEAPSNAP_TRACE_SIGNAL} = 'USR2';
    run('signalled', '1', 'signalled-%N.trace');
    my @files = glob "$directory/signalled-*.trace";
    is_deeply [map { s{.*/}{}r } @files], [map { "signalled-0$_.trace" } 0, 1], 'a trace begins with every other signal';
    for my $round (0, 1) {
        $all = asked($files[$round]);
        my $count = 1000 * ($round + 1);
        is of_site($all, 'make_medium')->{samples}, $count, "trace $round: each block";
        is of_site($all, 'make_medium')->{error}, 0, 'without an error';
        is $all->{allocated}{samples}, $count, 'and nothing of what is allocated before and after';
        is $all->{end}{samples}, $count - 1, 'of which one is freed in time';
        is $all->{dropped}, 0, 'no event is missing';
        ok $all->{ended}, 'it has an end';
    }
    run('signalled', '1', '');
    is_deeply [map { s{.*/}{}r } glob "$directory/*"], [map { "trace-history-0$_.trace" } 0, 1], 'the usual name';
    run('signalled', '1', 'once.trace', "heapsnap: no trace: there is such a file already; the program goes on\n" x 2);
    is asked("$directory/once.trace")->{allocated}{samples}, 1000, 'a file that is there stays';
}
{
    local $ENV{HEAPSNAP_TRACE_SIGNAL} = 'QUIT';
    run('steady', '10K', '', @options ? '' : "heapsnap: HEAPSNAP_TRACE_SIGNAL: QUIT: that one asks for snapshots; none is used\n");
    local $ENV{HEAPSNAP_TRACE_SIGNAL} = 'NONE';
    run('steady', '10K', '', "heapsnap: HEAPSNAP_TRACE_SIGNAL: NONE: not a signal that can be caught; none is used\n");
}

# --- a script that becomes another program, after having started others

{
    $directory = tempdir(CLEANUP => 1);
    open my $script, '>', "$directory/wrapper" or die $!;
    print $script "#!/bin/sh\nfor i in 1 2 3 4 5; do basename /x/y >/dev/null; done\nexec $build/t/programs/trace-history peak\n";
    close $script;
    chmod 0755, "$directory/wrapper";
    local $ENV{HEAPSNAP_TRACE} = 'a.trace';
    is `cd $directory && $build/heapsnap run @options -- ./wrapper 2>&1` =~ s/^\S+ \S+\n//mgr, '', 'a wrapper: nothing is said';
    like tool("$directory/a.trace"), qr/^trace-history \(pid \d+\)/, '... the name belongs to what it becomes';
    is scalar(my @others = glob "$directory/a.trace.*"), 5, '... others have names of their own';
    chmod 0644, "$directory/a.trace";
    my $before = -s "$directory/a.trace";
    is_deeply [grep { $_ ne "heapsnap: no trace: there is such a file already; the program goes on\n" }
        map { scalar `cd $directory && $build/heapsnap run @options -- true 2>&1` } 1 .. 20], [],
        'a file of an earlier run: one line says so, each time';
    is -s "$directory/a.trace", $before, '... stays as it is';
}

# --- damage

($exact, $file) = run('peak', '500K');
open my $in, '<:raw', $file or die $!;
my $bytes = do { local $/; <$in> };
my (%ended, @died);
for my $i (0 .. 199) {
    my $damaged = $bytes;
    my $at = int($i * length($bytes) / 200);
    if ($i % 2) { substr($damaged, $at, 1) ^= chr(1 << $i % 8) }
    else        { $damaged = substr $damaged, 0, $at }
    open my $out, '>:raw', "$directory/damaged.trace" or die $!;
    print $out $damaged;
    close $out;
    tool("$directory/damaged.trace");
    push @died, $i if $? & 127;
    $ended{ $? >> 8 }++;
}
is "@died", '', 'damaged files are refused, or read up to the damage';
cmp_ok $ended{2}, '>', 50, 'most flipped bits are noticed';
like tool('/dev/null'), qr{^heapsh-trace: /dev/null: no regular file$}, 'what is no trace';
POSIX::mkfifo("$directory/pipe", 0600) or die $!;
like tool("$directory/pipe"), qr{: no regular file$}, 'a pipe is not waited for';
open my $sparse, '>', "$directory/sparse" or die $!;
truncate $sparse, 2**40 or die $!;
like tool("$directory/sparse"), qr{: not a trace of heapsnap$}, 'no memory is taken for a file that is no trace';
done_testing;
