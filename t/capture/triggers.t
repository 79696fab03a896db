#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Who may ask for a snapshot, when, and under which names they come.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Test::More;
use Time::HiRes qw(sleep);

my $build = abs_path($ENV{BUILD} || 'build');
my $program = "$build/t/programs/capture-triggers";
$ENV{XDG_CACHE_HOME} = "$build/t/cache";

# A library whose writer waits for a file. The program makes it, or else the test does when the program
# has ended.
my $slow = tempdir(CLEANUP => 1);
my $awaited = "$slow/awaited";
copy("$build/libheapsnap.so", $slow) or die $!;
open my $script, '>', "$slow/heapsnap-writer" or die $!;
print $script "#!/bin/sh\nwhile [ ! -e $awaited ]; do sleep 0.02; done\nexec $build/heapsnap-writer \"\$@\"\n";
close $script;
chmod 0755, "$slow/heapsnap-writer";

# @return what it printed, its wait status, the files it left, what was said on stderr
sub run {
    my ($way, %option) = @_;
    my $directory = tempdir(CLEANUP => 1);
    local %ENV = (%ENV, %{ $option{env} || {} });
    local $ENV{WRITER_WAITS_FOR} = $awaited if $option{slow} && !$option{late};
    unlink $awaited;
    my $library = ($option{slow} ? $slow : $build) . '/libheapsnap.so';
    my $before = $option{shell} || '';
    my $output = `cd $directory && $before exec env LD_PRELOAD=$library $program $way 2>.stderr`;
    my $status = $?;
    if ($option{late}) {
        open my $file, '>', $awaited or die $!;
    }
    sleep 0.1 while grep { /\.snap\.[0-9a-f]+$/ } glob "$directory/.*";
    if ($option{late}) {
        for (1 .. 300) { last if glob "$directory/*.snap"; sleep 0.1 }
    }
    open my $errors, '<', "$directory/.stderr" or die $!;
    return ($output, $status, [map { s{.*/}{}r } sort glob "$directory/*"], join '', <$errors>);
}

my ($output, $status, $files, $said) = run('own-handler');
is $output, "own handler: 3\nwait: -2\n", 'a handler of the program is left to it';
is_deeply $files, [], 'and no snapshot taken';

($output, $status, $files, $said) = run('own-handler', shell => "trap '' QUIT;");
is $output, "own handler: 3\nwait: -2\n", 'also where the signal was ignored at first';

($output, $status, $files, $said) = run('storm', slow => 1);
is $output, "wait: 0\n", 'a storm of signals is survived';
is scalar @$files, 17, 'what can wait is written';
is $said, "heapsnap: 983 signals refused: too many were waiting for a snapshot\n",
    'the others are refused aloud';

($output, $status, $files, $said) = run('while-writing', slow => 1);
is $output, "dump: 0\ndump at once: -11\nwait: 0\ndump: 0\nwait: 0\n",
    'a call while another snapshot is being written is refused';
is_deeply $files, [map { "capture-triggers-0$_.snap" } 0 .. 3], 'signals meanwhile are served after it';

($output, $status, $files, $said) = run('named');
is $output, "dump: 0\nwait: 0\ndump as nothing: -22\nwait: 0\n", 'heapsnap_dump takes a name';
is_deeply $files, ['named-capture-triggers-00.x'], 'and the file has it';

($output, $status, $files, $said) = run('child', slow => 1, env => { HEAPSNAP_FILE => '%p-%N.snap' });
is $output, "wait for none: -2\ndump: 0\nchild: 0\nwait: 0\ndump: 0\nwait: 0\n",
    'children take snapshots of their own';
my %serials;
for my $file (@$files) {
    push @{ $serials{$1} }, $2 if $file =~ /^(\d+)-(\d+)/;
}
is_deeply [sort map { "@$_" } values %serials], ['00', '00 01', '00 01'],
    'each with its pid and its serial numbers';

($output, $status, $files, $said) = run('vfork');
is $output, "child: 0\nwait: -2\ndump: 0\nwait: 0\n", 'a child of vfork leaves its parent alone';
is scalar @$files, 1, 'and takes no snapshot';

($output, $status, $files, $said) = run('threads');
is $output, "wait: 0\n", 'threads may trigger at the same time';
my ($refused) = $said =~ /heapsnap: (\d+) signals refused/;
is $said =~ s/^heapsnap: \d+ signals? refused.*\n//gmr, '', 'and no trigger is lost silently';
cmp_ok scalar @$files, '>=', 17, 'their snapshots come';

($output, $status, $files, $said) = run('exit', slow => 1, late => 1);
is $status >> 8, 5, 'a program may exit while its snapshot is written';
is_deeply $files, ['capture-triggers-00.snap'], 'which is then finished';

($output, $status, $files, $said) = run('crash', slow => 1, late => 1);
is $status & 127, 6, 'a program may crash while its snapshot is written';
is_deeply $files, ['capture-triggers-00.snap'], 'which is then finished';

($output, $status, $files, $said) = run('edge', env => { AT_EDGE => 1 });
is $output, "wait: 0\nwait: 0\n", 'snapshots before and after main';
is scalar @$files, 2, 'both are there';

($output, $status, $files, $said) = run('storm', env => { HEAPSNAP_SIGNAL => 'USR1' });
is $status & 127, 3, 'with another signal SIGQUIT is the program\'s own again';
done_testing;
