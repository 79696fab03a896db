#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Types in programs that nobody prepared: heapsnap attach knows neither sites nor requested sizes, so
# that pointers, classes and content are all the evidence. What that names must be right.
use strict;
use warnings;
use lib 't/truth';
use Judge;
use Test::More;

chomp(my $machine = `uname -m`);
plan skip_all => 'heapsnap attach knows x86-64 only' if $machine ne 'x86_64';
$Judge::attached = 1;
my $table = Judge::heading();
for my $name (qw(parser cache shapes store sessions hierarchy engine)) {
    my $result = eval { Judge::program($name, 'gcc-O2') };
    ok $result, "$name: attached" or diag $@;
    next unless $result;
    $table .= Judge::row($name, $result);
    my ($covered) = Judge::coverage($result);
    my ($precise) = Judge::precision($result);
    cmp_ok $covered, '>=', 95, "$name: objects that have a type, per cent";
    cmp_ok $precise, '>=', 99.5, "$name: typed objects of the right type, per cent";
}

# The document is a local variable of main(), which gcc says is nowhere while it waits.
{
    my $result = eval { Judge::program('json', 'gcc-O2') };
    ok $result, 'json: attached' or diag $@;
    $table .= Judge::row('json', $result) if $result;
    cmp_ok +(Judge::coverage($result))[0], '>=', 35, 'json: objects that have a type, per cent' if $result;
    cmp_ok +(Judge::precision($result))[0], '>=', 99.5, 'json: typed objects of the right type, per cent' if $result;
}
diag "\n$table";
done_testing;
