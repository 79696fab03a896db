#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The shell over a series that is known (make_series in t/helper/sample_snapshot.c).
use strict;
use warnings;
use lib 't/lib';
use Sample;
use JSON::PP;
use Test::More;

my $heapsh = "$Sample::build/heapsh";
my @file = map { Sample::make('series', $_) } 0 .. 3;
my @name = map { s{.*/}{}r } @file;

# The output of lines of commands about all of them.
sub says {
    my ($name, $lines, $expected, $complaint, $wanted) = @_;
    my ($out, $err, $status) = Sample::run($lines, $heapsh, '-q', @file);
    is $out, $expected, $name;
    is $err, $complaint // '', "$name: complaints";
    is $status, $wanted // 0, "$name: status";
}

says 'snapshots', "snapshots\n", "*[0] $file[0]\n [1] $file[1]\n [2] $file[2]\n [3] $file[3]\n";
says 'next, previous, go', "next\nnext\nfind --count\nprevious\ngo 3\nfind --count\n", <<"END";
[1] $file[1]: 5 objects
[2] $file[2]: 6 objects
Total: 6 objects, 168 B
[1] $file[1]: 5 objects
[3] $file[3]: 8 objects
Total: 8 objects, 232 B
END
says 'not beyond the ends', "previous\ngo 4\ngo x\ngo 3\nnext\n", "[3] $file[3]: 8 objects\n",
    "heapsh: there is no earlier snapshot\nheapsh: 4: no such snapshot; there are [0] to [3]\n"
    . "heapsh: x: no such snapshot; there are [0] to [3]\nheapsh: there is no later snapshot\n", 1;

# The numbers of an answer outlast a command that visits the other snapshots, from the last one too.
for my $from (0, 3) {
    my ($out) = Sample::run("go $from\nfind --limit 1 type node\nhistory \$1\nlast\n", $heapsh, '-q', @file);
    like $out, qr/^\$1    struct node at 0x/m, "history from [$from] keeps the last answer";
}

# The first of a series does not know what grew.
for my $number (0, 3) {
    my ($out) = Sample::run("go $number\nsuspects\n", $heapsh, @file);
    my $hint = "\nThis is the first of 4 snapshots. After `go 3` suspects begins with what is new, if they are of one process.\n";
    is index($out, $hint) >= 0, $number == 0, "suspects of [$number]: the hint to a later one";
}

# Compared: a node and a block come with each, the char was in [1] alone.
says 'new and gone', "go 2\ncompare 1\nfind new\nfind gone\nfind --count not new\nfind gone type char\n",
    <<"END";
[2] $file[2]: 6 objects
Compared with $file[1]: 5 objects
struct node at 0x5f00200
struct node at 0x5f01040
block(48) at 0x5f02080
struct node at 0x5f00200
char[17] "" at 0x5f00300
Total: 3 objects, 88 B
char[17] "" at 0x5f00300
END
says 'count --delta', "go 2\ncompare $file[1]\ncount --delta\ncount --delta --by module --limit 1\n", <<"END";
[2] $file[2]: 6 objects
Compared with $file[1]: 5 objects
   objects        bytes      added      freed       kept    resized  type
        +1        +48 B          1          0          1          0  untyped
        -1        -17 B          0          1          0          0  char
        +1        +16 B          2          1          1          0  struct node
Total: +1 objects, +47 B: from 5 objects, 121 B to 6 objects, 168 B
   objects        bytes      added      freed       kept    resized  module
        +1        +48 B          1          0          1          0  no module
Total: +1 objects, +47 B: from 5 objects, 121 B to 6 objects, 168 B
END
says 'compared with a later one', "compare 1\nfind --count new\nfind --count gone\n",
    "Compared with $file[1]: 5 objects\nTotal: 1 object, 16 B\nTotal: 4 objects, 97 B\n";
says 'it stays when going on', "compare 0\nnext\nfind --count new\nnext\nfind --count new\ncompare\n", <<"END";
Compared with $file[0]: 2 objects
[1] $file[1]: 5 objects
Total: 4 objects, 97 B
[2] $file[2]: 6 objects
Total: 5 objects, 144 B
Compared with $file[0]: 2 objects
END
says 'nothing to compare with', "compare\nfind new\nfind gone\ncount --delta\n",
    "Nothing is compared with\n",
    "heapsh: nothing to compare with; `compare FILE` names it\n" x 3, 2;
says 'a file that is not there', "compare 1\ncompare $file[0].none\nfind --count gone\n",
    "Compared with $file[1]: 5 objects\nTotal: 4 objects, 97 B\n",
    "heapsh: $file[0].none: No such file or directory\n";

# History.
says 'history', "go 2\nhistory 0x5f01040\nhistory popular\n", <<"END";
[2] $file[2]: 6 objects
struct node at 0x5f01040, born 1.0 h after the program's start, or a little later
[0] $file[0]: not there yet
[2] $file[2]: struct node, 16 B; held by nothing
struct table at 0x5f00100, born 60.0 min after the program's start, or a little later
[0] $file[0]: struct table, 24 B; held by the global variable popular (cache.c:50, libutility.so)
END
says 'history of what has gone', "next\nhistory 0x5f00300\nfind --limit 1\nhistory \$1\nshow \$1\n" =~ s/show.*\n//r, <<"END";
[1] $file[1]: 5 objects
char[17] "" at 0x5f00300, born 1.0 h after the program's start, or a little later
[0] $file[0]: not there yet
[1] $file[1]: char[17], 17 B; held by nothing
[2] $file[2]: gone
struct table at 0x5f00100
struct table at 0x5f00100, born 60.0 min after the program's start, or a little later
[0] $file[0]: struct table, 24 B; held by the global variable popular (cache.c:50, libutility.so)
END

# Each in turn.
says '--each', "next\nfind --count --each type node\nsnapshots\n", <<"END";
[1] $file[1]: 5 objects
[0] $name[0]
Total: 1 object, 16 B
[1] $name[1]
Total: 2 objects, 32 B
[2] $name[2]
Total: 3 objects, 48 B
[3] $name[3]
Total: 4 objects, 64 B
 [0] $file[0]
*[1] $file[1]
 [2] $file[2]
 [3] $file[3]
END
my ($out, $err, $status) = Sample::run('', $heapsh, '-q', '--json', @file[0, 1], 'find', '--count', '--each', 'type', 'char');
is_deeply [map { JSON::PP->new->utf8->decode($_) } split /\n/, $out],
    [{ number => 0, file => $file[0] }, { objects => [], count => 0, bytes => 0 },
     { number => 1, file => $file[1] }, { objects => [], count => 1, bytes => 17 }], '--each in JSON';
is $status, 0, '--each: found in one of them';
($out, $err, $status) = Sample::run('', $heapsh, '-q', @file, 'find', '--each', 'type', 'none');
is $status, 1, '--each: found in none';

# The prompt says where one is.
my $terminal = qx(printf 'next\\nquit\\n' | $Sample::build/t/helper/terminal $heapsh -q @file);
like $terminal, qr/heapsh \[0\] \Q$name[0]\E> .*heapsh \[1\] \Q$name[1]\E> /s, 'prompts';
$terminal = qx(printf 'quit\\n' | $Sample::build/t/helper/terminal $heapsh -q $file[0]);
like $terminal, qr/heapsh> /, 'alone';
# The start of a process that was attached to is known to a few milliseconds only.
my @attached = map { Sample::make('attached', $_) } 0, 3;
like +(Sample::run("go 1\nsuspects\n", "$Sample::build/heapsh", @attached))[0],
    qr/^New is what \[0\] does not have;/m, 'suspects compares with the first snapshot of a process that was attached to';
done_testing;
