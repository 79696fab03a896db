#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Calls of malloc() that a compiler has multiplied, by unrolling a loop, are one row of each table.
use strict;
use warnings;
use lib 't/lib';
use Heapsh;
use File::Temp qw(tempdir);
use Test::More;

my $directory = tempdir(CLEANUP => 1);

# As a compiler might write it: four calls on one line.
Heapsh::write_file("$directory/copies.c", <<'END');
#include <stdio.h>
#include <stdlib.h>
struct x { long a, b; };
struct x *keep[8];
static void copies(int at)
{
	keep[at] = calloc(1, 16); keep[at + 1] = calloc(1, 16); keep[at + 2] = calloc(1, 16); keep[at + 3] = calloc(1, 16);
}
int main(void)
{
	copies(0);
	copies(4);
	for (int i = 4; i < 8; i++)
		keep[i] = NULL;
	static char buffer[4096];
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	puts("ready");
	fflush(stdout);
	return fgetc(stdin);
}
END
system("cc -g -o $directory/copies $directory/copies.c") == 0 or die 'cc failed';
my $program = Heapsh->start("$directory/copies");
my $file = $program->await_sleep->capture;
$program->finish;

my @rows = grep { /copies\.c:7/ } Heapsh::ask($file, 'count', '--by', 'site');
is scalar @rows, 1, 'count --by site';
like $rows[0], qr/^ +8 +128 B +copies \(copies\.c:7\)$/, '... with all of them';
@rows = grep { /copies\.c:7/ } Heapsh::ask($file, 'sites');
is scalar @rows, 1, 'sites';
@rows = grep { /copies\.c:7/ } Heapsh::ask($file, 'retained', '--by', 'site');
is scalar @rows, 1, 'retained --by site';
@rows = grep { /copies\.c:7/ } Heapsh::ask($file, 'leaks');
is scalar @rows, 1, 'leaks';
like $rows[0], qr/^ +4 +64 B /, '... with all of them';
is scalar(grep { /copies\.c:7/ } map { $_->{site} } @{ Heapsh::ask_json($file, 'count', '--by', 'site') }), 1, 'in JSON';
done_testing;
