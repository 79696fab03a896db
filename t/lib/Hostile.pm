# SPDX-License-Identifier: GPL-3.0-or-later
package Hostile;

# Runs a program that is hard on us (t/programs/hostile.h) without the library and with it. Both
# must print the same and end the same; the snapshots must be there and hold all that was marked;
# no other file, and no process, may be left.
#
#	survives('in malloc', 'hostile-timing', 'malloc', snapshots => 5);
#
# Options:
#	snapshots  how many; [least, most] where it depends            (1)
#	errors     what may be said on standard error, a regular expression, all of it  ('')
#	output     what is printed, where it cannot be as without the library
#	marks      marked blocks in each snapshot                      (100)
#	before     shell commands to run before, in the same shell
#	wrap       command line that the program is run by
#	env        environment
#	check      called with each snapshot
#	name       pattern of the snapshots' names for glob

use strict;
use warnings;
use Cwd qw(abs_path);
use Exporter qw(import);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(survives run_way special_file);

my $build = $Heapsh::build;
my $runs = 0;

# Makes a pipe that stands for a device, which may do things when it is opened.
# @return its path, a function that tells how often it was opened since the last call
sub special_file {
    my ($directory) = @_;
    my ($inotify_init1, $inotify_add_watch) = `uname -m` eq "x86_64\n" ? (294, 254) : (26, 27);
    my ($is_opened, $not_blocking, $opened_size) = (0x20, 04000, 64);
    my $path = "$directory/special";
    my $watches = syscall $inotify_init1, $not_blocking;
    my $own_path = "$path\0";
    open my $watched, '<&=', $watches or die $!;
    system('mkfifo', $path) == 0 or die;
    syscall($inotify_add_watch, $watches, $own_path, $is_opened) > 0 or die $!;
    my $opens = sub {
        my $count = 0;
        $count += length($_) / 16 while sysread $watched, $_, $opened_size * 16;
        return $count;
    };
    sysopen my $once, $path, $not_blocking or die $!;
    is $opens->(), 1, 'an open of a special file is seen';
    return ($path, $opens);
}

# Processes that a run left behind: they have its mark in their environment.
sub left_over {
    my ($mark) = @_;
    my @left;
    for my $path (glob '/proc/[0-9]*/environ') {
        open my $in, '<', $path or next;
        local $/;
        my $text = <$in> // '';
        next unless $text =~ /HOSTILE_RUN=\Q$mark\E\0/;
        my $pid = $path =~ s{\D}{}gr;
        open my $name, '<', "/proc/$pid/comm" or next;
        push @left, "$pid " . (<$name> // '');
    }
    return @left;
}

# @return output, wait status, standard error, the directory that it ran in
sub run_way {
    my ($library, $program, $way, %option) = @_;
    my $directory = $option{directory} || tempdir(CLEANUP => 1);
    my $errors = tempdir(CLEANUP => 1) . '/errors';
    my $mark = "$$-" . ++$runs;
    my $path = $program =~ m{/} ? $program : "$build/t/programs/$program";
    local %ENV = (%ENV, %{ $option{env} || {} });
    $ENV{XDG_CACHE_HOME} = "$build/t/cache";
    $ENV{HOSTILE_RUN} = $mark;
    my $preload = $library ? "env LD_PRELOAD=$library" : 'env';
    my $command = join ' ', $option{wrap} || '', $preload, $path, $way;
    my $before = $option{before} ? "$option{before};" : '';
    chmod 0777, $directory;
    my $output = `cd $directory && $before exec $command 2>$errors`;
    my $status = $?;
    for (1 .. 1200) {
        last unless left_over($mark);
        sleep 0.05;
    }
    my @left = left_over($mark);
    is_deeply \@left, [], 'no process is left' or kill 'KILL', map { /^(\d+)/ } @left;
    open my $in, '<', $errors or die "$errors: $!";
    local $/;
    return ($output, $status, scalar(<$in>) // '', $directory);
}

sub check_snapshots {
    my ($option, @files) = @_;
    my ($least, $most) = ref $option->{snapshots} ? @{ $option->{snapshots} }
        : ($option->{snapshots} // 1) x 2;
    if (@files < $least || @files > $most) {
        return is scalar @files, $least, 'the snapshots are there';
    }
    my $marks = $option->{marks} // 100;
    my %found;
    for my $file (@files) {
        $found{ Heapsh::ask_json($file, 'find', 'size', 1009)->{count} }++;
        $option->{check}->($file) if $option->{check};
    }
    is_deeply [sort keys %found], [@files ? $marks : ()], 'all marked blocks are in each snapshot';
    return;
}

sub survives {
    my ($what, $program, $way, %option) = @_;
    return subtest $what => sub {
        my ($bare, $bare_status) = run_way('', $program, $way, %option);
        my ($output, $status, $said, $directory) =
            run_way(Heapsh::public_build() . '/libheapsnap.so', $program, $way, %option);
        my $errors = $option{errors} // '';
        is $output, $option{output} // $bare, 'it prints what it does without us';
        is $status, $bare_status, 'and ends as it does without us';
        like $said, qr/\A$errors\z/, 'what is said';
        my @files = glob($directory . '/' . ($option{name} || '*.snap'));
        check_snapshots(\%option, @files);
        my %snapshot = map { $_ => 1 } @files;
        my @others = grep { !m{/\.{1,2}$} && !$snapshot{$_} } glob "$directory/* $directory/.*";
        is_deeply \@others, [], 'no other file is left';
        return;
    };
}

1;
