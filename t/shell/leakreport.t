#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh-leakreport on a series that is known (make_series in t/helper/sample_snapshot.c).
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;

my $report = "$Sample::build/heapsh-leakreport";
my @file = map { Sample::make('series', $_) } 0 .. 4;
my $usage = <<'END';
usage: heapsh-leakreport [-q|--quiet] [--json|--html] [-1] [-s|--summary]
           [--by kind|type|site|backtrace|dominator] [--type NAME] [--site PLACE]
           [--min N|SIZE] [--limit N] [--conservative] FILE FILE FILE...
END

sub answers {
    my ($name, $arguments, $out, $err, $status) = @_;
    is_deeply [Sample::run('', $report, @$arguments)], [$out, $err, $status], $name;
}

# A node and a block more in each; what was there from the beginning, what came and went, what
# was freed and got its old address again, and what is new in the last are no leaks.
answers 'five files', [@file], <<'END', '', 0;
LEAK[1] struct node at 0x5f01020
LEAK[1] block(48) at 0x5f02040
LEAK[2] struct node at 0x5f01040
LEAK[2] block(48) at 0x5f02080
LEAK[3] struct node at 0x5f01060
LEAK[3] block(48) at 0x5f020c0

   objects        bytes  type, site
         3        144 B  block(48), 0x12345678
                         steady growth: 3600 ±0 objects, 168.8 KiB an hour
         3         48 B  struct node, node_new (app.c:12)
                         steady growth: 3600 ±0 objects, 56.2 KiB an hour
Total: 6 objects, 192 B
END
my $second = <<'END';
LEAK[1] struct node at 0x5f01020
LEAK[1] block(48) at 0x5f02040

   objects        bytes  type, site
         1         48 B  block(48), 0x12345678
                         steady growth: 3600 ±0 objects, 168.8 KiB an hour
         1         16 B  struct node, node_new (app.c:12)
                         steady growth: 3600 ±0 objects, 56.2 KiB an hour
Total: 2 objects, 64 B
END
answers 'three files', [@file[0 .. 2]], $second, '', 0;
answers '-1: those of the second file alone', ['-1', @file], $second, '', 0;
answers '--quiet changes nothing where no terminal is', ['--quiet', '-1', @file], $second, '', 0;

my ($out, $err, $status) = Sample::run('', $report, '--json', @file[0 .. 2]);
is $out =~ tr/\n//, 1, 'JSON: one line';
is_deeply(JSON::PP->new->utf8->decode($out), {
    files => 3, objects => 2, bytes => 64,
    leaks => [
        { first => 1, site => 'node_new (app.c:12)', object => { address => '0x5f01020',
            type => 'struct node', size => 16, elements => 1, evidence => 'vote' } },
        { first => 1, site => '0x12345678', object => { address => '0x5f02040',
            type => 'block(48)', size => 48, elements => 1, evidence => 'none' } },
    ],
    summary => [
        { kind => 'block(48), 0x12345678', objects => 1, bytes => 48,
          growing => 'block(48), 0x12345678', history => [0, 1, 2],
          trend => { kind => 'steady', judgement => 'steady growth', objects_per_hour => 3600,
              objects_margin => 0, bytes_per_hour => 172800, bytes_margin => 0, new_in_last => 1 } },
        { kind => 'struct node, node_new (app.c:12)', objects => 1, bytes => 16,
          growing => 'struct node, node_new (app.c:12)', history => [1, 2, 3],
          trend => { kind => 'steady', judgement => 'steady growth', objects_per_hour => 3600,
              objects_margin => 0, bytes_per_hour => 57600, bytes_margin => 0, new_in_last => 2 } },
    ],
}, 'JSON');

# Groups, and what is left out.
answers '--by type', ['-s', '--by', 'type', @file], <<'END', '', 0;
   objects        bytes  type
         3        144 B  untyped
                         steady growth: 3600 ±0 objects, 168.8 KiB an hour
         3         48 B  struct node
                         steady growth: 3600 ±0 objects, 56.2 KiB an hour
Total: 6 objects, 192 B
END
answers '--by site', ['-s', '--by=site', '--site', 'node_new', @file], <<'END', '', 0;
   objects        bytes  site
         3         48 B  node_new (app.c:12)
                         steady growth: 3600 ±0 objects, 56.2 KiB an hour
Total: 3 objects, 48 B
END
answers '--by dominator', ['-s', '--by', 'dominator', @file], <<'END', '', 0;
   objects        bytes  dominator
         6        192 B  nothing (leaked)
                         block(48), 0x12345678: steady growth: 3600 ±0 objects, 168.8 KiB an hour
Total: 6 objects, 192 B
END
answers '--by backtrace', ['-s', '--by', 'backtrace', '--type', 'struct node', @file], <<'END', '', 0;
   objects        bytes  backtrace
         3         48 B  node_new (app.c:12)
                         struct node, node_new (app.c:12): steady growth: 3600 ±0 objects, 56.2 KiB an hour
Total: 3 objects, 48 B
END
answers '--min by bytes', ['-s', '--min', '0.1K', @file], <<'END', '', 0;
   objects        bytes  type, site
         3        144 B  block(48), 0x12345678
                         steady growth: 3600 ±0 objects, 168.8 KiB an hour
Total: 3 objects, 144 B
END
answers '--limit', ['-s', '--limit', '1', @file], <<'END', '', 0;
   objects        bytes  type, site
         3        144 B  block(48), 0x12345678
                         steady growth: 3600 ±0 objects, 168.8 KiB an hour
… 1 more
Total: 6 objects, 192 B
END
answers '--limit of what', ['--limit', 'x', @file], '', "heapsh-leakreport: --limit x: not a number\n$usage", 2;
answers '--min by objects', ['--min', '4', @file], "Total: 0 objects, 0 B\n", '', 1;
answers '--type of none', ['--type', 'struct none', @file], "Total: 0 objects, 0 B\n", '', 1;
answers '--by what', ['--by', 'size', @file], '', "heapsh-leakreport: --by size: not kind, type, site, backtrace or dominator\n$usage", 2;
answers '--min of what', ['--min', 'x', @file], '', "heapsh-leakreport: --min x: not a number of objects or a size, like 64K\n$usage", 2;
my ($page) = Sample::run('', $report, '--html', @file);
like $page, qr/^<!DOCTYPE html>.*<h1>What grows in app<\/h1>.*<polyline points="1\.0,23\.0 [^"]* 119\.0,1\.0".*<\/html>\n\z/s, '--html';
unlike $page, qr/<script|https?:/, 'a page without scripts or anything from elsewhere';

# Where the margin is no smaller than the rate, what was measured is said instead: a node in three
# seconds, and one more in half a minute.
answers 'no rate that is a guess', ['-s', map { Sample::make('series', @$_) } [0, 0], [1, 2], [2, 40]], <<'END', '', 0;
   objects        bytes  type, site
         1         48 B  block(48), 0x12345678
                         steady growth: +2 objects, +96 B since [0]
         1         16 B  struct node, node_new (app.c:12)
                         steady growth: +2 objects, +32 B since [0]
Total: 2 objects, 64 B
END

# A vector that doubles is one object at any time, but a larger one.
answers 'as many, but larger', ['-s', map { Sample::make('doubling', $_) } 0 .. 3], <<'END', '', 0;
   objects        bytes  type, site
         1        256 B  struct slot, grow+0x10 (libutility.so)
                         no growth in number, but larger: 1 object, +192 B since [0]
Total: 1 object, 256 B
END

# No candidates: status 1.
my @flat = map { Sample::make('flat', $_) } 0 .. 2;
answers 'no leaks', [@flat], "Total: 0 objects, 0 B\n", '', 1;
is_deeply(JSON::PP->new->utf8->decode((Sample::run('', $report, '--json', @flat))[0]),
    { files => 3, leaks => [], summary => [], objects => 0, bytes => 0 }, 'no leaks in JSON');

# Impossible requests.
answers 'too few', [@file[0, 1]], '',
    "heapsh-leakreport: 2 files; it takes 3 to tell a leak\n$usage", 2;
answers 'none', [], '', "heapsh-leakreport: 0 files; it takes 3 to tell a leak\n$usage", 2;
answers 'a file that is not there', [@file[0, 1], "$Sample::directory/none"], '',
    "heapsh-leakreport: $Sample::directory/none: No such file or directory\n", 2;
answers 'in the wrong order', [@file[0, 2, 1]], '',
    "heapsh-leakreport: $file[1]: not later than the one before\n", 2;
answers 'one twice', [@file[0, 1, 1]], '',
    "heapsh-leakreport: $file[1]: not later than the one before\n", 2;
my $other = Sample::make('other');
answers 'of another process', [@file[0, 1], $other], '', "heapsh-leakreport: $other: of another"
    . " process than the one before: app, pid 4243, not app, pid 4242\n", 2;
answers '--help', ['--help'], $usage, '', 0;

# Where somebody watches: progress, and the summary before the candidates.
my $watched = $second =~ s/\A(.*?\n)\n(.*)\z/$2\n$1/sr;
my $terminal = qx(TERM=xterm $Sample::build/t/helper/terminal $report -1 @file[0 .. 2]);
$terminal =~ s/\r//g;
is $terminal, join('', map { "[$_]: $file[$_]\n" } 0 .. 2) . $watched, 'progress on a terminal';
for my $type ('TERM=dumb', '-u TERM') {
    $terminal = qx(env $type $Sample::build/t/helper/terminal $report -1 @file[0 .. 2]);
    $terminal =~ s/\r//g;
    is $terminal, $watched, "none on a terminal that can do nothing: $type";
}
$terminal = qx(TERM=xterm $Sample::build/t/helper/terminal $report -q -1 @file[0 .. 2]);
$terminal =~ s/\r//g;
is $terminal, $watched, 'none if it is to be quiet';
done_testing;
