#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# The library finds the callers of wrappers however it was compiled: `make CFLAGS=...`.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);
delete $ENV{MAKEFLAGS};    # of the make that runs the tests
Heapsh::write_file("$directory/wrapped.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
struct list { struct list *next; long value; } *small;
struct large { struct large *next; long values[9]; } *large;
static unsigned long calls;
__attribute__((noinline)) void *allocate(size_t size) { calls++; void *block = calloc(1, size); if (!block) abort(); return block; }
__attribute__((noinline)) void add_small(void) { struct list *new = allocate(sizeof(*new)); *new = (struct list){ small, 1 }; small = new; }
__attribute__((noinline)) void add_large(void) { struct large *new = allocate(sizeof(*new)); *new = (struct large){ large, { 2 } }; large = new; }
int main(void)
{
	for (int i = 0; i < 5000; i++) { add_small(); add_large(); }
	puts("ready"); // whose buffer is a block, too
	fflush(stdout);
	return getchar();
}
END
system("cc -g -O1 -o $directory/wrapped $directory/wrapped.c") == 0 or die 'cc';

# A build that has another library, and all else as it is.
my $build = $Heapsh::build;
for my $flags ('-O0 -g', '-O1 -g', '-g', '-Os -fno-omit-frame-pointer') {
    my $own = "$directory/" . $flags =~ s/\W//gr;
    mkdir $own;
    is system("make -s BUILD=$own/objects CFLAGS='$flags' SANITIZE= $own/objects/libheapsnap.so >$own/log 2>&1"), 0, "$flags: the library is built"
        or diag Heapsh::content("$own/log");
    # heapsnap takes the library beside it, wherever links to it lie.
    system('cp', $_, $own) == 0 or die 'cp' for "$own/objects/libheapsnap.so", map { "$build/$_" } qw(heapsnap-writer heapsnap heapsh);
    local $Heapsh::build = $own;
    my $program = Heapsh->start("$directory/wrapped");
    my $file = $program->capture;
    my %sites = map { /^ +(\d+) .* (\w+) \(wrapped/ ? ($2, $1) : () } split /\n/, Heapsh::ask($file, 'sites');
    is_deeply \%sites, { add_small => 5000, add_large => 5000, main => 1 }, "$flags: sites are those of the wrapper's callers" or diag explain \%sites;
    $program->finish;
}
done_testing;
