#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Traces of programs whose history is known: sums within the error that heapsh-trace itself tells.
use strict;
use warnings;
use Compress::Zlib qw(memGunzip);
use Cwd qw(abs_path);
use File::Temp qw(tempdir);
use JSON::PP;
use Test::More;

plan skip_all => 'no backtraces are taken on this processor' unless `uname -m` =~ /^x86_64/;
my $build = abs_path($ENV{BUILD} || 'build');
my $directory;

# Runs a history. @return what it says of itself, its trace's path, its wait status
sub run {
    my ($history, $rate, $name) = @_;
    $directory = tempdir(CLEANUP => 1);
    $name //= 'a.trace';
    local $ENV{HEAPSNAP_TRACE} = $name;
    local $ENV{HEAPSNAP_RATE} = $rate;
    my $output = `cd $directory && $build/heapsnap run -- $build/t/programs/trace-history $history 2>.stderr`;
    my $status = $?;
    open my $errors, '<', "$directory/.stderr" or die $!;
    my $said = join '', <$errors>;
    is $said =~ s/^Killed\n//r, '', "$history: silently";
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

# Twice the error is four standard deviations: one run of 16000 may fail.
sub within {
    my ($sum, $exact, $name) = @_;
    my $ok = abs($sum->{bytes} - $exact) <= 2 * $sum->{error} + 1;
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    return ok $ok, $name || diag "$sum->{bytes} ±$sum->{error} is not $exact";
}

# --- totals, and the file

my ($exact, $file) = run('steady', '10K');
my $all = asked($file);
is $all->{dropped}, 0, 'no event is missing';
ok $all->{ended}, 'the trace has an end';
is $all->{mean}, 10240, 'the rate is known';
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
like $profile, qr/alloc_space.*inuse_space.*make_small.*trace-history\.c/s, 'a profile for pprof';
like tool($file), qr/^trace-history \(pid \d+\), .*; 1 sample in 10\.0 KiB\nallocated +\S+ MiB ±/,
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
within(of_site($all, 'grow'), $exact->{grow}, 'each size that realloc has made');
within($all->{end}, $exact->{end}, 'of which the last one stays');

# --- lifetimes: an analysis in C

($exact, $file) = run('backlog', '3000');
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

($exact, $file, my $status) = run('killed', '3000');
is $status & 127 || $status >> 8, $status & 127 ? 9 : 137, 'a program is killed';
$all = asked($file);
ok !$all->{ended}, 'its trace is cut off';
within(of_site($all, 'make_medium'), $exact->{make_medium}, 'and has what came before');

($exact, undef) = run('asked', '3000', '');
$file = "$directory/asked.trace";
within(of_site(asked($file), 'make_medium'), $exact->{make_medium}, 'a trace that the program asks for');
within(asked($file)->{end}, $exact->{make_medium}, 'and ends before all is freed');

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
done_testing;
