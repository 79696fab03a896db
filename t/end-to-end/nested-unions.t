#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Unions of unions, 16 deep, with 10 members each: all ways through them are more than a writer can go. Blocks beside
# them have their types.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $depth = 16;
my $directory = tempdir(CLEANUP => 1);
my $unions = 'union u0 { char bytes[64]; long numbers[8]; };' . "\n";
for my $i (1 .. $depth - 1) {
    $unions .= "union u$i { " . join(' ', map { 'union u' . ($i - 1) . " m$_;" } 0 .. 9) . " };\n";
}
my $source = $unions . "typedef union u" . ($depth - 1) . " deep;\n" . <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
struct part { char bytes[64]; };
deep *kept;
struct part *parts[100];
__attribute__((noinline)) struct part *make(void)
{
	struct part *this = malloc(sizeof(*this));
	deep *other = (deep *)this;
	kept = other;
	this->bytes[0] = 1;
	return this;
}
int main(int argc, char **argv)
{
	(void)argc;
	for (int i = 0; i < 100; i++)
		parts[i] = make();
	return heapsnap_dump(argv[1]) | heapsnap_wait();
}
END

# A writer that takes longer writes a snapshot without types.
my $file = Heapsh::capture_source("$directory/unions.c", 'gcc -O1', text => $source, env => { HEAPSNAP_WRITER_TIME => '2m' });
my $found = Heapsh::ask_json($file, 'find', '--count', 'type', 'struct part');
cmp_ok $found->{count}, '>=', 99, 'blocks have their type' or diag explain $found;
done_testing;
