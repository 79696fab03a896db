#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# How many blocks of C++ programs without debug information get names, or at least shapes, and how many
# of these are right. `make truth`; V=1 shows the most frequent errors.
use strict;
use warnings;
use lib 't/truth';
use Judge;
use Test::More;

# Per cent: objects with a name or a shape; with a name; names and texts that are right; with a name, or that are
# known to be nodes of lists and trees, or elements of vectors.
my %limit = ('O0-bare' => [99, 90, 99, 95], 'O2-bare' => [98, 75, 99, 90], 'O2-stripped' => [95, 55, 99, 73]);
my %other = (
    'gcc-O0-bare' => [99, 99, 99, 99], 'gcc-O2-bare' => [99, 85, 99, 99], 'gcc-O2-stripped' => [99, 60, 99, 90],
    'clang-O0-bare' => [99, 99, 99, 99], 'clang-O2-bare' => [99, 75, 99, 97], 'clang-O2-stripped' => [99, 60, 99, 90],
    'libcxx-O0-bare' => [99, 99, 99, 99], 'libcxx-O2-bare' => [99, 70, 99, 97], 'libcxx-O2-stripped' => [99, 55, 99, 90],
);
$limit{"others, $_"} = $other{$_} for keys %other;
# Many structs of these have no name without it, in buckets and closures: only what is named must be right.
my %is_nameless = map { $_ => 1 } qw(flat erased history market);
my %sum;
my $table = Judge::heading();

for my $program (Judge::bare()) {
    my ($name, $variant) = @$program;
    my $result = eval { Judge::program($name, $variant) };
    ok $result, "$name.$variant was captured" or diag $@;
    next unless $result;
    if ($is_nameless{$name}) {
        my ($right) = Judge::precision($result);
        cmp_ok $right, '>=', 99, "$name.$variant: right ones of those with a name, per cent";
        $table .= Judge::row("$name.$variant", $result);
        next;
    }
    Judge::add($sum{ -e "t/truth/bare/$name.cc" ? "others, $variant" : $variant =~ s/^gcc-//r } //= {}, $result);
    $table .= Judge::row("$name.$variant", $result);
    $table .= join '', Judge::evidence($result), Judge::causes($result, 8) if $ENV{V};
}
diag "\n$table";
for my $variant (sort keys %sum) {
    my $sum = $sum{$variant};
    my $logged = $sum->{objects};
    my $shapes = ($sum->{evidence}{shape} // {})->{objects} // 0;
    my ($covered) = Judge::coverage($sum);
    my ($right) = Judge::precision($sum);
    my $named = $logged ? 100 * ($sum->{typed} - $shapes) / $logged : 0;
    my $linked = $named + ($logged ? 100 * $sum->{linked} / $logged : 0);
    diag Judge::row($variant, $sum),
        sprintf("    %.2f %% of logged blocks have a name, and with nodes of lists and trees and elements of vectors %.2f %%\n", $named, $linked),
        Judge::evidence($sum), Judge::causes($sum, 5);
    cmp_ok $covered, '>=', $limit{$variant}[0], "$variant: blocks with a name or a shape, per cent";
    cmp_ok $named, '>=', $limit{$variant}[1], "$variant: logged blocks with a name, per cent";
    cmp_ok $right, '>=', $limit{$variant}[2], "$variant: right ones of these, per cent";
    cmp_ok $linked, '>=', $limit{$variant}[3], "$variant: logged blocks with a name, and nodes, per cent";
}
is scalar(grep { !/^others/ } keys %sum), 3, 'all variants were judged';
done_testing;
