#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs whose symbols, debug information and call frame information are damaged: the snapshot
# is written all the same, with all objects, and can be read. MUTANTS=2000 SEED=7 for a long run.
use strict;
use warnings;
use lib 't/lib';
use File::Copy qw(copy);
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

my $build = $Heapsh::build;
my $mutants = $ENV{MUTANTS} || 15;
my $seed = $ENV{SEED} || 1;
my $original = "$build/t/programs/hostile-processes";

# Without a build id nothing of it is kept in the cache.
my $directory = tempdir(CLEANUP => 1);
my $plain = "$directory/plain";
system("objcopy --remove-section=.note.gnu.build-id $original $plain") == 0 or die 'objcopy';
my %section;
for (`readelf -SW $plain`) {
    $section{$1} = [hex $2, hex $3]
        if /\] (\.(?:debug_\w+|symtab|strtab|shstrtab|eh_frame\w*)) +\S+ +\S+ (\S+) (\S+)/;
}
my ($headers) = `readelf -hW $plain` =~ /Start of section headers: +(\d+)/;
open my $in, '<:raw', $plain or die $!;
my $bytes = do { local $/; <$in> };
$section{headers} = [$headers, length($bytes) - $headers];

# Some bytes of one section, changed as damage comes: single bits, runs, numbers at their ends.
sub mutate {
    my ($name) = @_;
    my ($start, $size) = @{ $section{$name} };
    my $mutant = $bytes;
    for (0 .. int rand 12) {
        my $at = $start + int rand $size;
        my $how = int rand 4;
        my $new = $how == 0 ? chr(ord(substr $mutant, $at, 1) ^ 1 << int rand 8)
            : $how == 1 ? chr(int rand 256) x (1 + int rand 16)
            : $how == 2 ? pack('L<', (0xffffffff, 0x7fffffff, 0x80000000, 0)[int rand 4])
            : substr $mutant, $start + int rand $size, 1 + int rand 40;
        my $room = $start + $size - $at;
        $new = substr $new, 0, $room if length $new > $room;
        substr $mutant, $at, length $new, $new;
    }
    return $mutant;
}

srand $seed;
my (@bad, %notes);
for my $number (1 .. $mutants) {
    my @names = sort keys %section;
    my $name = $names[$number % @names];
    my $where = "mutant $number (seed $seed), $name";
    my $program = "$directory/mutant";
    unlink $program, glob "$directory/*.snap";
    open my $out, '>:raw', $program or die $!;
    print $out mutate($name);
    close $out;
    chmod 0755, $program;
    local $ENV{XDG_CACHE_HOME} = "$build/t/cache";
    my $said = `cd $directory && LD_PRELOAD=$build/libheapsnap.so ./mutant plain 2>&1`;
    my ($file) = glob "$directory/*.snap";
    if ($said ne "done\n" || !$file) {
        push @bad, "$where: $said";
        next;
    }
    push @bad, "$where: objects are missing"
        if eval { Heapsh::ask_json($file, 'find', 'size', '1009')->{count} // 0 } != 100;
    for my $command ('info', 'callstack', 'count', 'sites', 'types') {
        eval { Heapsh::ask($file, $command) };
        push @bad, "$where: $command: $Heapsh::complaint" if $@ || $Heapsh::status > 1;
    }
    my ($module) = grep { $_->{path} =~ m{/mutant$} } @{ Heapsh::ask_json($file, 'info')->{modules} };
    $notes{ $module->{note} =~ s/\b(0x[0-9a-f]+|\d+)/N/gr }++ if $module->{note};
    push @bad, "$where: $module->{note}" if $module->{note} =~ /crash|took more/ && !$ENV{MUTANTS};
}
is join("\n", @bad), '', "$mutants damaged programs are captured";
note "$notes{$_} times: $_" for sort keys %notes;
cmp_ok scalar keys %notes, '>', 0, 'and what was damaged is told';
done_testing;
