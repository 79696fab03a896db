#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The cost of allocations beyond their fast path, in a program that does what it can to raise it.
use strict;
use warnings;
use File::Temp qw(tempdir);
use List::Util qw(sum);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $library = "$Heapsh::build/libheapsnap.so";
my ($offset) = `nm $library` =~ /^([0-9a-f]+) \w heapsnap_effort$/m;
ok $offset, 'the library counts its steps' or $offset = '-';

# Limits of dumper/stacks/effort.h and effort.c: for one event, and for all.
my $event = 1024;
my $start = (1 << 20) + (1 << 16);
my $bytes_per_step = 1024;

my $directory = tempdir(CLEANUP => 1);
my $plugin = "$directory/plugin.so";
open my $source, '>', "$directory/plugin.c" or die $!;
print $source <<'END';
#include <stdlib.h>
void *plugin_make(size_t size)
{
	void *block = malloc(size);
	__asm__ volatile("" ::: "memory");
	return block;
}
END
close $source;
my $compiler = $ENV{CC} || 'gcc';
system("$compiler -O2 -fPIC -shared -o $plugin $directory/plugin.c") == 0 or die 'no plugin';
my $program = "$Heapsh::build/t/programs/slow-path";

# --- steps, as the library counts them ---

my %way;
for (split /\n/, `LD_PRELOAD=$library $program $offset $plugin`) {
    my ($name, %figure);
    ($name, @figure{qw(allocations bytes events steps most)}) = split;
    $way{$name} = \%figure;
}
is $?, 0, 'the program ends well';
is join(' ', sort keys %way), 'coroutines fakes generated many one_fake plugins recursion sizes threads',
    'and did all that it can';

# A walk ends with the step that is one too many, which may be a look into a module's tables.
for (sort keys %way) {
    cmp_ok $way{$_}{most}, '<=', $event + 256, "$_: no allocation takes more than some microseconds";
    cmp_ok $way{$_}{events}, '>', 0, 'steps are counted';
}

# A look at the tables is not paid for by credit.
my ($allocations, $bytes, $steps) = map { my $k = $_; sum(0, map { $_->{$k} } values %way) } qw(allocations bytes steps);
cmp_ok $steps, '<=', $start + $bytes / $bytes_per_step + 6 * $allocations, 'all of them stay within their credit';

# When the first sights have been seen, nothing remains.
# On aarch64 it is not refused: it is looked through, by a step for each allocation.
my $each = `uname -m` eq "aarch64\n" ? 2 : 1;
cmp_ok $way{one_fake}{steps}, '<', $each * $way{one_fake}{allocations}, 'a function that was refused as a wrapper costs nothing more';
cmp_ok $way{recursion}{events}, '<', $way{recursion}{allocations} / 20, 'nor does recursion';

# --- instructions, which count whatever the library has forgotten to ---

SKIP: {
    skip 'no valgrind', 3 unless has('valgrind');
    my $instructions = sub {
        my ($name, $stacks) = @_;
        system("LD_PRELOAD=$library HEAPSNAP_STACKS=$stacks valgrind --tool=cachegrind --cache-sim=no"
            . " --cachegrind-out-file=/dev/null --log-file=$directory/log $program - $plugin $name") == 0
            or die "no instructions of $name";
        my ($count) = `cat $directory/log` =~ /I\s+refs:\s+([\d,]+)/;
        return $count =~ tr/,//dr;
    };
    for (qw(fakes one_fake sizes)) {
        my $more = ($instructions->($_, '512K') - $instructions->($_, 0)) / ($way{$_}{allocations} || 1e5);
        cmp_ok $more, '<=', 2000, sprintf '%s: %d instructions more than without backtraces for each allocation', $_, $more;
    }
}
done_testing;
