#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The variables of a call only use what those of its callers hold (t/programs/callers.c).
use strict;
use warnings;
use Test::More;
use lib 't/lib';
use Heapsh;

my ($entry, $name, $step) = (24, 21, 16);
my $file = Heapsh->start('callers')->capture;

sub retained {
    my %retained;
    for my $row (@{ Heapsh::ask_json($file, qw(roots --all), @_) }) {
        my $key = $row->{root} ? "$row->{root}{name}" : $row->{together} ? join ' ', sort @{ $row->{together} } : 'rest';
        $retained{$key} = ($retained{$key} // 0) + $row->{retained};
    }
    return \%retained;
}

my $retained = retained();
is $retained->{table}, 100 * ($entry + $name), 'main holds its table';
is $retained->{popular}, 10 * ($entry + $name), 'a global variable its entries';
is $retained->{step}, 20 * $step, 'a call between what it has made';
is $retained->{$_}, 0, "$_ only uses what others hold" for grep { exists $retained->{$_} } qw(first third fifth name entry);
is_deeply [ grep { /table / || / table/ } keys %$retained ], [], 'nothing shares the table with it';
like join("\n", Heapsh::ask($file, 'suspects')), qr/a chain of 100 × struct record, held by the local variable table/, 'suspects';
is Heapsh::ask_json($file, qw(retained &table))->{retained}, 100 * ($entry + $name), 'retained';
my ($total) = (0);
$total += $_ for values %$retained;
is $total, Heapsh::ask_json($file, qw(find --count))->{bytes}, 'the rows add up to the heap';

my $conservative = retained('--conservative');
is $conservative->{table}, 0, 'where all roots count alike, the first parameter of a call shares the table with main';
done_testing;
