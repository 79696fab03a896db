#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# heapsnap core: files that were cut off, by a full disk or a limit. Blocks that are there are found, and
# nothing is claimed of what is not.
use strict;
use warnings;
no warnings 'portable';    # addresses are of 64 bits
use lib 't/lib';
use Cwd qw(abs_path);
use Heapsh;
use List::Util qw(max);
use LiveBlocks;
use Test::More;
use Tools;

my $build = abs_path($ENV{BUILD} || 'build');

sub take {
    my ($file) = @_;
    my $snapshot = "$file.snap";
    unlink $snapshot;
    my $output = `$build/heapsnap core --types none --file $snapshot $file 2>&1`;
    return (-e $snapshot ? $snapshot : undef, $output);
}

# In place: files are large. What follows has to cut off more.
sub cut {
    my ($core, $size) = @_;
    truncate $core, $size or die "$core: $!";
    return $core;
}

# The kernel's pieces of memory: { start, offset, size }, by offset.
sub segments {
    my ($core) = @_;
    my @segments;
    open my $in, '<:raw', $core or die "$core: $!";
    read $in, my $header, 64;
    my ($at, $count) = (unpack('x32 Q', $header), unpack('x56 S', $header));
    seek $in, $at, 0;
    for (1 .. $count) {
        read $in, my $segment, 56;
        my ($type, $flags, $offset, $start, $there, $stored) = unpack 'L L Q Q Q Q', $segment;
        push @segments, { start => $start, offset => $offset, size => $stored } if $type == 1;
    }
    return sort { $a->{offset} <=> $b->{offset} } @segments;
}

# Live blocks that a cut core file has, with the header behind each.
sub kept {
    my ($live, $size, @segments) = @_;
    my %kept;
    for my $block (keys %$live) {
        my ($start, $end) = (hex $block, hex($block) + $live->{$block} + 24);
        $kept{$block} = $live->{$block}
            if grep { $start >= $_->{start} && $end <= $_->{start} + $_->{size} && $_->{offset} + $end - $_->{start} <= $size } @segments;
    }
    return \%kept;
}

# The kernel's core file of live-blocks. @return its path, what is live; nothing if there is none
sub crash {
    my (@arguments) = @_;
    my $program = Heapsh->start('/bin/sh', bare => 1,
        args => [ '-c', "ulimit -c unlimited && exec $build/t/programs/live-blocks live @arguments" ]);
    kill 'SEGV', $program->{pid};
    waitpid $program->{pid}, 0;
    my ($core) = grep { -s } "$program->{directory}/core", "$program->{directory}/core.$program->{pid}";
    return $core ? ($core, LiveBlocks::read_log("$program->{directory}/live"), $program) : ();
}

chomp(my $pattern = `cat /proc/sys/kernel/core_pattern 2>/dev/null`);
plan skip_all => 'cores go elsewhere' if $pattern ne 'core' && $pattern ne 'core.%p';

# --- how much is found ------------------------------------------------------------

for my $arguments ([ 3, 3000 ], [ 2, 3000, 'foreign' ]) {
    my $name = join ' ', @$arguments;
    my ($core, $live, $program) = crash(@$arguments);
    plan skip_all => 'no core file was written' unless $core;
    my @segments = segments($core);
    my $size = -s $core;

    # Only the stack of the main thread is missing then, and libc's variables are there.
    my ($file) = take(cut($core, $size - 0x22000));
    is keys %{ Heapsh::blocks_of($file) }, keys %$live, "$name, without the stack: all blocks";
    my $info = Heapsh::ask_json($file, 'info');
    is $info->{doubts}, '', "$name, without the stack: the sums agree";
    like $info->{lacks}, qr/^the stacks? of /, "$name, without the stack: it says so";

    # In the order of the file: the program and its variables, the heap, other memory, libraries, stack.
    my ($heap) = grep { $_->{start} <= hex((sort { hex $a <=> hex $b } keys %$live)[0]) } reverse @segments;
    for my $share (0.9, 0.6, 0.3, 0.05) {
        my $where = sprintf '%s, %.0f %% of the heap and what follows', $name, $share * 100;
        my $at = int($heap->{offset} + ($size - $heap->{offset} - 0x50000) * $share);
        my ($cut, $output) = take(cut($core, $at));
        ok $cut, "$where: a snapshot" or diag($output), next;
        like $output, qr/^heapsnap: the core file is cut short: [\d.]+ % are missing; /m, "$where: it says so";
        my ($found, $kept) = (Heapsh::blocks_of($cut), kept($live, $at, @segments));
        # Up to the cut all, but for one that the file ends in and what the program took memory in between for.
        my @missed = grep { !defined $found->{$_} || $found->{$_} < $live->{$_} } keys %$kept;
        my @phantoms = grep { !defined $live->{$_} } keys %$found;
        cmp_ok scalar @missed, '<=', keys(%$kept) / 20 + 2, "$where: hardly any is missed of " . keys %$kept;
        cmp_ok scalar @phantoms, '<=', keys(%$found) / 20 + 10, "$where: few are free already";
        my $classes = Heapsh::ask_json($cut, 'leaks')->{classes};
        is $classes->{direct}{objects} + $classes->{cycle}{objects} + $classes->{indirect}{objects}, 0, "$where: nothing counts as leaked";
        my $said = Heapsh::ask($cut, 'info');
        like $said, qr/^cut short .*, \d+ %, are missing$/m, "$where: info";
        like $said, qr/^ +It lacks the stacks? of .*, the variables of libc\.so\.6.*$/m, "$where: what is missing";
        like $said, qr/no block is certainly leaked/, "$where: what that means";
    }
}

# --- anywhere ---------------------------------------------------------------------------

my ($core, $live) = crash(3, 1000);
my @segments = segments($core);

for (['zstd', 'zst'], ['lz4', 'lz4'], ['xz', 'xz'], ['gzip', 'gz']) {
    my ($packer, $suffix) = @$_;
  SKIP: {
        skip "no $packer", 1 unless has($packer);
        system("$packer -1 -q -c $core >$core.$suffix") == 0 or die $packer;
        my ($file, $said) = take(cut("$core.$suffix", int((-s "$core.$suffix") * 0.9)));
        like $said, qr/$packer could not unpack all of it/, "$packer, cut in its middle: it says so";
        like $said, $file ? qr/cut short: [\d.]+ % are missing/ : qr/cut short: \d+ of \d+ bytes/, "$packer: and how much is missing";
    }
}

my $wrong = 0;
my %outcomes;
# `make check` cuts in all of these places.
my ($random, $pages) = $ENV{SHORT} ? (8, 10) : (30, 40);
my @random = do { srand 20261124; map { int rand(-s $core) } 1 .. $random };
my @pages = map { my $s = $_; map { $s->{offset} + int($s->{size} * $_) } 0, 0.3, 0.99 } @segments;
for my $at (sort { $b <=> $a } splice(@pages, -$pages), @random) {
    my ($cut, $output) = take(cut($core, $at));
    if (!$cut) {
        my $is_clear = $output =~ /^heapsnap: .*(cut short|no core file)/;
        $outcomes{$is_clear ? 'refused' : "at $at: $output"}++;
        next;
    }
    $outcomes{'a snapshot'}++;
    my $found = Heapsh::blocks_of($cut);
    $wrong += grep { defined $found->{$_} && $found->{$_} < $live->{$_} } keys %$live;
}
is_deeply [ sort keys %outcomes ], [ 'a snapshot', 'refused' ], 'cut anywhere: a snapshot, or why there is none';
is $wrong, 0, 'cut anywhere: no block is shorter than it was';

my ($none, $said) = take(cut($core, $segments[0]{offset} + 4096));
like $said, qr/cut short: \d+ of \d+ bytes are missing, and no blocks are found in the rest: it lacks the stacks of 3 of 3 threads, the variables of /,
    'nothing is left: what is missing';

# --- by whom ------------------------------------------------------------------------------

{
    my $limited = Heapsh->start('/bin/sh', bare => 1,
        args => [ '-c', "ulimit -c 20000 && exec $build/t/programs/live-blocks live 1 4000" ]);
    kill 'SEGV', $limited->{pid};
    waitpid $limited->{pid}, 0;
    my ($dumped) = grep { -s } "$limited->{directory}/core", "$limited->{directory}/core.$limited->{pid}";
  SKIP: {
        # Kernels differ in what counts.
        skip 'no core file', 1 unless $dumped;
        skip 'the limit does not cut it', 1 if -s $dumped >= max map { $_->{offset} + $_->{size} } segments($dumped);
        my ($file, $said) = take($dumped);
        like $said, qr/cut short/, 'cut by ulimit -c: it says so';
    }
}

{
    my $bare = Heapsh->start('/bin/sh', bare => 1,
        args => [ '-c', "ulimit -c unlimited && echo 3 >/proc/self/coredump_filter && exec $build/t/programs/live-blocks live 2 1000" ]);
    kill 'SEGV', $bare->{pid};
    waitpid $bare->{pid}, 0;
    my ($dumped) = grep { -s } "$bare->{directory}/core", "$bare->{directory}/core.$bare->{pid}";
  SKIP: {
        skip 'no core file', 1 unless $dumped;
        my ($file) = take($dumped);
        is_deeply [ sort keys %{ Heapsh::blocks_of($file) } ], [ sort keys %{ LiveBlocks::read_log("$bare->{directory}/live") } ],
            'no pages of files: all blocks';
    }
}
done_testing;
