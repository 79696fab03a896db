#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks that are smaller than the struct that the variable points to which gets them: cut off in the array of bytes at its end,
# or another struct that begins alike.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;
use Tools;

my $directory = tempdir(CLEANUP => 1);
my $source = <<'END';
#include "dumper/heapsnap.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline)) static
struct listed { struct listed *next; int uses; char name[256]; };
struct record { struct record *next; long when; union { char text[50]; char *long_text; } name; };
struct address { unsigned short flags, length; char *domain; struct server *next; unsigned address; };
struct server { unsigned short flags, length; char *domain; struct server *next; int serial, tries; double latency; };
static struct listed *entries;
static struct record *records;
static struct server *servers;
APART void *checked(size_t size)
{
	void *block = malloc(size);
	if (!block)
		abort();
	return block;
}
APART void add_listed(const char *name)
{
	struct listed *entry = checked(offsetof(struct listed, name) + strlen(name) + 1);
	entry->next = entries;
	entry->uses = 1;
	strcpy(entry->name, name);
	entries = entry;
}
APART void add_record(char *text)
{
	struct record *record = checked(sizeof(*record) - sizeof(record->name.text) + sizeof(char *) - 6);
	record->next = records;
	record->when = 1234567;
	record->name.long_text = text;
	records = record;
}
APART void add_server(unsigned address)
{
	struct server *server = checked(address ? sizeof(struct address) : sizeof(struct server));
	memset(server, 0, address ? sizeof(struct address) : sizeof(struct server));
	server->flags = address ? 1 : 2;
	server->domain = strdup("example.org");
	server->next = servers;
	servers = server;
	if (address)
		((struct address *)server)->address = address;
	else
		server->latency = 0.25;
}
int main(int argc, char **argv)
{
	char name[64] = "";
	for (int i = 0; i < 60; i++) {
		strcat(name, "x");
		add_listed(name);
		add_record(strdup(name));
		add_server(i % 3 ? 0x0a000001 + i : 0);
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
for my $compiler (qw(gcc clang)) {
    SKIP: {
        skip "there is no $compiler", 12 unless has($compiler);
        for my $flags (qw(-O0 -O1 -O2)) {
            my $file = Heapsh::capture_source("$directory/smaller.c", "$compiler $flags", text => $source);
            my %count = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
            is $count{'struct listed'}, 60, "$compiler $flags: structs without the end of their array";
            is $count{'struct record'}, 60, '... of their union';
            is $count{'struct address'}, 40, '... structs that begin like the one that the variable points to';
            is $count{'struct server'}, 20, '... and that one';
        }
    }
}

# Where nobody knows who allocated a block, typed pointers tell of its struct, and its contents agree.
SKIP: {
    if (my $why = Heapsh::attach_refusal()) { skip $why, 2 }
    my $file = Heapsh->start('cut', bare => 1)->attach_and_finish;
    my %count = map { $_->{type} => $_->{objects} } @{ Heapsh::ask_json($file, 'count') };
    is $count{'struct listed'}, 200, 'attached: structs without the end of their array';
    is $count{'struct record'}, 200, '... of their union, but no blocks that have got the places of such';
}
done_testing;
