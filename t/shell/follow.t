#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsh --follow: rows for a pipe, and a screen that is drawn anew with each snapshot.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Terminal;
use File::Temp qw(tempdir);
use JSON::PP;
use POSIX ();
use Test::More;

my $build = $Sample::build;
my $heapsh = "$build/heapsh";
my $directory = tempdir(CLEANUP => 1);
$SIG{ALRM} = sub { die 'heapsh --follow said nothing' };

# Puts the Nth snapshot of a series there, as the writer does: whole, under its name at once.
sub put {
    my ($number, $where, $kind) = @_;
    my $file = Sample::make($kind // 'series', $number);
    rename $file, "$where/app-$number.snap" or die $!;
    return;
}

# Starts heapsh, and gives its process and what it prints.
sub follow {
    my (@options) = @_;
    pipe my $from, my $to or die $!;
    my $pid = fork() // die $!;
    if (!$pid) {
        open STDOUT, '>&', $to or die $!;
        open STDERR, '>', "$directory/errors" or die $!;
        exec $heapsh, @options or POSIX::_exit(127);
    }
    return ($pid, $from);
}

# Up to the next empty line.
sub paragraph {
    my ($from) = @_;
    local $/ = "\n\n";
    alarm 60;
    my $text = <$from>;
    alarm 0;
    return $text // '';
}

sub status { waitpid $_[0], 0; return $? & 127 ? 'signal ' . ($? & 127) : $? >> 8 }

# --- a pipe ------------------------------------------------------------------------------------

my $series = "$directory/series";
mkdir $series or die $!;
put(0, $series);
my ($pid, $from) = follow('--follow', "$series/app-*.snap");
is paragraph($from), <<'END', 'the first snapshot';
app, pid 4242: 1 snapshot in 0.0 s
40 B in 2 objects, 0 B since the first, 0 B since the one before
    growth       last      bytes   objects  +objects  type, site
       0 B        0 B       24 B         1         0  struct table, cache_insert (cache.c:88)
       0 B        0 B       16 B         1         0  struct node, node_new (app.c:12)

END
put(1, $series);
paragraph($from);
put(2, $series);
is paragraph($from), <<'END', 'the third, as soon as it is there';
app, pid 4242: 3 snapshots in 2.0 s
168 B in 6 objects, +128 B since the first, +47 B since the one before
    growth       last      bytes   objects  +objects  type, site
     +96 B      +48 B       96 B         2        +2  block(48), 0x12345678
     +32 B      +16 B       48 B         3        +2  struct node, node_new (app.c:12)
       0 B        0 B       24 B         1         0  struct table, cache_insert (cache.c:88)
       0 B      -17 B        0 B         0         0  char, copy_text (text.c:7)

END
kill 'TERM', $pid;
is status($pid), 'signal 15', 'a signal ends it';

($pid, $from) = follow('--json', '--by', 'type', '--sort', 'bytes', '--follow', $series);
alarm 60;
my @line = map { scalar <$from> } 0 .. 2;
alarm 0;
my $answer = JSON::PP->new->utf8->decode($line[2]);
is_deeply [map { "$_->{name} $_->{bytes} $_->{growth} $_->{last} $_->{objects}" } @{ $answer->{rows} }],
    ['untyped 96 96 48 2', 'struct node 48 32 16 3', 'struct table 24 0 0 1', 'char 0 0 -17 0'],
    'a directory; JSON, a line for each snapshot' or diag $line[2];
close $from;
is status($pid), 0, 'it ends when nobody reads';

{
    local $SIG{HUP} = 'IGNORE'; # as nohup(1) does
    my $served = "$directory/served";
    mkdir $served or die $!;
    put(0, $served);
    ($pid, $from) = follow('--follow', $served);
    paragraph($from);
    kill 'HUP', $pid;
    put(1, $served);
    like paragraph($from), qr/: 2 snapshots /, 'it goes on with an ignored SIGHUP';
    kill 'TERM', $pid;
    is status($pid), 'signal 15', 'up to SIGTERM';
}

# The start of a process that was attached to is known to a few milliseconds only.
my $attached = "$directory/attached";
mkdir $attached or die $!;
put($_, $attached, 'attached') for 0 .. 3;
($pid, $from) = follow('--follow', $attached);
my $shown = join '', map { paragraph($from) } 0 .. 3;
is join(' ', $shown =~ /: (\d+) snapshots? in/g), '1 2 3 4', 'a process that was attached to four times is one';
kill 'TERM', $pid;
is status($pid), 'signal 15', 'it is ended';

# A file that is no snapshot, and a pattern that matches nothing yet.
my $other = "$directory/other";
mkdir $other or die $!;
open my $bad, '>', "$other/a\nb.snap" or die $!;
print $bad 'nothing';
close $bad;
($pid, $from) = follow('--follow', "$other/*.snap");
for (1 .. 600) { last if -s "$directory/errors"; select undef, undef, undef, 0.1 }
is Sample::content("$directory/errors") =~ s/\Q$other\E/DIR/gr, "heapsh: DIR/a\\nb.snap: not a heap snapshot\n", 'a damaged file is told once';
put(3, $other);
like paragraph($from), qr/^app, pid 4242: 1 snapshot /, 'and the next one is read';
kill 'INT', $pid;
is status($pid), 'signal 2', '^C ends it';

# Ten thousand files are not looked for again after each of them; but an older one that comes late has its turn.
my $trace = "$directory/app.trace";
open my $begun, '>', $trace or die $!;
print $begun 'HSTRACE1', "\0" x 56;
close $begun;
is((Sample::heapsh($trace, 'info'))[1],
    "heapsh: $trace: a trace, not a heap snapshot: heapsh-trace reads it, also while it is being written\n",
    'a trace is not followed, and what reads it is named');

my $counter = "$directory/counter.so";
open my $source, '>', "$directory/counter.c" or die $!;
print $source <<'END';
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>
int glob(const char *pattern, int flags, int (*failed)(const char *, int), glob_t *result)
{
	int (*next)(const char *, int, int (*)(const char *, int), glob_t *) = dlsym(RTLD_NEXT, "glob");
	int file = open(getenv("LOOKS"), O_WRONLY | O_CREAT | O_APPEND, 0600);
	if (file >= 0 && write(file, ".", 1) == 1)
		close(file);
	return next(pattern, flags, failed, result);
}
END
close $source;
is system("cc -w -shared -fPIC -o $counter $directory/counter.c -ldl"), 0, 'a library that counts looks';
my $many = "$directory/many";
mkdir $many or die $!;
my $old = time - 1000;
my $late = 60;
for my $number (0 .. 99) {
    put($number, $number == $late ? $directory : $many);
    utime $old + $number, $old + $number, ($number == $late ? $directory : $many) . "/app-$number.snap";
}
utime $old, $old, $many;
sub followed_many {
    local $ENV{LD_PRELOAD} = $counter;
    local $ENV{LOOKS} = "$directory/looks";
    local $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (), 'verify_asan_link_order=0';
    return follow('--follow', "$many/app-*.snap");
}

($pid, $from) = followed_many();
paragraph($from) for 1 .. 98;
like paragraph($from), qr/: 99 snapshots /, 'all that wait are read';
cmp_ok -s "$directory/looks", '<', 50, 'and not looked for after each';
kill 'TERM', $pid;
status($pid);

# Its output fills the pipe, so it cannot be at the late one already.
($pid, $from) = followed_many();
fcntl $from, 1031, 4096; # F_SETPIPE_SZ
paragraph($from);
rename "$directory/app-$late.snap", "$many/app-$late.snap" or die $!;
like +(map { paragraph($from) } 2 .. 100)[-1], qr/: 100 snapshots /, 'an older one that comes late is read in its turn';
kill 'TERM', $pid;
status($pid);
unlink $trace;

for (['--by', 'name', "--by name: not kind, type or site"], ['--sort', 'size', '--sort size: not growth, last, bytes, objects or name']) {
    my ($option, $word, $message) = @$_;
    is_deeply [(Sample::heapsh($option, $word, '--follow', $series))[1, 2]], ["heapsh: $message\n", 2], $message;
}
like((Sample::heapsh('--by', 'type', "$series/app-0.snap"))[1], qr/^heapsh: --by goes with --follow\nusage: /, 'no --follow');
like((Sample::heapsh('--follow'))[1], qr/^usage: /, 'no pattern');

# --- snapshots of a real program ---------------------------------------------------------------

my $kept = "$directory/kept";
mkdir $kept or die $!;
Sample::run('', "$build/heapsh-check", '--loops', 4, '--keep', $kept, '--', "$build/t/programs/loops", 4, 'leak');
($pid, $from) = follow('--follow', "$kept/*.snap");
my $last = (map { paragraph($from) } 1 .. 4)[3];
like $last, qr/^loops, pid \d+: 4 snapshots in /, 'a program that leaks';
like $last, qr/^ +\+48 B +\+16 B +64 B +4 +\+3  struct session, session_new \(loops\.c:\d+\)$/m, 'by how much it grows';
kill 'TERM', $pid;
status($pid);

# --- a screen ----------------------------------------------------------------------------------

SKIP: {
    skip 'no tmux', 1 unless Terminal::is_possible();
    my $live = "$directory/live";
    mkdir $live or die $!;
    put(0, $live);
    my $terminal = Terminal->new($live, rows => 24, env => { LC_ALL => 'C.UTF-8' });
    $terminal->type("$heapsh --follow '*.snap'", 'Enter');
    my $screen = $terminal->await(qr/q quit/);
    like $screen, qr/\Aapp, pid 4242: 1 snapshot in 0\.0 s, the last .* ago\n40 B in 2 objects, /, 'a screen';
    is scalar(split /\n/, $screen), 24, 'of 24 lines';
    is((grep { length > 80 } split /\n/, $screen), 0, 'of 80 columns');
    put($_, $live) for 1 .. 3;
    $screen = $terminal->await(qr/4 snapshots/);
    like $screen, qr/^ +\+144 B +\+48 B +144 B +3  block\(48\), 0x12345678\n +\+48 B +\+16 B +64 B +4  struct node/m, 'a leak grows';
    $terminal->type('n');
    like $terminal->await(qr/by name/), qr/struct node.*\n.*struct table/, 'sorted by name';
    $terminal->type('s');
    like $terminal->await(qr/ site\n.*  0x12345678\n.*  cache_insert/), qr/  cache_insert \(cache\.c:88\)\n(?!.*struct)/, 'by site';
    $terminal->type('g');
    $terminal->tmux('resize-window', '-t', 'main', '-x', 40, '-y', 8);
    $screen = $terminal->await(qr/by growth.*sort  q: quit|q: quit\n\z/s);
    is((grep { length > 40 } split /\n/, $terminal->tmux('capture-pane', '-p', '-t', 'main')), 0, 'of 40 columns');
    $terminal->tmux('pipe-pane', '-t', 'main', "cat >$directory/raw");
    for (1 .. 600) { last if -s "$directory/raw" && Sample::content("$directory/raw") =~ /\e\[H.*\e\[H/s; select undef, undef, undef, 0.1 }
    $terminal->tmux('pipe-pane', '-t', 'main');
    my $raw = Sample::content("$directory/raw");
    like $raw, qr/\n\e\[K +\+144 B  0x12345678\r?\n/, 'each line is erased in front of its text';
    unlike $raw, qr/\e\[K\r?\n/, 'and not behind it, where xterm would erase its last character';
    like $screen, qr/^    growth  site\n +\+144 B  0x12345678\n +\+48 B  node_new \(app\.c:12\)\n/m, 'with what matters most';
    $terminal->type('Down');
    like $terminal->await(qr/site\n +\+48 B/), qr/^    growth  site\n +\+48 B  node_new/m, 'scrolled';
    $terminal->type('C-z');
    like $terminal->await(qr/Stopped/), qr/Stopped/, '^Z';
    $terminal->type('fg', 'Enter');
    like $terminal->await(qr/q: quit/), qr/\+48 B  node_new/, 'it goes on';
    $terminal->type('q');
    like $terminal->await(qr/\$ ?\n\z/), qr/Stopped.*fg/s, 'q gives the former screen back';
    like $terminal->answer('stty -a | grep -o " -*icanon\| -*echo " | tr -d "\n"; echo'), qr/^ icanon echo$/m, 'and the terminal';
    $terminal->tmux('resize-window', '-t', 'main', '-x', 80, '-y', 24);
    $terminal->type("TERM=dumb $heapsh --follow '*.snap'", 'Enter');
    like $terminal->await(qr/4 snapshots.*struct table[^\n]*\n\z/s), qr/3 snapshots in.*4 snapshots in/s, 'a dumb terminal gets rows';
    $terminal->type('C-c');
    like $terminal->await(qr/\$ ?\n\z/), qr/\^C/, 'up to ^C';
}
done_testing;
