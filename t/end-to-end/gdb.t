#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh at gdb's prompt (scripts/heapsh.py): of a process, of a core file, and what goes wrong.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use File::Temp qw(tempdir);
use Test::More;
use Tools;

plan skip_all => 'gdb is not here' unless has('gdb');
plan skip_all => 'gdb has no Python' if `gdb -nx -batch -ex 'python print(1)' 2>&1` ne "1\n";

my $directory = tempdir(CLEANUP => 1);
my $program = "$Sample::build/t/programs/loops";
$ENV{HEAPSH_BIN} = $Sample::build;
$ENV{TMPDIR} = "$directory/100% temporary";
mkdir $ENV{TMPDIR} or die $!;

# Runs gdb with a program and lines of commands; each line goes on where the one before has failed.
sub gdb {
    my ($arguments, @line) = @_;
    open my $out, '>', "$directory/commands" or die $!;
    print $out "set style enabled off\nset breakpoint pending on\nset debuginfod enabled off\nsource scripts/heapsh.py\n";
    print $out map { "python\ntry: gdb.execute('''$_''')\nexcept gdb.error as error: print(error)\nend\n" } @line;
    close $out;
    my ($text, $err, $status) = Sample::run('', 'gdb', '-nx', '-q', '-batch', '-x', "$directory/commands", @$arguments);
    return "$text$err";
}

my @start = ('break _exit', 'run 3 leak >/dev/null');
my $core = "$directory/core";
my $snapshot = "$directory/kept.snap";
my $text = gdb(['--args', $program], @start, 'heapsh find --count type session', 'heapsh identify sessions', 'print $heap1->number',
    'heapsh show sessions->next', 'print $heap1 == sessions->next', 'print *$heap2', 'heapsh path $heap2', 'print $pc', 'heapsh sql "select count(*) as many from objects"',
    "heapsh snapshot $snapshot", "generate-core-file $core");
like $text, qr/^Total: 3 objects, 72 B$/m, 'a command of heapsh';
like $text, qr/^struct session at 0x\w+ is:\n└─the global variable sessions \(loops\.c:\d+, loops\)$/m, 'an expression is an address';
like $text, qr/^\$heap1 = \(struct session \*\) 0x\w+\n\$1 = 2$/m, 'an object of the answer is a value of gdb';
like $text, qr/^struct session at 0x\w+, \d+ B$/m, 'show, of an expression';
like $text, qr/^\$2 = 1$/m, 'which is the same in gdb';
like $text, qr/^\$3 = \{next = 0x0, number = 0\}$/m, 'an object that it points to';
like $text, qr/^the global variable sessions .*\n  → struct session at .*\n  … 1 more by \.next|^the global variable sessions .*\n  → struct session at/m, 'a value of gdb is an address';
like $text, qr/^many\n +\d+$/m, 'SQL';
like $text, qr/^\Q$snapshot\E$/m, 'a snapshot that stays';
my ($count) = Sample::run('', "$Sample::build/heapsh", '-q', $snapshot, 'find', '--count', 'type', 'session');
is $count, "Total: 3 objects, 72 B\n", 'which heapsh reads';

# The snapshot is of the moment.
$text = gdb(['--args', $program], 'break step', 'run 3 leak >/dev/null', 'heapsh find --count type session', 'continue', 'continue', 'heapsh find --count type session',
    'heapsh identify &sessions', 'set var sessions = 0', 'heapsh identify &sessions');
my @count = $text =~ /^Total: (\d+) objects?/mg;
is_deeply \@count, [0, 2], 'when the program has gone on, the heap is another';
my @root = $text =~ /^the global variable sessions .* is a root: (.*)$/mg;
is scalar @root, 2, 'a variable';
ok $root[0] =~ /points to/ && $root[1] !~ /points to/, 'when its memory has been changed, the heap is another' or diag $text;

# A core file, in a process of its own.
$text = gdb([$program, $core], 'heapsh find --count type session', 'heapsh identify sessions->next->next', 'print $heap1->number');
like $text, qr/^Total: 3 objects, 72 B$/m, 'a core file';
like $text, qr/^\$1 = 0$/m, 'values of a core file';
$text = gdb([$program], "heapsh open $snapshot", 'heapsh find --count type session');
like $text, qr/^Total: 3 objects, 72 B$/m, 'a snapshot that was taken before';

# --- what goes wrong -------------------------------------------------------------------------

$text = gdb([$program], 'heapsh find type session', 'heapsh open', 'heapsh open none', 'help heapsh', @start, 'heapsh nonsense', 'heapsh identify $nothing',
    'heapsh show no_such_thing', 'heapsh find "not closed');
like $text, qr/^heapsh: there is no process and no core file$/m, 'no process';
like $text, qr/^usage: heapsh open FILE$/m, 'no file';
like $text, qr/^heapsh: none cannot be read$/m, 'a file that is not there';
like $text, qr/^Words that are expressions of gdb become addresses/m, 'help';
like $text, qr/^heapsh: nonsense: no such command/m, 'no such command';
like $text, qr/^heapsh: \$nothing has no value in gdb$/m, 'no value';
like $text, qr/^heapsh: no_such_thing/m, 'no variable';
unlike $text, qr/Traceback/, 'no traceback';
{
    local $ENV{HEAPSH_BIN} = $directory;
    local $ENV{PATH} = join ':', grep { !-x "$_/heapsh" } split /:/, $ENV{PATH};
    system('cp', 'scripts/heapsh.py', "$directory/heapsh.py") == 0 or die;
    open my $out, '>', "$directory/alone" or die $!;
    print $out "source $directory/heapsh.py\nheapsh open $snapshot\nheapsh info\n";
    close $out;
    my (undef, $err) = Sample::run('', 'gdb', '-nx', '-q', '-batch', '-x', "$directory/alone", $program);
    like $err, qr/heapsh: there is no heapsh; HEAPSH_BIN names the directory that it is in/, 'no heapsh';
}
opendir my $in, $ENV{TMPDIR} or die $!;
is_deeply [grep { !/^\./ } readdir $in], [], 'nothing is left behind';
done_testing;
