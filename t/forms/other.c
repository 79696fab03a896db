// SPDX-License-Identifier: GPL-3.0-or-later
#include "shared.h"

#include <stdio.h>
#include <string.h>

// Not the one of app.c.
struct options { // type: other options
	struct options *next;
	short level;
};

struct part {
	long serial;
	struct part *spare;
};

struct node *other_list;
struct options *other_options;

__attribute__((noinline)) struct session *session_new(const char *name)
{
	struct session *session = calloc(1, sizeof(*session)); // site: session_new

	session->engine = engine_new(6);
	session->part = calloc(1, sizeof(*session->part)); // site: part
	strncpy(session->name, name, sizeof(session->name) - 1);
	return session;
}

void other_fill(void)
{
	for (int i = 0; i < 3; i++)
		other_list = node_push(other_list, 100 + i);
	for (int i = 0; i < 4; i++) {
		struct options *another = malloc(sizeof(*another)); // site: other_fill

		another->next = other_options;
		another->level = (short)i;
		other_options = another;
	}
}

__attribute__((noinline)) void other_wait(struct session *held)
{
	struct part *spare = held->part->spare = calloc(1, sizeof(*spare)); // site: other_wait

	puts("ready");
	getchar(); // site: other_wait, pc
	KEEP(spare);
	KEEP(held);
}
