#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Files that are written are whole, or not there: when the disk is full, when a signal ends the
# program, when something fails. What was there before stays as it was.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $directory = $Sample::directory;
my $build = $Sample::build;
my $large = "$directory/large.snap";
system("$build/t/bench/generate -n 160000 -w -o $large >/dev/null") == 0 or die 'generate failed';
$ENV{XDG_CACHE_HOME} = "$directory/cache";

my ($usage) = Sample::run('', "$build/heapsh-export", '--help');
my @format = split ' ', ($usage =~ /^formats: (.*)/m)[0];
my @all = ('--depth', 999, '--limit', 99999999);
my %writer = (
    (map { ("export $_" => ["$build/heapsh-export", '-q', @all, '--format', $_, '-o']) } @format),
    report => ["$build/heapsh-report", '-q', '-o'],
);

# The files whose names begin so.
sub left { my ($to) = @_; return join ' ', map { m{([^/]*)$} } glob "$to*" }

sub size_of { my ($path) = @_; my $size = 0; $size += -s for -d $path ? glob "$path/*" : glob $path; return $size }

for my $name (sort keys %writer) {
    my @command = @{ $writer{$name} };
    my $to = "$directory/out-" . $name =~ s/ /-/r;

    # A limit of the file's size is a full disk, but for the signal that it sends.
    my ($out, $err, $status) = Sample::run('', 'sh', '-c', 'ulimit -f 4; exec "$@"', 'sh', @command, $to, $large);
    isnt $status, 0, "$name, without space: fails";
    like $err, qr/File too large|disk I\/O error|disk is full|\bfull\b/, '... and says so';
    is left($to), '', '... and leaves nothing';

    # A file that is there after a signal may be whole: its size is that of another run.
    my $is_whole = sub {
        return 0 if !-e $to;
        Sample::run('', @command, "$directory/whole", $large);
        my $whole = size_of("$directory/whole");
        system 'rm', '-rf', "$directory/whole";
        return size_of($to) == $whole;
    };

    # Interrupted as soon as there is something.
    for my $signal (qw(INT TERM)) {
        my $pid = fork() // die $!;
        if (!$pid) {
            open STDOUT, '>', '/dev/null';
            open STDERR, '>', "$directory/err";
            $SIG{INT} = $SIG{TERM} = 'DEFAULT';
            exec @command, $to, $large;
        }
        my $until = time + 60;
        select undef, undef, undef, 0.002 while !glob("$to*") && time < $until && kill 0, $pid;
        kill $signal, $pid;
        waitpid $pid, 0;
        SKIP: {
            skip "$name: it was too quick", 1 if $? == 0 || $is_whole->();
            is left($to), '', "$name, SIG$signal: nothing is left";
        }
        system 'rm', '-rf', glob "$to*";
    }
}

# What a line of the shell is sent to: the shell goes on.
{
    my ($out, $err) = Sample::run("find > $directory/short.txt\nfind --count\nquit\n", 'sh', '-c', 'ulimit -f 4; exec "$@"', 'sh', "$build/heapsh", '-q', $large);
    is $err, "heapsh: cannot write to $directory/short.txt: File too large\n", 'a line of heapsh: says so';
    like $out, qr/\S/, '... and the next line is done';
}

# A file that is there stays until the new one is whole, and keeps its mode; a link leads to it.
{
    my $small = Sample::make();
    my $to = "$directory/there.dot";
    open my $file, '>', $to or die $!;
    print $file "before\n";
    close $file;
    chmod 0640, $to;
    my (undef, undef, $status) = Sample::run('', 'sh', '-c', 'ulimit -f 4; exec "$@"', 'sh', "$build/heapsh-export", '-q', @all, '--format', 'dot', '-o', $to, $large);
    isnt $status, 0, 'an export over a file that fails';
    is Sample::content($to), "before\n", '... leaves that as it was';
    symlink $to, "$directory/link.dot";
    Sample::run('', "$build/heapsh-export", '-q', '--format', 'dot', '-o', "$directory/link.dot", $small);
    like Sample::content($to), qr/^digraph/, 'through a link the file is replaced';
    ok -l "$directory/link.dot", '... and the link stays';
    is sprintf('%o', (stat $to)[2] & 07777), '640', '... and its mode';
    # What was in the program's memory is in all of these.
    my $mask = umask 022;
    Sample::run('', "$build/heapsh-export", '-q', '--format', $_, '-o', "$directory/new.$_", $small) for qw(dot csv sqlite);
    Sample::run('', "$build/heapsh-report", '-q', '-o', "$directory/new.html", $small);
    Sample::run("strings > $directory/new.txt\nstrings >> $directory/more.txt\n", "$build/heapsh", '-q', $small);
    umask $mask;
    is sprintf('%o', (stat "$directory/$_")[2] & 07777), -d "$directory/$_" ? '700' : '600', "$_ is its owner's alone"
        for qw(new.dot new.csv new.csv/objects.csv new.sqlite new.html new.txt more.txt);
    my ($out) = Sample::run('', "$build/heapsh-export", '-q', '--format', 'dot', '-o', '/dev/stdout', $small);
    like $out, qr/^digraph/, 'a device is written to';
    my ($no, $err) = Sample::run('', "$build/heapsh-export", '-q', '--format', 'dot', '-o', '/nowhere/x.dot', $small);
    is $err, "heapsh-export: /nowhere/x.dot: No such file or directory\n", 'a directory that is not there';
}
done_testing;
