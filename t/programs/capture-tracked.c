// SPDX-License-Identifier: GPL-3.0-or-later
// CFLAGS: -O1 -fno-builtin-malloc
/*
 * Pools of the program's own, of which heapsnap_track() tells: nodes in memory from mmap(), of which
 * every fourth is given back; small ones in a block of malloc's; and what makes no sense.
 */
#include "dumper/heapsnap.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define APART __attribute__((noinline, noclone))

struct node {
	struct node *next;
	long number;
	char *name;
	char rest[24];
};

struct small {
	struct small *next;
	long number;
	long pad;
};

struct secret {
	long words[8];
};

struct secret *unused; // so that the type is known
struct node *nodes;
struct small *smalls;
char *arena, *slab;
void *secrets[10];

APART void *pool_take(char **at, size_t size)
{
	void *piece = *at;

	*at += (size + 7) / 8 * 8;
	heapsnap_track(piece, size);
	return piece;
}

static void fill_arena(void)
{
	char *at = arena + 64;

	for (int i = 0; i < 100; i++) {
		struct node *node = pool_take(&at, sizeof(*node));

		node->next = nodes;
		node->number = i;
		node->name = malloc(10);
		nodes = node;
	}
	for (int i = 0; i < 10; i++) {
		secrets[i] = pool_take(&at, sizeof(struct secret));
		heapsnap_set_type(secrets[i], "struct secret");
	}
}

static int give_back_every_fourth(void)
{
	int failed = 0;

	for (struct node **at = &nodes; *at;) {
		struct node *node = *at;

		if (node->number % 4) {
			at = &node->next;
			continue;
		}
		*at = node->next;
		free(node->name);
		failed += heapsnap_untrack(node) != 0;
	}
	return failed;
}

static void fill_slab(void)
{
	char *at = slab + 40;

	for (int i = 0; i < 50; i++) {
		struct small *small = pool_take(&at, sizeof(*small));

		small->next = smalls;
		small->number = i;
		smalls = small;
	}
}

int main(void)
{
	long on_stack[2];

	arena = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	slab = malloc(4000);
	fill_arena();
	printf("given back: %d failed\n", give_back_every_fourth());
	fill_slab();
	printf("NULL %d, odd %d, empty %d, unknown %d, twice %d\n", heapsnap_track(NULL, 8),
	       heapsnap_track(arena + 3, 8), heapsnap_track(arena, 0), heapsnap_untrack(on_stack),
	       heapsnap_untrack(secrets[0]) + heapsnap_untrack(secrets[0]));
	printf("again: %d\n", heapsnap_track(secrets[0], sizeof(struct secret)));
	printf("label: %d, of what is not tracked %d\n",
	       heapsnap_set_type(secrets[1], "struct secret"),
	       heapsnap_set_type(on_stack, "struct secret"));
	printf("dump: %d\n", heapsnap_dump(NULL));
	printf("wait: %d\n", heapsnap_wait());
	return 0;
}
