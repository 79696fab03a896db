// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A small known heap: 7 sessions, each with an engine of the shared library's and a part of
 * other.c's, nodes in two lists, two different structs of one name, and one session that
 * only a frame holds. t/lib/Forms.pm has the numbers.
 */
#include "shared.h"

#include <stdio.h>

// other.c has another of that name
struct options { // type: app options
	int verbose;
	char *path;
	double limit;
};

struct session *sessions; // type: sessions
struct node *list;
struct options *options;

// Has a name of its own in the stack of calls, and something to hold.
static __attribute__((noinline)) void wait_for_the_end(struct session *held, int count)
{
	struct options *local = calloc(count, sizeof(*local)); // site: wait_for_the_end

	local->limit = 2;
	KEEP(local);
	other_wait(held); // site: wait_for_the_end, pc
	KEEP(local);
	printf("done %s %g\n", held->name, local->limit);
	free(local);
}

int main(int argc, char **argv)
{
	(void)argv;
	setvbuf(stdin, NULL, _IONBF, 0);
	setvbuf(stdout, NULL, _IONBF, 0);
	for (int i = 0; i < 6; i++) {
		struct session *session = session_new("listed");

		session->next = sessions;
		sessions = session;
	}
	for (int i = 0; i < 20; i++)
		list = node_push(list, i);
	options = calloc(1, sizeof(*options)); // site: main
	options->path = malloc(100);           // site: main, path
	KEEP(options);
	other_fill();
	wait_for_the_end(session_new("held"), argc);
	return list == NULL;
}
