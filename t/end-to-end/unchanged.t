#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The program that hosts us notices nothing (t/programs/unchanged.c), and a snapshot that
# cannot be written costs one line.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Time::HiRes qw(sleep);

{
    my $program = Heapsh->start('unchanged', no_wait => 1);
    my @lines;
    while (defined(my $line = $program->line)) {
        last if $line eq 'ready';
        push @lines, $line;
    }
    is "@lines", '', 'children, signals, descriptors, errno, mask and threads are as before';
    is scalar(grep { /unchanged-/ } $program->snapshots), 5, 'five snapshots';
    is scalar(grep { /child-00\.snap$/ } $program->snapshots), 1, 'and one of the child, under its name';
    my $child = Heapsh::ask_json((grep { /child-/ } $program->snapshots)[0], 'info');
    isnt $child->{pid}, $program->pid, "the child's has its own pid";
    is $child->{serial}, 0, 'and its own serial';
    is(($program->finish)[0], "done\n", 'it ends as ever');
    is $program->errors, '', 'nothing is said';
}

# Signals while a snapshot is being written are taken next, none is lost.
{
    my $program = Heapsh->start('shapes');
    kill 'QUIT', $program->pid;
    sleep 0.02;
    kill 'QUIT', $program->pid;
    my @files;
    for (1 .. 600) {
        @files = $program->snapshots;
        last if @files >= 2;
        sleep 0.05;
    }
    is scalar @files, 2, 'two signals, two snapshots';
    is(($program->finish)[0], "done 10 held by a frame\n", 'the program goes on');
}

# A file is never overwritten, also not through a symbolic link.
{
    my $directory = tempdir(CLEANUP => 1);
    symlink '/nowhere', "$directory/shapes-00.snap" or die;
    open my $out, '>', "$directory/shapes-01.snap" or die;
    print $out "mine\n";
    close $out;
    my $program = Heapsh->start('shapes', directory => $directory);
    kill 'QUIT', $program->pid;
    for (1 .. 600) {
        last if -e "$directory/shapes-02.snap";
        sleep 0.05;
    }
    ok -s "$directory/shapes-02.snap", 'the first free serial number is taken';
    is -s "$directory/shapes-01.snap", 5, 'what was there is as it was';
    is readlink("$directory/shapes-00.snap"), '/nowhere', 'a link too';
    $program->finish;
}

# What cannot be written is said in a line, and leaves nothing.
SKIP: {
    my $directory = tempdir(CLEANUP => 1);
    my $program = Heapsh->start('shapes', directory => $directory, run => ['--file', 'no/such/%N.snap']);
    kill 'QUIT', $program->pid;
    for (1 .. 200) {
        last if $program->errors;
        sleep 0.05;
    }
    like $program->errors,
        qr{^heapsnap: \S*no/such/00\.snap: No such file or directory; the program goes on\n\z},
        'one line says what failed and why';
    is(($program->finish)[0], "done 10 held by a frame\n", 'and the program goes on');
    is_deeply [grep { !/stderr/ } glob "$directory/{.,}?*.snap*"], [], 'no file is left';
}

# A bad setting costs a line, and the default is used.
{
    my $program = Heapsh->start('shapes', env => { HEAPSNAP_CONTENT => 'lots' });
    like $program->errors, qr/^heapsnap: HEAPSNAP_CONTENT: lots: .*256 is used\n\z/, 'a bad value is named';
    my $file = $program->capture;
    is(Heapsh::ask_json($file, 'info')->{content_limit}, 256, 'the default is used');
    $program->finish;
}

# The signal may be another one.
{
    my $program = Heapsh->start('shapes', run => ['--signal', 'USR2', '--file', 'other-%e-%p.snap']);
    my $file = $program->capture('USR2');
    my $pid = $program->pid;
    like $file, qr{/other-shapes-$pid\.snap$}, 'another signal, another name';
    $program->finish;
}
done_testing;
