#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots with numbers that make no sense, for the tools that read several: each ends, none
# crashes.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $build = $Sample::build;
my $whole = Sample::make();
my @bad;
for my $seed (1 .. 40) {
    my $wild = Sample::make('wild', $seed);
    for (['heapsh-diff', $whole, $wild], ['heapsh-diff', '--retained', '--all', $wild, $whole],
        ['heapsh-evolution', '--color=always', '--width', 60, $whole, $wild],
        ['heapsh-evolution', '--by', 'root', '--svg', $wild],
        ['heapsh-evolution', '--retained', '--csv', $wild], ['heapsh-unfreed', $wild],
        ['heapsh-leakreport', '--by', 'dominator', $whole, $wild, $wild],
        ['heapsh', '-q', $whole, $wild, 'history', '5f01000'],
        ['heapsh-check', '--max-leaked', 0, '--rule', 'struct node <= 1', $wild], ['heapsh-check', '--format', 'sarif', $whole, ($wild) x 4],
        (map { ['heapsh', '-q', $wild, 'sql', "select * from $_"] } qw(objects edges roots root_edges types sites strings threads frames snapshots)),
        ['heapsh', '-q', $wild, 'sql', 'select o.type, e.field, t.retained from objects o join edges e on e.source = o.address join objects t on t.address = e.target order by o.type desc'],
        (map { ['heapsh-export', '--format', $_, '-o', '/dev/null', $wild] } qw(perfetto hprof)),
        ['heapsh', '-q', $whole, $wild, 'find', '--each', 'not', 'leaked']) {
        my ($program, @arguments) = @$_;
        local $SIG{ALRM} = sub { die "seed $seed: $program: no end\n" };
        alarm 60;
        my ($out, $err, $status) = Sample::run('', "$build/$program", @arguments);
        alarm 0;
        push @bad, "seed $seed: $program @arguments: $status\n$err" unless $status =~ /^[012]$/;
        push @bad, "seed $seed: $program: not escaped" if $out =~ /\e(?!\[[\d;]*m)/;
    }
    unlink $wild;
}
is_deeply \@bad, [], 'no tool dies';
done_testing;
