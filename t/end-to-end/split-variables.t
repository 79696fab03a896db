#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Static structs and arrays that the compiler splits into a variable per member, as clang -O2 does:
# each part is a root with its name and type.
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
#include <stdlib.h>
struct session { struct session *next; int id; };
struct user { struct session *sessions; char *name; };
struct list { struct session *first; size_t count; };
static struct { struct list open, closed; struct user *owner; int limit; } table;
static struct user *users[2];
__attribute__((noinline)) static struct session *add(struct session *next, int id)
{
	struct session *session = calloc(1, sizeof(*session));
	session->next = next;
	session->id = id;
	return session;
}
__attribute__((noinline)) static struct user *make_user(struct session *sessions)
{
	struct user *user = calloc(1, sizeof(*user));
	user->sessions = sessions;
	return user;
}
__attribute__((noinline)) static void fill(int limit)
{
	for (int i = 0; i < 30; i++) {
		table.open.first = add(table.open.first, i);
		table.open.count++;
	}
	for (int i = 0; i < 7; i++)
		table.closed.first = add(table.closed.first, i);
	users[0] = make_user(NULL);
	users[1] = make_user(add(NULL, 99));
	table.owner = users[0];
	table.limit = limit;
}
int main(int argc, char **argv)
{
	fill(argc);
	int status = argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
	// Keeps the variables until the capture.
	return status || table.open.first->id + table.closed.first->id != 35 || table.owner->name != users[1]->name ||
	       users[0]->name || table.open.count < (size_t)table.limit;
}
END
SKIP: {
    skip 'there is no clang', 8 unless has('clang');
    my $file = Heapsh::capture_source("$directory/split.c", 'clang -g -O2', text => $source);
    my %roots = map { $_->{root} ? ($_->{root}{name} => $_) : () } @{ Heapsh::ask_json($file, 'roots') };
    is Heapsh::ask($file, 'find', '--count', 'type', 'struct session') =~ s/,.*//sr, 'Total: 38 objects', 'all sessions have their type';
    is Heapsh::ask($file, 'find', '--count', 'type', 'struct user') =~ s/,.*//sr, 'Total: 2 objects', 'and all users';
    is $roots{'table.open.first'}{retained}, 30 * 16, 'a list that a member of a split struct holds';
    is $roots{'table.closed.first'}{retained}, 7 * 16, 'and another one';
    is $roots{'users[1]'}{retained}, 32, 'an element of a split array';
    like Heapsh::ask($file, 'show', 'users[1]->sessions'), qr/id = 99/, 'paths begin at such a variable';
    like Heapsh::ask($file, 'show', 'table.closed.first->next'), qr/id = 5/, 'whose name has a point in it';
    like Heapsh::ask($file, 'leaks'), qr/Nothing is leaked/, 'all is held';
}
done_testing;
