#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Three pointers tell how many elements an array has, though those of many values before are no bounds.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

# The first 100 buffers have been read to behind their end.
my $source = <<'END';
#include <stdio.h>
#include <stdlib.h>
struct pair { int key; float value; };
struct buffer { struct pair *begin, *read, *limit; long flags; };
static struct buffer *buffers[1000];
int main(void)
{
	for (int i = 0; i < 1000; i++)
		buffers[i] = calloc(1, sizeof(*buffers[i]));
	for (int i = 0; i < 1000; i++) {
		struct pair *pairs = malloc(6 * sizeof(*pairs));

		for (int j = 0; j < 6; j++)
			pairs[j] = (struct pair){ 3 + j, 0.5f * (float)j };
		*buffers[i] = (struct buffer){ pairs, i < 100 ? pairs + 7 : pairs + 2, pairs + 6, 0 };
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END

my $directory = tempdir(CLEANUP => 1);
Heapsh::write_file("$directory/bounds.c", $source);
system("cc -g -O1 -o $directory/bounds $directory/bounds.c") == 0 or plan skip_all => 'no C compiler';
my $file = Heapsh->start("$directory/bounds", bare => 1)->attach_and_finish;
my %arrays;
$arrays{ $_->{elements} }++ for @{ Heapsh::ask_json($file, qw(find --limit 2000 type pair))->{objects} };
is_deeply \%arrays, { 6 => 900, 7 => 100 }, 'arrays with bounds have as many elements as these say' or diag explain \%arrays;
done_testing;
