#!/usr/bin/perl
# SPDX-License-Identifier: GPL-3.0-or-later
# Thread-local storage of threads that are left asleep: they cannot say where it is.
use strict;
use warnings;
use File::Temp qw(tempdir);
use Test::More;
use lib 't/lib';
use Heapsh;

my $directory = tempdir(CLEANUP => 1);
my $file = Heapsh::capture_source("$directory/sleeping.c", 'gcc -O0 -pthread', text => <<'END');
#include "dumper/heapsnap.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static __thread void *volatile mine;
static int ends[2], ready[2];
static void *serve(void *unused)
{
	char byte = 0;
	mine = malloc(3333);
	mine = (char *)mine + 8; // no such word is left on the stack
	if (write(ready[1], &byte, 1) == 1)
		recv(ends[0], &byte, 1, 0);
	return unused;
}
int main(int argc, char **argv)
{
	pthread_t thread;
	char byte;
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || pipe(ready) != 0)
		return 1;
	for (int i = 0; i < 3; i++) {
		if (pthread_create(&thread, NULL, serve, NULL) != 0 || read(ready[0], &byte, 1) != 1)
			return 1;
	}
	return argc > 1 ? heapsnap_dump(argv[1]) | heapsnap_wait() : 2;
}
END
my @objects = @{ Heapsh::ask_json($file, qw(find size =3333))->{objects} };
is @objects, 3, 'a block of each thread';
like scalar Heapsh::ask($file, 'path', $_->{address}), qr/thread storage|\bmine\b/, 'in its storage' for @objects;
done_testing;
