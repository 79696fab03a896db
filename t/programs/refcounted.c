// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Objects behind a header that has a type of its own: a collector's list leads to the headers, and all
 * other pointers behind them. The objects are a list, so that each leads only to the next one.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	COUNT = 300,
};

struct header {
	long count;
	int root_index;
};

struct payload {
	long capacity;
	char bytes[];
};

struct session {
	long number;
	long length;
	struct payload *name;
	struct session *next;
};

struct suspect {
	struct header *header;
	void *type;
};

static struct suspect *suspects;
static struct session *sessions;

__attribute__((noinline)) static void *make_object(size_t size)
{
	struct header *header = calloc(1, sizeof(struct header) + size);

	header->count = 1;
	return header + 1;
}

static void add_session(long number)
{
	struct session *session = make_object(sizeof(*session));

	session->number = number;
	session->length = 7;
	session->name = malloc(sizeof(struct payload) + 8);
	session->name->capacity = 8;
	snprintf(session->name->bytes, 8, "s%06ld", number);
	session->next = sessions;
	sessions = session;
	suspects[number].header = (struct header *)session - 1;
	suspects[number].type = NULL;
}

int main(void)
{
	suspects = calloc(COUNT, sizeof(*suspects));
	for (long i = 0; i < COUNT; i++)
		add_session(i);
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		;
	return 0;
}
