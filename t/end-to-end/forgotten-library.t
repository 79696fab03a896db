#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# What a library has lost whose types are not known is not taken for the program's: heapsnap attach has nothing
# but contents to tell them apart, and they are alike. What the program has lost has its types where all are known.
use strict;
use warnings;
use lib 't/lib';
use File::Temp qw(tempdir);
use Heapsh;
use Test::More;

if (my $why = Heapsh::attach_refusal()) { plan skip_all => $why }

my $directory = tempdir(CLEANUP => 1);
Heapsh::write_file("$directory/lost.h", <<'END');
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define LOSE(FUNCTION, HEADER, REQUEST) \
struct HEADER { struct HEADER *next; char name[16]; char *value; }; \
struct REQUEST { long number; char *path; struct HEADER *headers; int status; }; \
struct REQUEST *FUNCTION(int number) \
{ \
	struct REQUEST *request = calloc(1, sizeof(*request)); \
	request->number = number; \
	request->path = strdup("/a/path/to/something"); \
	for (int i = 0; i < 2; i++) { \
		struct HEADER *header = calloc(1, sizeof(*header)); \
		header->next = request->headers; \
		snprintf(header->name, sizeof(header->name), "name-%d", i); \
		header->value = strdup("a value of it"); \
		request->headers = header; \
	} \
	return request; \
}
END
Heapsh::write_file("$directory/library.c", qq{#include "lost.h"\nLOSE(lose_record, field, record)\n});
Heapsh::write_file("$directory/program.c", <<'END');
#include "lost.h"
LOSE(lose_request, header, request)
void *lose_record(int number);
struct request *kept;
int main(void)
{
	for (int i = 0; i < 200; i++) {
		kept = lose_request(i);
		lose_record(i);
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
END
my %found;
for my $debug ('-g', '-g0') {
    system("cd $directory && cc $debug -O1 -fPIC -shared -o liblost.so library.c && cc -g -O1 -o program program.c -L. -llost -Wl,-rpath,$directory") == 0
        or die 'cc';
    my $file = Heapsh->start("$directory/program", bare => 1)->attach_and_finish;
    $found{$debug} = { map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') } };
}
# Of the same layout, both may be either.
is $found{-g}{"struct $_"} // 0, $_ eq 'request' ? 1 : 2, "a library with types like the program's: struct $_" for qw(request header);
is $found{'-g0'}{"struct $_"} // 0, $_ eq 'request' ? 1 : 2, "without: struct $_, as far as it is in use" for qw(request header);

# Without the library, nothing else can be meant.
Heapsh::write_file("$directory/alone.c", Heapsh::content("$directory/program.c") =~ s/^.*lose_record.*\n//gmr);
system("cd $directory && cc -g -O1 -o alone alone.c") == 0 or die 'cc';
my $file = Heapsh->start("$directory/alone", bare => 1)->attach_and_finish;
my %alone = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
is $alone{'struct request'}, 200, 'alone: what it has lost';
is $alone{'struct header'}, 400, 'alone: and what that leads to';
done_testing;
