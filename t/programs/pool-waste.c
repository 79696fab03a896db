// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Structs in a pool, each with an array of its own that has room for 64 and holds 3: what is half empty belongs to
 * parts of a block, not to the block.
 *
 *	pool │ server │ server │ server │ …
 *	         └▶ slots  └▶ slots  └▶ slots
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	BYTES = 4096,
	SERVERS = 3,
	SLOTS = 64,
	USED = 3,
};

struct slot {
	struct server *server;
	long number;
};

struct server {
	struct server *next;
	const char *name;
	struct slot *slots;
	long port;
};

struct pool {
	char *last, *end;
	struct pool *next;
};

struct pool *pool;
struct server *servers;

static void *take(size_t size)
{
	void *result = pool->last;

	pool->last += size;
	return result;
}

int main(void)
{
	pool = calloc(1, BYTES);
	if (!pool)
		return 1;
	pool->last = (char *)(pool + 1);
	pool->end = (char *)pool + BYTES;
	for (int i = 0; i < SERVERS; i++) {
		struct server *server = take(sizeof(*server));

		*server =
			(struct server){ servers, "server", calloc(SLOTS, sizeof(struct slot)), i };
		if (!server->slots)
			return 1;
		for (int j = 0; j < USED; j++)
			server->slots[j] = (struct slot){ server, j + 1 };
		servers = server;
	}
	puts("ready");
	fflush(stdout);
	return getchar() == EOF;
}
