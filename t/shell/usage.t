#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line, exit statuses, errors, standard input, pipes and redirection.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";
my $directory = $Sample::directory;
my $usage =
    "usage: heapsh [-q|--quiet] [--json] [--color=auto|always|never] [--memory SIZE]\n"
    . "              [--debug FILE]... FILE... [COMMAND ARG...]\n"
    . "       heapsh --follow [--by kind|type|site] [--sort growth|last|bytes|objects|name]\n"
    . "              [OPTION]... PATTERN...\n";
my $banner = <<'END';
Heap snapshot of app (pid 4242), 2026-11-20 19:00:01, from heapsnap 0.1
Heap contains 20 objects, 4.7 KiB; 95.0 % of them typed
END
my @count = ('find', '--count', 'untyped');
my $total = "Total: 1 object, 48 B\n";

sub answers {
    my ($name, $input, $arguments, $out, $err, $status) = @_;
    is_deeply [Sample::run($input, $heapsh, @$arguments)], [$out, $err, $status], $name;
}

# The command line.
answers 'a command as arguments', '', [$file, @count], $banner . $total, '', 0;
answers '-q', '', ['-q', $file, @count], $total, '', 0;
answers '--quiet', '', ['--quiet', $file, @count], $total, '', 0;
answers 'a beginning that is no other\'s', '', ['-q', $file, 'fi', '--count', 'untyped'], $total,
    '', 0;
answers 'a line as one argument', '', ['-q', $file, 'find --count untyped | cat'], $total, '', 0;
answers '--memory', '', ['--memory', '1M', '-q', $file, @count], $total, '', 0;
answers 'a bad --memory', '', ['--memory=much', $file], '',
    "heapsh: --memory much: not a size such as 512M or 4G\n", 2;
answers '--json says it in JSON', '', ['--json', $file, @count],
    qq({"objects":[],"count":1,"bytes":48}\n), '', 0;
answers 'options behind the file', '', [$file, '--json', '-q', @count],
    qq({"objects":[],"count":1,"bytes":48}\n), '', 0;
answers 'options behind the file, and standard input', "find --count untyped\n", [$file, '--quiet'], $total, '', 0;
answers '--follow behind the files', '', [$file, '--follow'], '',
    "heapsh: --follow goes before the files\n$usage", 2;
answers '--by behind the files', '', [$file, '--by', 'type', 'count'], '',
    "heapsh: --by goes with --follow\n$usage", 2;
answers 'colours on request', '', ['-q', '--color=always', $file, 'find', 'untyped'],
    "\e[36mblock(48)\e[0m at \e[33m0x5f02300\e[0m\n", '', 0;
answers 'no colours into a file', '', ['-q', '--color=auto', $file, 'find', 'untyped'],
    "block(48) at 0x5f02300\n", '', 0;
answers '--color takes three words', '', ['--color=blue', $file, 'info'], '',
    "heapsh: --color=blue: not auto, always or never\n", 2;
answers 'no file', '', [], '', $usage, 2;
answers '--help', '', ['--help'], $usage, '', 0;
like((Sample::run('', $heapsh, '--version'))[0], qr/^heapsh \d+\.\d+\n$/, '--version');
my ($out, $err, $status) = Sample::run('', $heapsh, '--frob', $file);
is "$status$out", 2, 'an unknown option';
like $err, qr/--frob.*\n\Q$usage\E$/, 'is named';

# Files that are none.
sub no_file {
    my ($name, $path, $complaint) = @_;
    answers $name, '', [$path, 'info'], '', "heapsh: $path: $complaint\n", 2;
}
no_file 'no such file', "$directory/none", 'No such file or directory';
sub refuses {
    my ($name, $path) = @_;
    my ($out, $err, $status) = Sample::run('', $heapsh, $path, 'info');
    is "$status$out", 2, "$name: status 2, nothing printed";
    like $err, qr/\Aheapsh: \Q$path\E: [^\n]+\n\z/, "$name: one line that names the file";
}
refuses 'an empty file', Sample::write_file('empty', '');
refuses 'not a snapshot', Sample::write_file('text', "hello\n" x 100);
refuses 'a directory', $directory;
my $whole = Sample::content($file);
refuses 'half a snapshot', Sample::write_file('half', substr($whole, 0, length($whole) / 2));
SKIP: {
    my $closed = Sample::write_file('closed', $whole);
    chmod 0, $closed;
    skip 'root may read anything', 2 if -r $closed;
    refuses 'no permission', $closed;
}

# Commands that cannot be.
fails_with $file, 'frobnicate', 'heapsh: frobnicate: no such command; `help` lists them', 2;
fails_with $file, 's', 'heapsh: s: could be summary, strings, sites, show, symbols, suspects, sizes, shared, stack, suggest, snapshots, sql, source', 2;
fails_with $file, 'show', 'usage: show [--all] [--hex] [--raw] OBJ', 2;
fails_with $file, 'info all', 'heapsh: all is one word too many; usage: info', 2;
fails_with $file, 'count --by weight',
    'heapsh: --by weight: not type, site, size, module, tag or age', 2;
is((Sample::heapsh($file, $_, '--help'))[0], (Sample::heapsh($file, 'help', $_))[0], "$_ --help") for 'path', 'find', 'count';
fails_with $file, 'help frob', 'heapsh: frob: no such command; `help` lists them', 2;
fails_with $file, 'types nothing', 'heapsh: nothing: no such type in the snapshot; `types` lists those of objects', 1;

# Objects that are not there.
fails_with $file, 'show 0x10', 'heapsh: 0x10: no live object at this address', 1;
fails_with $file, 'show 0x5f00110', 'heapsh: 0x5f00110: no live object at this address', 1;
fails_with $file, 'show ffffffffffffffffff',
    'heapsh: ffffffffffffffffff: neither an address nor a variable', 1;
fails_with $file, 'show g_nothing', 'heapsh: g_nothing: neither an address nor a variable', 1;
fails_with $file, 'identify nobody', 'heapsh: nobody: a variable that points to no live object', 1;
fails_with $file, 'show $1', 'heapsh: $1: the last answer had 0 objects', 1;
fails_with $file, 'show $one', 'heapsh: $one: not a number after $', 2;

# Lines that make no sense.
fails_with $file, q{find type 'struct}, 'heapsh: a quote is not closed', 2;
fails_with $file, 'count |', 'heapsh: | : no program follows', 2;
fails_with $file, 'count >', 'heapsh: > : no file follows', 2;
fails_with $file, 'count > a b', 'heapsh: > : something follows the file', 2;
fails_with $file, "count > $directory/none/file",
    "heapsh: cannot write to $directory/none/file: No such file or directory", 1;
fails_with $file, 'count ' . 'x ' x 300, 'heapsh: too many words', 2;

# Standard input: a line each, comments and empty lines, the last one's status.
answers 'several lines', "# all\n\nfind --count untyped\n  find --count leaked # four\n",
    ['-q', $file], "${total}Total: 4 objects, 64 B\n", '', 0;
answers 'goes on after an error', "frob\nfind --count untyped\n", ['-q', $file], $total,
    "heapsh: frob: no such command; `help` lists them\n", 0;
answers 'the status of the last', "find --count untyped\nshow 1\n", ['-q', $file], $total,
    "heapsh: 1: no live object at this address\n", 1;
answers 'quit', "quit\nfrob\n", ['-q', $file], '', '', 0;
answers 'a last line without its end', 'find --count untyped', ['-q', $file], $total, '', 0;
answers 'nothing', '', ['-q', $file], '', '', 0;
answers 'the banner, once', "find --count untyped\nfind --count untyped\n", [$file],
    $banner . $total . $total, '', 0;
answers '$N is of the last answer that had objects',
    "find type struct node\nhelp quit\nfind --count points-to \$2\nshow \$9 | head -1\n",
    ['-q', $file], join('', map { sprintf "struct node at 0x%x\n", $_ } 0x5f01000, 0x5f01020,
        0x5f01040, 0x5f01100, 0x5f01120, 0x5f01200, 0x5f01220, 0x5f01240, 0x5f01260)
        . "quit\n    leave the shell\n\nSo does the end of the input (^D).\n\n  quit\n"
        . "Total: 2 objects, 168 B\nstruct node at 0x5f01260, 16 B\n", '', 0;

# Pipes and files.
answers 'a pipe', "find | grep -c node\n", ['-q', $file], "10\n", '', 0;
answers 'quotes are the program\'s own', qq(find | sed -n 's/.*"hello, \\(.*\\)".*/\\1/p'\n),
    ['-q', $file], "world\n", '', 0;
answers 'a program that reads no further', "find | head -1\nfind --count untyped\n",
    ['-q', $file], "struct date at 0x5f00100\n$total", '', 0;
answers 'a file', "find untyped > $directory/answer\n", ['-q', $file], '', '', 0;
is Sample::content("$directory/answer"), "block(48) at 0x5f02300\n", 'has the answer';
answers 'and once more', "find --count untyped >>$directory/answer\n", ['-q', $file], '', '', 0;
is Sample::content("$directory/answer"), "block(48) at 0x5f02300\n$total", 'it is appended';
answers 'no colours go there', "find untyped > '$directory/answer'\n",
    ['-q', '--color=always', $file], '', '', 0;
is Sample::content("$directory/answer"), "block(48) at 0x5f02300\n", 'it begins anew';
SKIP: {
    skip 'no /dev/full', 1 unless -c '/dev/full';
    ($out, $err, $status) = Sample::run("find > /dev/full\n", $heapsh, '-q', $file);
    is "$status$out$err", "1heapsh: cannot write to /dev/full: No space left on device\n", 'a full disk is said';
}

# An answer that cannot be written: one line and a status say so, whatever the command and the way.
my %unwritten = (
    '> /dev/full' => 'No space left on device',
    '>&-'         => 'Bad file descriptor',
    '| :'         => 'Broken pipe',
);
for my $to (sort keys %unwritten) {
    next if $to =~ /full/ && !-c '/dev/full';
    my @wrong;
    for my $command ('find', 'count', 'time count', 'types', 'info', 'help', 'find --count', '--json find', '--json time find') {
        my ($json, $words) = $command =~ /^(--json )?(.*)/;
        # The reader is gone before the answer comes; SIGPIPE is ignored.
        my ($before, $behind) = $to =~ /^\|/ ? ('trap "" PIPE; { sleep 0.2; ', '; echo $? >&3; }') : ('', '; echo $? >&3');
        my $line = "$before$heapsh -q " . ($json // '') . "$file $words " . ($to =~ /^>/ ? $to : '') . $behind . ($to =~ /^\|/ ? $to : '');
        my (undef, $said) = Sample::run('', 'bash', '-c', "exec 3>$directory/status; $line");
        chomp(my $came = Sample::content("$directory/status"));
        push @wrong, "$command: $came, $said" if $came ne '1' || $said ne "heapsh: cannot write to standard output: $unwritten{$to}\n";
    }
    is join('', @wrong), '', "$to is told in one line";
}
{
    my (undef, undef, $ended) = Sample::run('', 'bash', '-c', "{ sleep 0.2; $heapsh -q $file find; echo \$? >&2; } 2> $directory/status | :");
    is Sample::content("$directory/status"), 128 + 13 . "\n", 'SIGPIPE ends it, as any program';
}

# A snapshot of nothing.
my $empty = Sample::make('empty');
answers 'an empty heap', '', [$empty, 'info'], <<'END', '', 0;
Heap snapshot of app (pid 4242), 2026-11-20 19:00:01, from heapsnap 0.1
Heap contains 0 objects, 0 B
program   app, pid 4242 on nowhere
command   /opt/demo/app --serve
time      2026-11-20 19:00:01, 1.0 h after the library was loaded
snapshot  number 0 of the process, id 00112233445566778899aabbccddeeff, by heapsnap 0.1
pause     1.500 ms, of which the clone took 1.200 ms
heap      0 objects, 0 B; 0 of them typed, 0 B; 0 pointers
contents  256 bytes of each object are kept
modules   2
  0x400000 /opt/demo/app
    build id 0123456789abcdef; debug information: its own
  0x7f0000000000 /opt/demo/libutility.so
    build id fedcba9876543210; no debug information
threads   2
  1 stopped, registers exact
  1 asleep, stack pointer known
  1 of which not all registers are known
  4242 app: stopped, registers exact, 2 frames
  4243 worker: asleep, stack pointer known, 1 frame
END
for my $command ('find', 'count', 'count --by site', 'count --by age', 'largest', 'roots', 'symbols', 'find leaked') {
    my ($out, $err, $status) = Sample::run("$command\n", $heapsh, '-q', $empty);
    is "$status$err", 1, "$command finds nothing in it";
}
is_deeply [Sample::run('', $heapsh, '-q', $empty, 'suspects')], ["There are no objects.\n", '', 1], 'suspects says why';
done_testing;
