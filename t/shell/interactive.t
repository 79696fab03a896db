#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The prompt, on a terminal of its own: history, completion, ^C.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use Sample;
use IO::Select;
use IPC::Open2;
use Test::More;

my $file = Sample::make();
my $heapsh = "$Sample::build/heapsh";
$ENV{TERM} = 'dumb';
$ENV{INPUTRC} = '/dev/null';
$ENV{XDG_STATE_HOME} = "$Sample::directory/state";
my $patience = $Heapsh::patience;

my ($pid, $from, $to);

# Whatever happens, this ends: without its terminal the shell does, too.
$SIG{ALRM} = sub {
    kill 'KILL', $pid if $pid;
    die "the prompt does not come back\n";
};
alarm 600;

sub begin {
    my (@arguments) = @_;
    $pid = open2($from, $to, "$Sample::build/t/helper/terminal", $heapsh, @arguments);
}

# Reads until a pattern matches.
sub await {
    my ($pattern) = @_;
    my $text = '';
    my $until = time + $patience;
    while ($text !~ $pattern) {
        last if time > $until || !IO::Select->new($from)->can_read($until - time);
        sysread($from, $text, 4096, length $text) or last;
    }
    $text =~ s/\r//g;
    return $text;
}

# Types, and gives what is printed up to the next prompt.
sub type {
    my ($keys) = @_;
    syswrite $to, $keys;
    my $text = await(qr/heapsh> (?!.*heapsh> )$/s);
    $text =~ s/heapsh> $//;
    return $text;
}

# Types a line that ends in tabs, and gives the line that comes of it and what it answers.
sub complete {
    my ($keys) = @_;
    syswrite $to, $keys;
    select undef, undef, undef, 0.3;
    return type("\n");
}

sub leave {
    my ($keys) = @_;
    syswrite $to, $keys;
    my $rest = await(qr/(?!)/);
    waitpid $pid, 0;
    return ($rest, $? >> 8);
}

open my $made, '>', "$Sample::directory/redirected" or die $!;
print $made "frob\n";
close $made;
begin('--color=never', $file);
is await(qr/heapsh> $/), <<'END' . 'heapsh> ', 'the banner and a prompt';
Heap snapshot of app (pid 4242), 2026-11-20 19:00:01, from heapsnap 0.1
Heap contains 20 objects, 4.7 KiB; 95.0 % of them typed
END
is type("find untyped\n"), "find untyped\nblock(48) at 0x5f02300 (\$1)\nTotal: 1 object, 48 B\n",
    'a command and its answer';
like type("frob\n"), qr/^frob\nheapsh: frob: no such command/, 'an error, and the next prompt';
is type("\n"), "\n", 'an empty line';

# Completion: the word comes with a blank after it.
my $total = qr/\nTotal: 1 object, 24 B\n$/;
like complete("cou\t --by mod\b\b\bmodule"), qr/^count .*\n.*app/s, 'of commands';
like complete("find --co\t type struct ta\t"), qr/^find --count .*struct table $total/s,
    'of options, and of types without quotes';
like complete("find --count type 'struct ta\t"), qr/^find --count type 'struct table' $total/s,
    'of types in quotes';
like complete("find --count type Ci\t"), qr/^find --count type Circle $total/s,
    'of types without their keyword';
like complete("show pop\t"), qr/^show popular \nstruct table at 0x5f00400 \(\$\d+\), 24 B\n/s,
    'of variables';
like complete("find points-to gre\t"), qr/^find points-to greeting \n/s, 'of variables in filters';
like complete("find --count site cache_\t size 12"),
    qr/^find --count site cache_insert  size 12\nTotal: 1 object, 12 B\n$/, 'of sites';
like complete("find --count unt\t"), qr/^find --count untyped \nTotal: 1 object, 48 B\n$/,
    'of filters';
like complete("count --by mo\t"), qr/^count --by module \n/, 'of arguments of options';
like complete("sites --by obj\t --limit 1"), qr/^sites --by objects  --limit 1\n.*node_new/s,
    'of one that is alone';
like complete("show &pop\t"), qr/^show &popular \nthe global variable popular /, 'of variables themselves';
like complete("find --count module app\t"), qr/^find --count module app \nTotal: 15 objects/, 'of modules';
type("find type table or untyped\n");
like complete("show \$\t2"), qr/^show \$\a?2 ?\nblock\(48\) at 0x5f02300 \(\$2\), 48 B\n/, 'of the last answer';
type("alias slots 'find --count type slot'\n");
like complete("slo\t"), qr/^slots \nTotal: 1 object, 224 B\n$/, 'of aliases';
like complete("slots or unt\t"), qr/^slots or untyped \nTotal: 2 objects/, 'of what they take';
like complete("time ret pop\t"), qr/^time ret popular \nstruct table .*\n.*processor time\n$/s,
    'of a command behind time';
like complete("export speed\t --by so"), qr/^export speedscope  --by so\nheapsh: --by so: not sites or owners/, 'of formats';
like complete("find --count field colo\tBLUE"), qr/^find --count field colour=BLUE\nTotal: 1 object/, 'of fields';
like complete("find untyped > $Sample::directory/redir\t"), qr{/redirected}, 'of files behind >';
like complete("source $Sample::directory/redir\t"), qr{/redirected\s+heapsh: }, 'and of those to be run';
like complete("help iden\t"), qr/^help identify \nidentify \[--all\] \[--depth N\]/, 'of commands for help';

# ^C at the prompt drops the line; ^D leaves.
like type("half a line\x03"), qr/^(?:half a line)?\n$/, '^C at the prompt';
my ($rest, $status) = leave("\x04");
is $rest, "\n", '^D leaves, and its line ends';
is $status, 0, 'with status 0';

# History.
is sprintf('%o', (stat "$ENV{XDG_STATE_HOME}/heapsh/history")[2] & 0777), '600',
    'the history is its owner\'s';
begin('-q', '--color=never', $file);
await(qr/heapsh> $/);
like type("\x10\n"), qr/\nidentify \[--all\] \[--depth N\]/, 'the last line of the session before';
($rest, $status) = leave("quit\n");
is $status, 0, 'quit leaves';

# Without any directory for it the shell works, too.
{
    local $ENV{XDG_STATE_HOME} = '/proc/none';
    begin('-q', '--color=never', $file);
    await(qr/heapsh> $/);
    is type("find --count untyped\n"), "find --count untyped\nTotal: 1 object, 48 B\n",
        'no place for the history';
    ($rest, $status) = leave("quit\n");
    is $status, 0, 'is no error';
}

# Colours, on a terminal; and ^C ends a program in a pipe, not the shell.
begin('-q', $file);
await(qr/heapsh> $/);
is type("find untyped | cat\n"), "find untyped | cat\nblock(48) at 0x5f02300\nTotal: 1 object, 48 B\n"
    =~ s/Total.*\n//r, 'no colours into a pipe';
is type("find untyped\n"), "find untyped\nblock(48) at 0x5f02300 (\$1)\n", 'nor to a terminal that may have none';
syswrite $to, "find | sleep 617\n";
await(qr/sleep 617\r?\n/);
Heapsh::await(sub { scalar grep { Heapsh::content($_) eq "sleep\0" . "617\0" } glob '/proc/[0-9]*/cmdline' });
like type("\x03"), qr/\^C/, '^C ends what runs';
is type("find --count untyped\n"), "find --count untyped\nTotal: 1 object, 48 B\n",
    'and not the shell';
leave("quit\n");

{
    local $ENV{TERM} = 'ansi';
    begin('-q', $file);
    await(qr/heapsh> $/);
    like type("find untyped\n"), qr/\e\[36mblock\(48\)\e\[0m at \e\[33m0x5f02300\e\[0m \(\$1\)$/m, 'colours on another one';
    leave("quit\n");
}

# Names that readline would write unescaped are not offered: they mean harm.
begin('-q', '--color=never', Sample::make('hostile', 1));
await(qr/heapsh> $/);
for my $words ('show =', 'find type =', 'find type struct =', 'find site =', 'find module =', 'find field =', 'types =') {
    my $text = complete("$words\t\t\t\x15");
    unlike $text, qr/owned|\x9b|\xe2\x80\xae/, "no completion of $words";
}
leave("quit\n");

# ^C in a long answer: at any moment from Enter on, and while nobody reads what has been printed.
my $large = "$Sample::directory/large.snap";
my $many = 200_000;
system("$Sample::build/t/bench/generate -p -n $many -o $large >/dev/null") == 0 or die 'generate failed';

# Only the end of a long answer is left when the prompt is back.
sub rest_of_answer {
    my $until = time + $patience;
    my $text = '';
    while ($text !~ /(?:interrupted|Total: .*|written: .*)\n(?:.*\n)?heapsh> \z/) {
        last if time > $until || !IO::Select->new($from)->can_read($until - time);
        sysread($from, my $more, 65536) or last;
        $text = substr $text . $more =~ tr/\r//dr, -300;
    }
    return $text;
}

begin('-q', '--color=never', $large);
await(qr/heapsh> $/);
for my $wait (0, 0.0002, 0.001, 0.3) {
    my (%came, $found);
    for my $round (1 .. 5) {
        syswrite $to, "find\n";
        await(qr/find\r?\n/);
        select undef, undef, undef, $wait if $wait;
        syswrite $to, "\x03";
        my $text = rest_of_answer();
        $came{ $text =~ /((?:interrupted|written).*)\nheapsh> $/ ? $1 : $text }++;
        $found = $1 if $text =~ /before the interruption: (\d+)/;
    }
    is_deeply \%came, { interrupted => 5 }, "^C $wait s behind Enter";
    next if $wait < 0.1;
    cmp_ok $found, '<', $many / 10, 'stops a command that nobody reads';
}
syswrite $to, "find --count\n";
like rest_of_answer(), qr/^Total: $many objects, .*\nheapsh> $/m, 'which does not spoil the next';
leave("quit\n");
done_testing;
