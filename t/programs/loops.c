// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A scenario that runs in loops, with a checkpoint after each, for heapsh-check. The arguments are the
 * number of loops and what happens in one: "leak" adds a session to a list, "lose" forgets one,
 * "text" keeps untyped texts of different sizes, "sometimes" adds a session in every second loop,
 * "cache" fills a cache of 3 entries, "pool" doubles an array of pointers, "vector" makes one block larger.
 */
#include "dumper/heapsnap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
	struct session *next;
	long number;
};

struct cached {
	struct cached *self;
	long number;
};

static struct session *sessions;
static struct cached *cache[3];
static void *texts[1000];
static int *pool;
static int pool_count, pool_capacity;
static char *vector;

__attribute__((noinline)) static struct session *session_new(long number)
{
	struct session *session = malloc(sizeof(*session));

	*session = (struct session){ .number = number };
	return session;
}

__attribute__((noinline)) static void *text_new(int loop)
{
	size_t size = (size_t)100 + (size_t)loop * 32;
	void *text = malloc(size);

	memset(text, 'x', size);
	return text;
}

static void keep(long number)
{
	struct session *session = session_new(number);

	session->next = sessions;
	sessions = session;
}

static void step(const char *what, int loop)
{
	if (strcmp(what, "leak") == 0 || (strcmp(what, "sometimes") == 0 && loop % 2))
		keep(loop);
	else if (strcmp(what, "lose") == 0)
		session_new(loop)->next = session_new(loop);
	else if (strcmp(what, "text") == 0)
		texts[loop] = text_new(loop);
	else if (strcmp(what, "cache") == 0 && loop < 3) {
		cache[loop] = malloc(sizeof(*cache[loop]));
		*cache[loop] = (struct cached){ .self = cache[loop], .number = loop };
	} else if (strcmp(what, "vector") == 0) {
		vector = realloc(vector, (size_t)(loop + 1) * 1000);
		memset(vector, 1, (size_t)(loop + 1) * 1000);
	} else if (strcmp(what, "pool") == 0) {
		if (pool_count == pool_capacity) {
			pool_capacity = pool_capacity ? 2 * pool_capacity : 1;
			pool = realloc(pool, (size_t)pool_capacity * sizeof(*pool));
		}
		pool[pool_count++] = loop;
	}
}

int main(int argc, char **argv)
{
	int loops = argc > 1 ? atoi(argv[1]) : 5;

	puts("output of the program");
	for (int i = 0; i < loops; i++) {
		for (int j = 2; j < argc; j++)
			step(argv[j], i);
		HEAPSNAP_CALL(heapsnap_checkpoint);
	}
	return argc > 2 && strcmp(argv[2], "fail") == 0 ? 3 : 0;
}
