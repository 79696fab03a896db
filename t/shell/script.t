#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Commands about commands: source, alias, unalias, last, time.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";
my $directory = $Sample::directory;
my $total = "Total: 1 object, 48 B\n";

# Runs lines from standard input. @return the output, the errors, the status
sub says {
    my ($name, $lines, $expected, $wanted) = @_;
    my ($out, $err, $status) = Sample::run($lines, $heapsh, '-q', $file);
    local $Test::Builder::Level = $Test::Builder::Level + 1;
    is "$out$err", $expected, $name;
    is $status, $wanted // 0, "$name: status";
}

# source
my $good = Sample::write_file('good', "# what is not typed\n\n  find --count untyped\nfind untyped | cat\n");
says 'source', "source $good\n", "${total}block(48) at 0x5f02300\n";
says 'into a program', "source $good | wc -l | tr -d ' '\n", "block(48) at 0x5f02300\n1\n";
says 'into a file', "source $good > $directory/answer\n", "block(48) at 0x5f02300\n";
is Sample::content("$directory/answer"), $total, 'but for what goes elsewhere';
my $bad = Sample::write_file('bad', "find --count untyped\nfrob\nfind --count untyped\n");
says 'a mistake ends it', "source $bad\n",
    "${total}heapsh: frob: no such command; `help` lists them\nheapsh: $bad: line 2 failed\n", 2;
my $nothing = Sample::write_file('nothing', "find type mode\nfind --count untyped\n");
says 'nothing found does not', "source $nothing\n", $total;
my $absent = Sample::write_file('absent', "find type nothing\nfind --count untyped\n");
says 'nor a name that this snapshot does not have', "source $absent\n",
    "${total}heapsh: nothing: no such type in the snapshot; `types` lists those of objects\n";
says 'a file that is not there', "source $directory/none\n",
    "heapsh: $directory/none: No such file or directory\n", 1;
my $quits = Sample::write_file('quits', "quit\nfind --count untyped\n");
says 'quit leaves the shell', "source $quits\nfind --count untyped\n", '';
my $outer = Sample::write_file('outer', "source $good\nfind --count untyped\n");
says 'a file that sources another', "source $outer\n", "${total}block(48) at 0x5f02300\n$total";
my $loop = Sample::write_file('loop', '');
Sample::write_file('loop', "source $loop\n");
my (undef, $err, $status) = Sample::run("source $loop\n", $heapsh, '-q', $file);
like $err, qr/^heapsh: \Q$loop\E: 16 files already source each other\n/, 'one that sources itself';
is $status, 2, 'is a mistake';
is((Sample::heapsh('--json', $file, 'source', $nothing))[0],
    qq({"objects":[],"count":0,"bytes":0}\n{"objects":[],"count":1,"bytes":48}\n), 'in JSON');

# alias
says 'alias', "alias some 'find --count'\nsome untyped\n", $total;
says 'aliases of aliases', "alias some 'find --count'\nalias none 'some untyped'\nnone or type mode\n",
    $total;
says 'one that begins with itself', "alias find 'find --count'\nfind untyped\n", $total;
says 'two that begin with each other', "alias aa 'bb x'\nalias bb 'aa y'\naa\n",
    "heapsh: aa: no such command; `help` lists them\n", 2;
says 'with a program', "alias one 'find | head -n 1'\none\n", "struct date at 0x5f00100\n";
says 'not inside a line', "alias untyped frob\nfind --count untyped\n", $total;
says 'what there are', "alias b 'find untyped'\nalias a count\nalias\nalias b\n",
    "alias a 'count'\nalias b 'find untyped'\nalias b 'find untyped'\n";
says 'changed', "alias a count\nalias a 'find --count untyped'\na\n", $total;
says 'forgotten', "alias a count\nunalias a\nalias\n", '', 1;
says 'one that is not there', "unalias a\n", "heapsh: a: no such alias\n", 1;
says 'nor to be shown', "alias a\n", "heapsh: a: no such alias\n", 1;
says 'a bad name', "alias 'a b' count\n",
    "heapsh: a b: names are of letters, digits, - and _\n", 2;
says 'too many words', "alias a find untyped\n", "usage: alias [NAME ['COMMAND...']]\n", 2;

# last
says 'last', "find untyped or type table\nlast\nshow \$1 | head -n 1\n", <<'END';
struct table at 0x5f00400
block(48) at 0x5f02300
$1    struct table at 0x5f00400
$2    block(48) at 0x5f02300
struct table at 0x5f00400, 24 B
END
says 'without an answer', "last\n", "no answer has listed objects yet\n", 1;

# time
my ($out) = Sample::run("time find --count untyped\n", $heapsh, '-q', $file);
like $out, qr/^Total: 1 object, 48 B\n0\.\d{3} s, of which 0\.\d{3} s of processor time\n$/, 'time';
says 'time of nothing', "time\n", "usage: time COMMAND [ARG...]\n", 2;
says 'time of a mistake', "time frob | tail -n +2\n", "heapsh: frob: no such command; `help` lists them\n", 2;
says 'a wrong option', "time find --frob | grep -v processor\n",
    "heapsh: --frob: find has no such option; it has --count, --all, --limit, --regex, --exact, -i, --ignore-case\n", 2;
done_testing;
