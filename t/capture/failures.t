#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A snapshot that fails: one line on standard error, no file, and the program goes on.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use lib 't/lib';
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# A library beside a writer of the test's own.
sub library_with {
    my ($writer) = @_;
    my $directory = tempdir(CLEANUP => 1);
    copy("$build/libheapsnap.so", $directory) or die $!;
    if (defined $writer) {
        open my $script, '>', "$directory/heapsnap-writer" or die $!;
        print $script $writer;
        close $script;
        chmod 0755, "$directory/heapsnap-writer";
    }
    return $directory;
}

# Captures a program once; the shell may prepare its surroundings.
# @return the line said, the files left, wait status and output
sub capture {
    my ($library, $shell) = @_;
    my $directory = tempdir(CLEANUP => 1);
    chmod 0777, $directory;
    my $output = `cd $directory && { ${\($shell || ':')}; exec env LD_PRELOAD=$library/libheapsnap.so $build/t/programs/capture-failure; } 2>$directory/.stderr`;
    my $status = $?;
    open my $errors, '<', "$directory/.stderr" or die $!;
    my @files = grep { !m{/\.{1,2}$|/\.stderr$} } glob "$directory/* $directory/.*";
    chmod 0755, $directory;
    return (join('', <$errors>), \@files, $status, $output);
}

sub fails {
    my ($what, $library, $line, $shell) = @_;
    my ($said, $files, $status, $output) = capture($library, $shell);
    subtest $what => sub {
        like $said, qr/\A$line\n\z/, 'one line says why';
        is_deeply $files, [], 'no file is left';
        is $status, 0, 'the program ends well';
        is $output, "went on: -5\n", 'and goes on, without a child';
    };
    return;
}

my $goes_on = '; the program goes on';
my $missing = library_with(undef);
fails('no writer', $missing,
    qr{heapsnap: \Q$missing\E/heapsnap/heapsnap-writer could not be started: no such file or directory$goes_on});

fails('a writer that is no program', library_with("\x7fELF, but not really"),
    qr{heapsnap: \S+/heapsnap-writer could not be started: not a program for this machine$goes_on});

fails('a writer that crashes', library_with("#!/bin/sh\nkill -SEGV \$\$\n"),
    qr{heapsnap: heapsnap-writer was ended by signal 11$goes_on});

fails('a writer that is killed', library_with("#!/bin/sh\nkill -KILL \$\$\n"),
    qr{heapsnap: heapsnap-writer was ended by signal 9$goes_on});

fails('a frozen copy that is killed', library_with("#!/bin/sh\nkill -KILL \$PPID\nsleep 0.2\n"),
    qr{heapsnap: the frozen copy was ended$goes_on});

fails('a writer that says why', library_with("#!/bin/sh\necho 'failed app-07.snap: No space left on device'\nexit 1\n"),
    qr{heapsnap: app-07\.snap: No space left on device$goes_on});

fails('a writer that changes its mind', library_with("#!/bin/sh\necho 'wrote app-07.snap'\nexit 1\n"),
    qr{heapsnap: \S+/heapsnap-writer ended with status 1$goes_on});

fails('a limit on the size of files', $build,
    qr{heapsnap: \S+\.snap: File too large$goes_on}, 'ulimit -f 1');

fails('a directory that is gone', $build,
    qr{heapsnap: \S+\.snap: No such file or directory$goes_on},
    'export HEAPSNAP_FILE=nowhere/%e.snap');

SKIP: {
    skip 'root may write anywhere, and start any number of processes', 1 if $> == 0;
    fails('a directory that must not be written to', $build,
        qr{heapsnap: \S+\.snap: Permission denied$goes_on}, 'chmod 555 .');
}

# In a mount namespace of its own, which goes with it.
SKIP: {
    skip 'a full file system takes root and namespaces', 1
        if $> != 0 || system('unshare --mount mount -t tmpfs none /tmp 2>/dev/null') != 0;
    my $full = tempdir(CLEANUP => 1);
    my $command = "mount -t tmpfs -o size=4k none $full && cd $full && head -c 4096 /dev/zero >all && "
        . "LD_PRELOAD=$build/libheapsnap.so $build/t/programs/capture-failure 2>&1; rm all; ls -A $full";
    my $output = `unshare --mount sh -c '$command'`;
    like $output, qr{\Aheapsnap: \S+\.snap: No space left on device$goes_on\nwent on: -5\n\z},
        'a full file system';
}

# Nothing but the files counts for the writer: the program's own limits do not.
my ($said, $files, $status, $output) = capture($build, 'ulimit -S -v 200000');
is $said, '', 'a limit on the address space is the program\'s, not the writer\'s';
is $output, "went on: 0\n", 'and the snapshot is written';
($said, $files, $status, $output) = capture($build, 'ulimit -S -n 4');
is $output, "went on: 0\n", 'so is a limit on descriptors';

# A program that has ended, or become another, before the outcome is known.
# The writer's parent is the frozen copy, whose parent is the program, as long as there is one.
my $late = library_with(<<'END');
#!/bin/sh
while read -r name <"/proc/$(sed -n 's/^PPid:	//p' /proc/$PPID/status)/comm" && [ "$name" = capture-failure ]; do sleep 0.02; done 2>/dev/null
echo 'failed app-07.snap: No space left on device'
exit 1
END
my $why = 'heapsnap: app-07.snap: No space left on device';
# @return what is said on standard error at the end, and then
sub say_late {
    my ($environment, $redirection) = @_;
    my $directory = tempdir(CLEANUP => 1);
    my $run = "exec env $environment LD_PRELOAD=$late/libheapsnap.so $build/t/programs/capture-failure";
    my $at_once = `cd $directory && { $run; } $redirection`;
    my $said = '';
    Heapsh::await(sub { $said = Heapsh::content("$directory/.stderr") }) if $redirection =~ /stderr/;
    return ($at_once, $said);
}
my ($at_once, $later) = say_late('END=1', '2>.stderr');
is $later, "$why; the program has ended\n", 'when the program ends first: one line all the same';
(undef, $later) = say_late('END=1', '2>>.stderr');
is $later, "$why; the program has ended\n", '... also in a log';
(undef, $later) = say_late('EXEC=1', '2>.stderr');
is $later, "$why$goes_on\n", 'when it has become another';
($at_once) = say_late('END=1', '2>&1');
is $at_once, '', 'a pipe is not kept open to say so';

# Where something else has become descriptor 2, nothing is written to it.
$ENV{CLOSE_ERRORS} = 1;
($said, $files, $status, $output) = capture(library_with("#!/bin/sh\nexit 1\n"));
is $output, "went on: -5\n", 'a program that has a file of its own at descriptor 2';
is_deeply [map { -s } @$files], [0], 'finds nothing written to that';
done_testing;
