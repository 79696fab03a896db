// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * An old array of pointers to small structs, some of whose memory has become that of larger nodes.
 * Only the code that makes the nodes knows their type.
 */
#include <stdio.h>
#include <stdlib.h>

enum {
	NODES = 200,
	STALE = 20,
};

struct small {
	int number;
	char name[36];
};

struct node {
	long key;
	struct small value;
};

static void *table[NODES];
static struct small *old[STALE];

static __attribute__((noinline)) void *new_node(long key)
{
	struct node *node = calloc(1, sizeof(*node));

	node->key = key;
	node->value.number = (int)key;
	return node;
}

int main(void)
{
	for (int i = 0; i < NODES; i++)
		table[i] = new_node(i);
	for (int i = 0; i < STALE; i++)
		old[i] = table[i * 7];
	puts("ready");
	fflush(stdout);
	while (getchar() != EOF)
		continue;
	return old[0]->number;
}
