#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-diff on a series that is known (make_series in t/helper/sample_snapshot.c).
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use JSON::PP;
use Test::More;

my $diff = "$Sample::build/heapsh-diff";
my @file = map { Sample::make('series', $_) } 0 .. 3;
my $usage = <<'END';
usage: heapsh-diff [-q|--quiet] [--json] [--by kind|type|site|module] [--limit N]
           [--all] [--retained] [--conservative] BEFORE AFTER
END

sub answers {
    my ($name, $arguments, $out, $err, $status) = @_;
    is_deeply [Sample::run('', $diff, @$arguments)], [$out, $err, $status], $name;
}

# One node has its address again, and is another.
answers 'by type and site', [@file[0, 3]], <<'END', '', 0;
   objects        bytes      added      freed       kept    resized  type, site
        +3       +144 B          3          0          0          0  block(48), 0x12345678
        +3        +48 B          4          1          0          0  struct node, node_new (app.c:12)
Total: +6 objects, +192 B: from 2 objects, 40 B to 8 objects, 232 B
END
answers 'by type, with what has not changed', ['--all', '--by', 'type', @file[1, 2]], <<'END', '', 0;
   objects        bytes      added      freed       kept    resized  type
        +1        +48 B          1          0          1          0  untyped
        -1        -17 B          0          1          0          0  char
        +1        +16 B          2          1          1          0  struct node
         0          0 B          0          0          1          0  struct table
Total: +1 objects, +47 B: from 5 objects, 121 B to 6 objects, 168 B
END
answers '--limit', ['--limit=1', '--by=type', @file[1, 2]], <<'END', '', 0;
   objects        bytes      added      freed       kept    resized  type
        +1        +48 B          1          0          1          0  untyped
Total: +1 objects, +47 B: from 5 objects, 121 B to 6 objects, 168 B
END
answers 'with itself', [@file[1, 1]], <<'END', '', 1;
   objects        bytes      added      freed       kept    resized  type, site
Total: 0 objects, 0 B: from 5 objects, 121 B to 5 objects, 121 B
END

my $json = JSON::PP->new->utf8->decode((Sample::run('', $diff, '--json', '--by', 'site', @file[0, 1]))[0]);
is_deeply [map { $_->{name} } @{ $json->{rows} }], ['0x12345678', 'copy_text (text.c:7)', 'node_new (app.c:12)'], 'JSON: sites';
is_deeply $json->{after}, { objects => 5, bytes => 121 }, 'JSON: totals';
is_deeply $json->{rows}[2]{added}, { objects => 2, bytes => 32 }, 'JSON: what has been added';

my $retained = JSON::PP->new->utf8->decode((Sample::run('', $diff, '--json', '--retained', @file[0, 1]))[0])->{retained};
is_deeply $retained, { roots => [], objects => [] }, 'what the roots retain has not changed';

# The same objects with another type: the rows add up all the same.
{
    my $program = Heapsh->start('declared', run => ['--types', 'none']);
    my @series = map { $program->capture } 1 .. 2;
    $program->finish;
    my ($chest) = Heapsh::ask($series[1], 'find', 'size', 64) =~ /(0x\w+)/;
    Heapsh::ask($series[1], 'istype', $chest, 'struct chest');
    my ($text) = Sample::run('', $diff, '--by', 'type', @series);
    like $text, qr/^ +objects +bytes +added +freed +kept +resized +retyped  type$/m, 'types that changed have a column';
    like $text, qr/^ +\+1 +\+64 B +0 +0 +0 +0 +\+1  struct chest$/m, 'an object that is typed now';
    my $rows = JSON::PP->new->utf8->decode((Sample::run('', $diff, '--json', '--by', 'type', @series))[0])->{rows};
    my @wrong = grep {
        $_->{after}{objects} - $_->{before}{objects} != $_->{added}{objects} + $_->{moved}{objects}
            - $_->{freed}{objects} + $_->{retyped_to}{objects} - $_->{retyped_from}{objects}
    } @$rows;
    is scalar @wrong, 0, 'each row adds up';
    cmp_ok scalar(grep { $_->{retyped_from}{objects} } @$rows), '>', 0, 'the untyped are fewer';
}

my $other = Sample::make('other');
my ($out, $err, $status) = Sample::run('', $diff, $file[0], $other);
like $err, qr/^heapsh-diff: snapshots of different processes have no object in common/, 'another process: said';
is $status, 0, 'and counted';
is_deeply [Sample::run('', $diff, $_, $file[0], $other)], [$out, '', 0], "another process, $_: the same without a word" for '-q', '--quiet';

answers 'one file', [$file[0]], '', $usage, 2;
answers '--by what', ['--by', 'size', @file[0, 1]], '', "heapsh-diff: --by size: not kind, type, site or module\n$usage", 2;
answers '--limit what', ['--limit', 'x', @file[0, 1]], '', "heapsh-diff: --limit x: not a number\n$usage", 2;
answers 'a file that is not there', [$file[0], "$Sample::directory/none"], '',
    "heapsh-diff: $Sample::directory/none: No such file or directory\n", 2;
answers '--help', ['--help'], $usage, '', 0;
done_testing;
