#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A leak, a cache that fills, a steady state, a vector that grows and a block that comes back at
# its address (t/programs/series.c), captured without being asked: each is told for what it is.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use JSON::PP;
use Test::More;

sub total {
    my ($file, $type) = @_;
    return Heapsh::ask_json($file, 'find', '--count', 'type', $type)->{count};
}

# Each snapshot is to come between two batches of 25 steps. Again, with more time between them, where a busy
# machine let one come too early.
my (@files, $program, $output, $status);
for my $every (250, 500, 1000, 2000, 4000) {
    $program = Heapsh->start('series', args => [16], no_wait => 1, run => ['--every', "${every}ms"]);
    ($output, $status) = $program->finish;
    @files = $program->snapshots;
    last if @files >= 16 && !grep { total($files[$_], 'struct session') != 25 * ($_ + 1) } 0 .. 15;
}
is $output, "400 steps, 300 cached\n", 'the program goes on';
is "$status" . $program->errors, '0', 'silently';
cmp_ok scalar(@files), '>=', 16, 'there is a series';
splice @files, 16; # one may have come while the program ended
Heapsh::space_evenly(@files);

sub report {
    my (@arguments) = @_;
    return JSON::PP->new->utf8->decode(
        scalar `$Heapsh::build/heapsh-leakreport --quiet --json @arguments`);
}

# Three snapshots of a program that goes on by a line of input.
sub round_by_round {
    my ($name) = @_;
    my $growing = Heapsh->start($name);
    my @file = ($growing->capture);
    for (1, 2) {
        print { $growing->{in} } "\n";
        $growing->line;
        push @file, $growing->capture;
    }
    $growing->finish;
    Heapsh::space_evenly(@file);
    return @file;
}

# The sums of each group of the summary, by type.
sub judgements {
    my ($report) = @_;
    return { map { ($_->{kind} =~ s/^struct (\w+), .*/$1/r) => $_ } @{ $report->{summary} } };
}

# The first snapshots, while the cache fills: nothing tells it from a leak.
my @filling = grep { total($_, 'struct utility') < 300 } @files;
cmp_ok scalar(@filling), '>=', 3, 'some were taken while the cache filled';
my $early = judgements(report(@filling));
is $early->{session}{trend}{judgement}, 'steady growth', 'early: the leak grows';
is $early->{utility}{trend}{judgement}, 'steady growth', 'early: and so does the cache';

# All of them.
my $all = report(@files);
my $late = judgements($all);
is $late->{session}{trend}{judgement}, 'steady growth', 'late: the leak still grows';
is $late->{utility}{trend}{judgement}, 'a full cache', 'late: the cache has filled';
is $late->{utility}{history}[-1], 300, 'with its 300 objects';
is $late->{utility}{trend}{since}, scalar(grep { total($_, 'struct utility') < 294 } @files),
    'since it was full, or had 2 % to go';
is $late->{sample}{trend}{judgement}, 'steady growth in size', 'the vector grows in size';
is join(' ', grep { ($late->{$_}{trend}{kind}) eq 'steady' } sort keys %$late), 'sample session',
    'and nothing else grows';
is $late->{renewed}, undef, 'what comes back at its address is no candidate';

# The candidates are exactly the sessions between the first and the last but one.
my @leaks = grep { $_->{object}{type} eq 'struct session' } @{ $all->{leaks} };
is scalar(@leaks), total($files[-2], 'struct session') - total($files[0], 'struct session'),
    'all that leaked is named';
for my $n (1 .. $#files - 1) {
    is scalar(grep { $_->{first} == $n } @leaks),
        total($files[$n], 'struct session') - total($files[$n - 1], 'struct session'),
        "those that are new in [$n]";
}
is_deeply $late->{session}{history}, [map { 25 * $_ } 1 .. 16], '25 from one to the next';
cmp_ok $late->{session}{trend}{objects_per_hour}, '>', 0, 'at a rate';

# Who holds them, and how they came to be.
my %holder = map { $_->{dominator} => $_ } @{ report('--by', 'dominator', @files)->{summary} };
my ($sessions) = grep { /^the global variable sessions \(series\.c:\d+, series\)$/ } keys %holder;
is $holder{ $sessions // '' }{objects}, scalar(@leaks), 'the list of sessions holds the leak';
my ($way) = grep { $_->{growing} =~ /^struct session,/ } @{ report('--by', 'backtrace', @files)->{summary} };
like $way->{backtrace}, qr/^leak \(series\.c:\d+\) < step \(series\.c:\d+\) < main \(series\.c:\d+\)/,
    'and the calls that led to it are told';

# From one to the next: what is added and freed; the vector is resized, wherever it is.
my ($before, $after) = @files[-3, -1];
my %row = map { ($_->{name} =~ s/^struct (\w+), .*/$1/r) => $_ } @{ JSON::PP->new->utf8->decode(
    scalar `$Heapsh::build/heapsh-diff --json $before $after`)->{rows} };
is $row{session}{added}{objects},
    total($after, 'struct session') - total($before, 'struct session'), 'sessions were added';
is $row{session}{freed}{objects}, 0, 'and none was freed';
is $row{utility}{added}{objects}, $row{utility}{freed}{objects}, 'one utility comes, one goes';
is $row{sample}{resized}{objects} + $row{sample}{moved}{objects}, 1, 'the vector has grown';
is $row{sample}{added}{objects}, 0, 'and is not another';
is_deeply [@{ $row{renewed} }{qw(added freed)}], [({ objects => 1, bytes => 16 }) x 2],
    'what is renewed is another, at the address that it had';
# By holder: what several variables hold together is not what nothing holds.
{
    my $summary = report('-s', '--by', 'dominator', round_by_round('shared-growth'))->{summary};
    is_deeply { map { $_->{dominator} => $_->{objects} } @$summary },
        { 'by_name and by_age, together' => 20, 'nothing (leaked)' => 8 }, 'by dominator: two together, and nothing';
}
# A vector that moves each time is no candidate, and grows all the same.
{
    my $moved = report('-s', round_by_round('moved-vector'));
    my ($vector) = grep { $_->{kind} =~ /, main \(moved-vector\.c:\d+\)/ } @{ $moved->{summary} };
    is_deeply [@$vector{qw(objects bytes history)}, $vector->{trend}{judgement}],
        [1, 3000000, [1, 1, 1], 'steady growth in size'], 'a vector that moves counts as what there is of it';
    is_deeply [@$moved{qw(objects bytes)}], [1, 3000000], 'in the sum, too';
}
done_testing;
