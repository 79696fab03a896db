#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The cache of answers of debug information about frames, lines and sites (lib/dwarf/dwarf_answers.h): a capture gives
# the same with and without the cache, whatever has become of that; and reads no debug information with it.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $scratch = tempdir(CLEANUP => 1);
my $path = "$scratch/stacks";
my $cache = "$scratch/cache/heapsh";

# The threads that wait, with the variables of their frames; and the sites. Not the third thread: it runs. The others
# may be on their way into the call in which they wait, so that their innermost frames are left out.
sub answers {
    my ($file) = @_;
    my @threads = @{ Heapsh::ask_json($file, 'callstack') }[0, 1];
    for my $frames (map { $_->{frames} } @threads) {
        my ($waits) = grep { $frames->[$_]{function} =~ /^(wait_for_input|nap)$/ } 0 .. $#$frames;
        splice @$frames, 0, $waits + 1;
    }
    return { threads => \@threads, sites => Heapsh::ask_json($file, 'sites') };
}

# The same without what differs from run to run.
sub names {
    my ($answers) = @_;
    return [ map { [ map { [ $_->{function}, $_->{file}, $_->{line}, map { "$_->{type} $_->{name}" } @{ $_->{locals} // [] } ] }
                @{ $_->{frames} } ] } @{ $answers->{threads} } ];
}

sub start { return Heapsh->start($path, env => { XDG_CACHE_HOME => $_[0] // "$scratch/cache" }) }

sub files { my %inode = map { $_ => (stat)[1] } glob "$cache/*-answers-*"; return \%inode }

# Overwrites the debug information of an ELF file of 64 bits, whose size and time stay: a cache is of one file.
sub wipe {
    my ($file) = @_;
    system('cp', '-p', $file, "$file.before") == 0 or die 'cp';
    open my $in, '+<:raw', $file or die "$file: $!";
    my $read = sub { seek $in, $_[0], 0; read $in, my $bytes, $_[1]; $bytes };
    my ($headers, $size, $count, $names) = (unpack('Q<', $read->(40, 8)), unpack 'S<3', $read->(58, 6));
    my @sections = map { [ unpack 'L<2Q<4', $read->($headers + $_ * $size, 40) ] } 0 .. $count - 1;
    my $strings = $read->(@{ $sections[$names] }[4, 5]);
    for my $section (@sections) {
        next if unpack('Z*', substr $strings, $section->[0]) !~ /^\.debug_(info|abbrev|line|loc|rng|aranges)/;
        seek $in, $section->[4], 0;
        print $in "\xff" x $section->[5];
    }
    close $in or die "$file: $!";
    system('touch', '-r', "$file.before", $file) == 0 or die 'touch';
    return;
}

copy(Heapsh::program_path('stacks'), $path) or die "$path: $!";
chmod 0755, $path;

my $program = start();
my $first = answers($program->capture);
my $files = files();
ok scalar(keys %$files), 'the first capture makes the cache';
ok scalar(grep { /sort/ } map { $_->[0] } @{ names($first)->[0] }), 'of frames that are there';
ok scalar(grep { @$_ > 3 } @{ names($first)->[0] }), 'and have variables';

# The third thread may stand at another place, and add that.
is_deeply answers($program->capture), $first, 'the second one, which reads it, finds the same';

for my $file (glob "$cache/*-answers-*") {
    open my $out, '+<', $file or die "$file: $!";
    seek $out, (-s $file) / 2, 0;
    print $out "\xa5" x 16;
}
is_deeply answers($program->capture), $first, 'so does one with a damaged cache';
chmod 0666, glob "$cache/*-answers-*";
is_deeply answers($program->capture), $first, 'one with a cache that others may write to';
truncate $_, 10 for glob "$cache/*-answers-*";
is_deeply answers($program->capture), $first, 'one with a cache that was cut off';
system('rm', '-r', $cache);
is_deeply answers($program->capture), $first, 'and one with none';
$program->finish;

# A file that is being run cannot be written to: the rest is of other processes.
$program = start();
my $whole = names(answers($program->capture));
$program->finish;
wipe($path);
$program = start();
is_deeply names(answers($program->capture)), $whole, 'with the cache, debug information is not read';
$program->finish;
# Types and variables are cached elsewhere; these stay.
unlink glob "$cache/*-answers-*";
$program = start();
ok !eq_array(names(answers($program->capture)), $whole), 'without it, it would be';
$program->finish;
done_testing;
