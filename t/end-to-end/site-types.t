#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# A block whose type only a function in the middle knows, between the allocator and the code that
# the block counts for.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct item { long number; double weight; struct item *next; };
void *kept[100];
static int count;
APART void *checked(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}
APART void *item(long number)
{
	struct item *item = checked(sizeof(*item));
	item->number = number;
	item->weight = 0.5;
	item->next = NULL;
	return item;
}
APART void make(long number)
{
	kept[count++] = item(number);
}
int main(int argc, char **argv)
{
	for (long i = 0; i < 50; i++)
		make(i);
	kept[count++] = checked(99); // so that the size is no constant to it
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (qw(gcc clang)) {
    SKIP: {
        skip "there is no $compiler", 2 if system("command -v $compiler >$directory/found") != 0;
        for my $flags (qw(-O0 -O1)) {
            my $file = Heapsh::capture_source("$directory/middle.c", "$compiler $flags",
                text => $source, env => { HEAPSNAP_WRAPPERS => 'item' });
            my ($found) = grep { $_->{type} =~ /item/ } @{ Heapsh::ask_json($file, 'count') };
            is $found->{objects}, 50, "$compiler $flags: the function in the middle knows their type";
            ($found) = grep { $_->{site} =~ /^make / } @{ Heapsh::ask_json($file, 'sites') };
            is $found->{objects}, 50, 'and they count for its caller';
        }
    }
}
done_testing;
