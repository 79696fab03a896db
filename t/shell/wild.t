#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Snapshots with numbers that make no sense: every command ends, none crashes.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use Test::More;

my $patience = $Heapsh::patience;
my $addresses = join ' ', qw(5f00100 5f00300 5f00500 5f01000 5f02000 5f02100 5f02200 5f02300 5f03000);
my @command = (qw(info summary reachability stack dangling count largest roots callstack symbols types sites find),
    'largest --retained', 'dominators --depth 9', 'suspects --min 1', 'retained reachable', 'roots --by variable', 'leaks', 'leaks --list', 'retained --by type', 'roots --by frame', 'callstack --reachable', 'strings', 'strings --duplicates', 'waste --all', 'count --by age', 'count --by size', 'symbols --all', "types '*'",
    'show &first', 'show &popular', 'show sample', 'find string e', 'find field next=NULL', 'find field name=*', 'find field count>3', 'find field [3].value!=0', 'find leaked', 'find age >1s');
push @command, map { ("export $_ /dev/null", "export --by owners $_ /dev/null") }
    qw(heapsnapshot pprof collapsed speedscope perfetto hprof dot graphml);
for my $address (split ' ', $addresses) {
    push @command, map { "$_ $address" } 'show', 'sizes', 'identify', 'inrefs', 'outrefs', 'path',
        'retained', 'dominators', 'path --all 3', 'find under', 'find points-to', 'find pointed-by';
}
my $input = join '', map { "$_\n" } @command, 'info';
# 200 take an emulated processor more than four minutes on a busy machine.
my $seeds = $patience > 60 || $ENV{SHORT} ? 50 : 200;
my ($opened, @bad) = (0);
for my $seed (1 .. $seeds) {
    my $file = Sample::make('wild', $seed);
    for my $option ('--color=never', '--json') {
        local $SIG{ALRM} = sub { die "seed $seed: no end\n" };
        alarm $patience;
        my ($out, $err, $status) = Sample::run($input, "$Sample::build/heapsh", '-q', $option, $file);
        alarm 0;
        push @bad, "seed $seed $option: status $status\n$err" unless $status =~ /^[012]$/;
        push @bad, "seed $seed $option: not escaped" if $out =~ /\e/;
        $opened++ if $out ne '';
    }
    unlink $file;
}
is_deeply \@bad, [], 'no command dies';
cmp_ok $opened, '>', $seeds / 2, 'many of them were opened at all';
done_testing;
