#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Standard streams that are closed or full: no file takes the place of one, and what could not be written is an
# error of every program.
use strict;
use warnings;
use lib 't/lib';
use Sample;
use Test::More;

my $build = $Sample::build;
my $directory = $Sample::directory;
my $file = Sample::make();
my @series = map { Sample::make('series', $_) } 0 .. 2;
my $late = Sample::make('series', 3);
my $heapsh = "$build/heapsh";

# Runs a line of the shell. @return what it said on standard error, and its status
sub shell {
    my ($line) = @_;
    my (undef, $said) = Sample::run('', 'bash', '-c', "$line\necho \$? >$directory/status");
    chomp(my $status = Sample::content("$directory/status"));
    return ($said, $status);
}

# --- standard output ---------------------------------------------------------------

my %programs = (
    'heapsh' => [ 1, "-q $file count", '--help', '--version', "-q $file find" ],
    'heapsh-diff' => [ 2, "$file $file", '--help', '--version' ],
    'heapsh-evolution' => [ 2, "@series", "--csv @series", "--svg @series", '--help' ],
    'heapsh-leakreport' => [ 2, "-q @series", "--json @series", "--html @series", '--version' ],
    'heapsh-report' => [ 2, "$file -o $directory/page.html", '--help' ],
    'heapsh-export' => [ 2, "--format rows -o - $file", "--format csv -o $directory/csv $file", '--help' ],
    'heapsh-unfreed' => [ 2, $file, '--version' ],
    'heapsh-check' => [ 2, "--max-leaked 1000 @series $late", '--help' ],
    'heapsh-trace' => [ 2, '--help' ],
    'heapsnap' => [ 1, 'list --all', '--help', '--version' ],
);
my %reasons = ('>&-' => 'Bad file descriptor', -c '/dev/full' ? ('>/dev/full' => 'No space left on device') : ());
for my $to (sort keys %reasons) {
    for my $name (sort keys %programs) {
        my ($failure, @uses) = @{ $programs{$name} };
        my @wrong;
        for my $use (@uses) {
            my ($said, $status) = shell("$build/$name $use $to");
            push @wrong, "$use: $status, $said" if $status ne $failure || $said ne "$name: cannot write to standard output: $reasons{$to}\n";
        }
        is join('', @wrong), '', "$name $to";
    }
}

# An answer of which only the first pieces fit.
SKIP: {
    skip 'no file system of one page', 1
        unless -w '/' && system("mkdir $directory/small && unshare --mount true 2>/dev/null") == 0;
    my ($said, $status) = shell("unshare --mount bash -c 'mount -t tmpfs -o size=4k none $directory/small && $heapsh -q $file help find > $directory/small/out;"
            . " for i in 1 2 3 4 5 6 7 8 9; do echo help find; done | $heapsh -q $file > $directory/small/out; exit \$?'");
    is "$status$said", "1heapsh: cannot write to standard output: No space left on device\n", 'a disk that is full in between';
}

# --- nothing takes their place -------------------------------------------------------

# Every file that is opened would get the lowest number that is free.
for my $closed ('>&-', '2>&-', '<&-', '<&- >&-', '<&- >&- 2>&-') {
    my $copy = "$directory/copy.snap";
    Sample::write_file('copy.snap', Sample::content($file));
    Sample::write_file('lines', "count\nfind > $directory/found\n");
    shell("$_ $closed") for "$heapsh -q $copy count", "$heapsh -q $copy 'find > $directory/found'", "$heapsh -q $copy source $directory/lines",
        "$heapsh $copy 'count | cat'", "$build/heapsh-export --format csv -o $directory/closed.csv $copy",
        "$build/heapsh-report $copy -o $directory/closed.html", "$build/heapsh-diff --frob $copy";
    ok Sample::content($copy) eq Sample::content($file), "$closed: the snapshot is as before";
    is Sample::content("$directory/found"), scalar((Sample::heapsh($file, 'find'))[0]), "$closed: the answer alone is in its file";
    unlike Sample::content("$directory/closed.html"), qr/heapsh-report:|closed\.html/, "$closed: the page is clean";
}

# A program that is run gets what it would have got.
for my $closed ('>&-', '2>&-', '<&-') {
    my $number = $closed =~ /^2/ ? 2 : $closed =~ /^>/ ? 1 : 0;
    shell("$build/heapsnap run --no-snapshots -- bash -c '[ -e /proc/self/fd/$number ]; echo \$? > $directory/closed' $closed");
    is Sample::content("$directory/closed"), "1\n", "heapsnap run $closed: it is closed in the program, too";
}

# --- standard input --------------------------------------------------------------------

for (['<&-', 'Bad file descriptor'], [ "< $directory", 'Is a directory' ]) {
    my ($from, $why) = @$_;
    my ($said, $status) = shell("$heapsh -q $file $from");
    is "$status$said", "1heapsh: standard input: cannot be read: $why\n", "commands $from";
    is_deeply [ shell("$heapsh -q $file count $from >/dev/null") ], [ '', 0 ], "$from does not matter to a command of the command line";
}
is_deeply [ shell("$heapsh -q $file < /dev/zero") ], [ "heapsh: standard input: line 1 has a byte of zero in it: these are no commands\n", 1 ],
    'commands from /dev/zero';
is_deeply [ shell("tr '\\0' x < /dev/zero | $heapsh -q $file") ],
    [ "heapsh: standard input: line 1 is longer than 1048576 bytes: these are no commands\n", 1 ], 'a line without an end';

# --- files of commands -------------------------------------------------------------------

sub source_fails {
    my ($name, $path, $why) = @_;
    is_deeply [ shell("$heapsh -q $file source $path") ], [ "heapsh: $path: $why\n", 1 ], "source $name";
}
source_fails('a directory', $directory, 'cannot be read: Is a directory');
source_fails('nothing', "$directory/none", 'No such file or directory');
source_fails('/dev/full', '/dev/full', 'line 1 has a byte of zero in it: these are no commands');
source_fails('a snapshot', $file, 'line 1 has a byte of zero in it: these are no commands');
Sample::write_file('lines', "count\nfrobnicate\n");
is_deeply [ shell("$heapsh -q $file source $directory/lines > /dev/null") ],
    [ "heapsh: frobnicate: no such command; `help` lists them\nheapsh: $directory/lines: line 2 failed\n", 2 ], 'source: the line that fails';
Sample::write_file('lines', 'find --count untyped');
is_deeply [ Sample::run('', $heapsh, '-q', $file, 'source', "$directory/lines") ], [ "Total: 1 object, 48 B\n", '', 0 ],
    'source: a last line without an end';

done_testing;
