#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Processes that lie to heapsnap capture and heapsnap list: nothing that they say is evaluated,
# believed by its name alone, written to a terminal as it is, or waited for without a bound.
use strict;
use warnings;
use utf8;
use lib 't/lib';
use Encode qw(encode);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Hostile;
use Test::More;
use Time::HiRes qw(time);

my $build = $Heapsh::build;
my $heapsnap = "$build/heapsnap";
my $library = "$build/libheapsnap.so";
my $directory = tempdir(CLEANUP => 1);

sub liar {
    my (@arguments) = @_;
    return Heapsh->start('hostile-announcer', bare => 1, args => [map { encode('UTF-8', $_) } @arguments]);
}

# @return what a command printed, said, and its exit status
sub run {
    my (@words) = @_;
    open my $out, '-|', 'sh', '-c', 'exec "$0" "$@" 2>' . "$directory/said", @words or die $!;
    local $/;
    my $output = <$out> // '';
    close $out;
    my $status = $? >> 8;
    open my $said, '<', "$directory/said" or die $!;
    return ($output, <$said> // '', $status);
}

# One line of printable ASCII, or of the characters that are allowed.
sub is_plain { return $_[0] =~ /\A[\x20-\x7e]*\n\z/ }

sub refuses {
    my ($what, $liar, $pattern) = @_;
    my ($output, $said, $status) = run($heapsnap, 'capture', $liar->pid);
    like $said, qr/\Aheapsnap: $pattern\n\z/, "$what: refused by one line";
    is "$status $output", '1 ', '... and nothing is printed';
    is +($liar->finish)[0], "0\n", '... and no signal was sent';
    return;
}

# --- text that a shell would evaluate ----------------------------------------------

my $trap = "$directory/evaluated";
my @traps = ("heapsnap PPID[\$(touch\${IFS}$trap)] /x", "heapsnap \$(touch\${IFS}$trap) /x", "heapsnap `touch $trap` /x",
    "heapsnap 3 /\$(touch\${IFS}$trap)/%N", "heapsnap 3;touch\${IFS}$trap; /x");
for my $name (@traps) {
    refuses("a mapping '$name' without the library", liar("name=$name"), qr/\d+ \(hostile-announcer\) runs without libheapsnap\.so.*/);
    my $liar = liar("library=$library", 'signal=0', "name=$name", 'catch=3');
    run($heapsnap, 'list');
    refuses('... and with it', $liar, qr/\d+ takes no signal.*/);
}
ok !-e $trap, 'nothing was evaluated';

# --- forged signals and names ---------------------------------------------------------

refuses("a signal that is $_", liar("library=$library", "signal=$_", map { "catch=$_" } 1, 3, 10), qr/\d+ takes no signal.*/)
    for 0, 9, 19, 64, 99999, 4294967295;
# An announcement that does not hold leaves the name of the mapping, which is parsed strictly.
refuses("a name 'heapsnap $_'", liar("library=$library", 'shared=1', 'handler=99', 'signal=10', "name=heapsnap $_", 'catch=10'), qr/.*/)
    for '', '3', ' 3 /x', '+3 /x', '-1 /x', '3  /x', '03e0 /x', '3 x', '3 ../x', '0x3 /x', '99999999999999999999 /x';
refuses("a handler that is $_->[0]", liar("library=$library", 'catch=10', "handler=$_->[1]"), qr/\d+ .*SIGUSR1.*--signal.*/)
    for ['unknown', 99], ['replaced', 3], ['ignored', 4], ['reset', 5], ['waited for', 6], ['unsure', 7];
refuses('a signal without a handler', liar("library=$library"), qr/\d+ would die of SIGUSR1.*--signal.*/);
refuses('a signal that is ignored', Heapsh->start('/bin/sh', bare => 1, args =>
    ['-c', "trap '' USR1; exec $build/t/programs/hostile-announcer library=$library"]), qr/\d+ \(hostile-announcer\) ignores SIGUSR1.*--signal.*/);

# A file of the library's name is not the library.
mkdir "$directory/false";
copy('/bin/true', "$directory/false/libheapsnap.so") or die $!;
refuses('a file of that name', liar("file=$directory/false/libheapsnap.so", 'name=heapsnap 10 /x', 'catch=10'),
    qr/\d+ \(hostile-announcer\) runs without libheapsnap\.so.*/);

# A file that has taken the place of an unreadable one is not even opened: a device may
# do things when it is.
my $place = "$directory/false/libheapsnap.so";
my $found = "$place (deleted)"; # as maps names it then
my ($special, $opens) = special_file($directory);
for my $how ('a link to it', 'the file itself') {
    unlink $found;
    copy('/bin/true', $place) or die $!;
    my $liar = liar("file=$place", 'name=heapsnap 10 /x', 'catch=10');
    truncate $place, 0 or die $!;
    unlink $place;
    ($how eq 'a link to it' ? symlink $special, $found : rename $special, $found) or die $!;
    refuses("a special file in the library's place ($how)", $liar, qr/\d+ \(hostile-announcer\) runs without libheapsnap\.so.*/);
    $liar = undef;
    is $opens->(), 0, '... which is not opened';
}

# --- what is printed --------------------------------------------------------------------

my $evil = "a\n  4242 QUIT   root\e[2J\x{9b}31m\x{202e}b\r";
for my $how ('message', 'status') {
    my $liar = liar("library=$library", 'catch=10', "message=/$evil", $how eq 'status' ? 'status=-5' : ());
    my ($output, $said, $status) = run($heapsnap, 'capture', $liar->pid);
    my $text = $how eq 'status' ? $said : $output;
    ok is_plain($text), "a $how is one line without control characters" or diag explain $text;
    like $text, qr{/a\\n  4242 QUIT   root\\x1b\[2J\\u\{9b\}31m\\u\{202e\}b\\r$}, '... all of it is there, escaped';
    is $status, $how eq 'status' ? 1 : 0, 'with the status that it says';
}

my $strange = "$directory/" . encode('UTF-8', $evil =~ s{/}{}gr);
copy("$build/t/programs/hostile-announcer", $strange) or die $!;
chmod 0755, $strange;
my $named = Heapsh->start($strange, bare => 1, args => ["library=$library", "catch=10", encode('UTF-8', "comm=$evil")]);
my ($output) = run($heapsnap, 'list');
my @rows = grep { /^ *${\$named->pid} |4242 QUIT/ } split /\n/, $output;
is scalar @rows, 1, 'a newline in a program\'s name forges no row of list';
like $rows[0], qr/^ *${\$named->pid} USR1   a\\n  4242 QUIT   root\\x1b\[2J\\u\{9b\}31m\\u\{202e\}b\\r$/, '... all of it is there, escaped';
my (undef, $said) = run($heapsnap, 'capture', liar(encode('UTF-8', "comm=$evil"))->pid);
ok is_plain($said), 'nor does it reach the terminal in an error';

my $deleted = "$directory/was here (deleted)";
copy("$build/t/programs/hostile-announcer", $deleted) or die $!;
chmod 0755, $deleted;
my $present = Heapsh->start($deleted, bare => 1, args => ["library=$library", 'catch=10']);
my $gone = Heapsh->start($deleted, bare => 1, args => ["library=$library", 'catch=10', 'delete']);
($output) = run($heapsnap, 'list');
like $output, qr/^ *${\$gone->pid} USR1   was here \(deleted\)$/m, 'a deleted program has the name that it had';

# --- bounds ---------------------------------------------------------------------------

my $start = time;
my $endless = liar("library=$library", 'catch=10', 'phase=6');
($output, $said, my $status) = run($heapsnap, 'capture', '--timeout', '1s', $endless->pid);
like $said, qr/\Aheapsnap: \d+ is still writing.*\n\z/, 'a snapshot without an end is awaited for a bounded time';
cmp_ok time - $start, '<', 30, '... which has passed';
my ($row) = grep { /^ *${\$endless->pid} / } split /\n/, (run($heapsnap, 'list'))[0];
like $row, qr/\(writing a snapshot: finding types, \d+ s\)$/, 'list says what is being written';
for my $shared (1, 4096, '0x7fffffffffffffff', '0xffffffffffffff00') {
    my $liar = liar("library=$library", 'catch=10', "shared=$shared");
    ($output, $said, $status) = run($heapsnap, 'capture', '--timeout', '3s', $liar->pid);
    like $said, qr/\Aheapsnap: .*\n\z/, "an address of $shared: one line";
    is "$status $output", '1 ', '... and nothing else';
}
my $other = liar("library=$library", 'catch=10', 'pid=1');
($output, $said, $status) = run($heapsnap, 'capture', '--timeout', '3s', $other->pid);
is "$status $output", '1 ', 'of an announcement with another pid only the handler holds';
my $foreign = liar("library=$library", 'catch=10', 'version=99', 'message=/x');
($output, $said, $status) = run($heapsnap, 'capture', '--timeout', '3s', $foreign->pid);
is "$status $output", '1 ', 'of a library of another version only files are believed';
# A directory of names as long as can be, and a pattern of nearly as many letters as go into one.
mkdir "$directory/long";
for (1 .. 20_000) {
    open my $file, '>', sprintf("%s/long/%0254d", $directory, $_) or die $!;
}
my $long = liar("library=$library", 'catch=10', 'version=99', "pattern=$directory/long/" . '%e' x 1000);
my $before = (times)[2];
($output, $said, $status) = run($heapsnap, 'capture', '--timeout', '1s', $long->pid);
is "$status $output", '1 ', 'a directory of many long names holds nothing';
cmp_ok +(times)[2] - $before, '<', 5, '... which takes hundredths of a second, not half a minute, of the processor';
my $names = liar((map { "name=heapsnap 10 /$_" } 1 .. 300), 'catch=10', "library=$library");
($output, $said, $status) = run($heapsnap, 'list');
like $output, qr/^ *${\$names->pid} USR1 /m, 'hundreds of names do not hide the announcement';
done_testing;
