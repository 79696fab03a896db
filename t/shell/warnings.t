#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Answers that could be misread say so: empty ones, doubtful types, comparisons of what has nothing in
# common, rates that are smaller than their margin.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $heapsh = "$Sample::build/heapsh";
my $file = Sample::make();
my $empty = Sample::make('empty');

# The output of a line, without the banner.
sub says {
    my ($file, @words) = @_;
    my ($out, $err, $status) = Sample::run('', $heapsh, $file, @words);
    $out =~ s/\AHeap snapshot.*\nHeap contains.*\n//;
    return ($out, $err, $status);
}

# --- nothing is said to be nothing ---------------------------------------------------

my %nothing = (
    'strings' => 'There are no such texts.', 'strings --duplicates' => 'There are no such texts.',
    'waste' => 'No array, list or hash table of 8 elements and more is less than half full; texts are not judged.', 'suggest' => 'No object lacks a type.',
    'last' => 'No answer has had objects yet.', 'alias' => 'There are no aliases.', 'largest' => 'There are no objects.',
    'count' => 'There are no objects.', 'symbols' => 'There are no such variables.', 'roots' => 'No such root leads to an object.',
    'stack' => 'No value on these stacks points into the heap.',
    'sites' => 'There are no objects.', 'find' => 'Total: 0 objects, 0 B',
    'leaks' => 'Nothing is leaked.', 'istype' => 'nothing has been declared', 'compare' => 'Nothing is compared with',
);
for my $line (sort keys %nothing) {
    my ($out, $err, $status) = says($empty, split / /, $line);
    is "$status: $err", '1: ', "$line: status";
    like $out, qr/^\Q$nothing{$line}\E$/m, "$line says that there is nothing";
    my ($quiet) = Sample::heapsh($empty, split / /, $line);
    unlike $quiet, qr/\.$/m, "$line --quiet does not" if $line !~ /^(?:leaks|istype|compare)/;
    my ($json) = Sample::run('', $heapsh, '--json', $empty, split / /, $line);
    like $json, qr/\A(?:[\[{].*[\]}]|null)\n\z/, "$line --json is JSON";
}
is +(says($file, 'outrefs', '5f00100'))[0], "It points to no object.\n", 'outrefs';
is +(says($file, 'inrefs', '5f01240'))[0] =~ /^(?:Nothing points to it\.|.* of .*)$/m, 1, 'inrefs';

fails_with $file, 'callstack --thread 1', 'heapsh: --thread 1: no such thread; `info` lists them', 1;
fails_with $file, 'stack --thread 1', 'heapsh: --thread 1: no such thread; `info` lists them', 1;

# --- types that may not fit ----------------------------------------------------------

is +(says($file, 'istype', '5f02300', 'struct', 'date'))[1],
    "heapsh: most pointers of the object are not where struct date has any; istype --forget takes it back\n",
    'pointers that stand elsewhere';
my ($banner) = Sample::run('', $heapsh, $file, 'find', '--count', 'type', 'date');
is $banner, <<"END", 'later openings say that types are declared';
Heap snapshot of app (pid 4242), 2026-11-20 19:00:01, from heapsnap 0.1
Heap contains 20 objects, 4.7 KiB; 100.0 % of them typed
1 type declared in $file.types holds; `istype` lists them
Total: 2 objects, 60 B
END
is +(Sample::heapsh($file, 'find', '--count', 'type', 'date'))[0], "Total: 2 objects, 60 B\n", 'but not with --quiet';
is +(says($file, 'istype', '5f02300', 'struct', 'slot'))[1], '', 'a whole number of structures, pointers where they belong';
my ($out, $err) = says($file, 'istype', '5f02300', 'char[17]');
my ($text) = (Sample::heapsh($file, 'find', 'string', 'hello'))[0] =~ /at (0x\w+)/;
is +(says($file, 'istype', $text, 'struct', 'date'))[1],
    "heapsh: struct date has 12 bytes, the object 17: 5 are left over; istype --forget takes it back\n", 'bytes that are left over';
is +(says($file, 'istype', '5f00100', 'struct', 'utility'))[2], 2, 'an object that is too small is refused';
unlink "$file.types";

# --- comparisons ---------------------------------------------------------------------

my @series = map { Sample::make('series', $_) } 0, 1;
is +(Sample::run("compare $series[1]\n", $heapsh, '-q', $series[0]))[1], '', 'snapshots of one process';
my @processes = map { Heapsh->start('declared') } 1, 2;
my ($mine, $other) = map { $_->capture } @processes;
my ($my_pid, $other_pid) = map { $_->finish; $_->{pid} } @processes;
is +(Sample::run("compare $other\n", $heapsh, '-q', $mine))[1],
    "heapsh: $other is of another process (declared, pid $other_pid, not declared, pid $my_pid): all objects count as"
    . " new or gone; count --delta still compares numbers\n", 'a snapshot of another process';

# --- rows ----------------------------------------------------------------------------

my $old = Sample::make('series', 100);    # an object or two a second, for minutes
my @ages = map { /^ +\d+ +[\d.]+ \S+  (.*)/ ? $1 : () } split /\n/, (Sample::heapsh($old, 'count', '--by', 'age'))[0];
my %times;
$times{$_}++ for @ages;
cmp_ok scalar(@ages), '>', 50, 'ages';
is_deeply [grep { $times{$_} > 1 } sort keys %times], [], 'no age has two rows';
my $sum = 0;
$sum += $_->{objects} for @{ Sample::json($old, 'count', '--by', 'age') };
is $sum, Sample::json($old, 'find', '--count')->{count}, 'and every object is in one';
done_testing;
