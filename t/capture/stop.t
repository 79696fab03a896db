#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The stop: its cost grows with the threads, by little for one that sleeps, and has a bound.
use strict;
use warnings;
use lib 't/lib';
use Cwd qw(abs_path);
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = abs_path($ENV{BUILD} || 'build');
my $directory = tempdir(CLEANUP => 1);
$ENV{XDG_CACHE_HOME} = "$build/t/cache";
$ENV{HEAPSNAP_CONTENT} = 'none';
$ENV{HEAPSNAP_TYPES} = 'none';

# Signals are counted by user, and other processes of this one have some queued: as root, a user
# that has no others. @return what comes before the program, the library, the program
sub programs {
    my ($limited) = @_;
    return ('', "$build/libheapsnap.so", "$build/t/programs/capture-many") unless $limited && $> == 0;
    my $public = Heapsh::public_build();
    my $user = 20000 + $$ % 40000;
    copy("$build/t/programs/capture-many", $public) or die $!;
    chmod 0755, "$public/capture-many";
    chmod 0777, $directory;
    return ("setpriv --reuid $user --clear-groups", "$public/libheapsnap.so", "$public/capture-many");
}

# @return what info says of the snapshot, and what was said on standard error
sub capture {
    my (@arguments) = @_;
    unlink glob "$directory/*.snap";
    my ($as, $library, $program) = programs(@arguments > 2 && $arguments[2] ne '');
    my $output = `cd $directory && $as env LD_PRELOAD=$library $program @arguments 2>errors`;
    is $output, "done\n", "@arguments: the program did not notice";
    open my $errors, '<', "$directory/errors" or die $!;
    my $said = join '', <$errors>;
    my ($file) = glob "$directory/*.snap";
    return (Heapsh::ask_json($file, 'info'), $said);
}

sub states {
    my ($info) = @_;
    my %state;
    $state{ $_->{state} }++ for @{ $info->{threads} };
    return \%state;
}

# --- sleeping threads --------------------------------------------------------------

for my $sleeping (400, 1600) {
    my ($info, $said) = capture($sleeping);
    is $said, '', 'nothing is said';
    is scalar @{ $info->{threads} }, $sleeping + 1, 'all threads are listed';
    is states($info)->{'could not be stopped'} // 0, 0, 'where each is, is known';
    # Those that do not answer at once are looked at every 2 ms.
    cmp_ok $info->{stop_calls}, '<=', 2 * $sleeping + 300 + 100 * $info->{stop_ns} / 2e6,
        'a sleeping thread costs the stop two system calls';
}

# --- running threads ------------------------------------------------------------------

{
    local $ENV{HEAPSNAP_STOP} = '60s';
    for my $signals ('', 10) {
        my ($info, $said) = capture(0, 40, $signals);
        is $said, '', 'nothing is said';
        is states($info)->{'could not be stopped'} // 0, 0, 'all have been stopped';
        cmp_ok $info->{stop_calls}, '<=', 12 * 41 + 100 * $info->{stop_ns} / 2e6,
            'a running thread costs the stop a few system calls'
            if $signals eq '';
    }
}

# --- the bound ---------------------------------------------------------------------------

{
    local $ENV{HEAPSNAP_STOP} = '0ms';
    my ($info, $said) = capture(10, 20);
    my $missed = states($info)->{'could not be stopped'} // 0;
    # How many of those that run answer in no time at all is chance.
    like $said, qr/\Aheapsnap: [1-9]\d* of 31 threads did not stop in time \(HEAPSNAP_STOP\); the snapshot lacks their stacks\n\z/,
        'one line says so';
    my ($told) = $said =~ /(\d+) of 31/;
    cmp_ok $missed, '>=', $told // 31, 'what runs on after the bound is marked';
    is `$build/heapsh -q $directory/*.snap info` =~ tr/\n// > 20, 1, 'info can be asked';
    like `$build/heapsh -q $directory/*.snap info`, qr/^  $missed could not be stopped$/m, 'info tells the number';
}
{
    local $ENV{HEAPSNAP_STOP} = 'soon';
    my ($info, $said) = capture(1);
    is $said, "heapsnap: HEAPSNAP_STOP: soon: not a time, like 100ms; 250ms is used\n", 'a bad setting is named';
}
done_testing;
