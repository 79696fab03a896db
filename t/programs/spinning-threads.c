// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Threads that never sleep, each with a block that only its register or stack holds, beside the main thread, which
 * waits for its standard input to end.
 *
 *	spinning-threads THREADS [MIB]   so many MiB of small blocks, too
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	BLOCK = 100,
	BLOCKS_PER_MIB = (1 << 20) / (BLOCK + 12),
};

struct node {
	struct node *next;
	char rest[BLOCK - sizeof(struct node *)];
};

static struct node *nodes;
static atomic_bool is_over;
static volatile unsigned long turns;

static void *spin(void *unused)
{
	char *block = malloc(BLOCK);

	while (!is_over)
		turns++;
	free(block);
	return unused;
}

static void fill(long count)
{
	for (long i = 0; i < count; i++) {
		struct node *node = malloc(sizeof(*node));

		if (!node)
			exit(1);
		node->next = nodes;
		nodes = node;
	}
}

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 1;
	pthread_t *threads = calloc((size_t)count + 1, sizeof(*threads));
	pthread_attr_t small;
	char byte;

	if (!threads)
		return 1;
	fill(argc > 2 ? atol(argv[2]) * BLOCKS_PER_MIB : 0);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 << 10);
	for (long i = 0; i < count; i++) {
		if (pthread_create(&threads[i], &small, spin, NULL) != 0)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	is_over = true;
	for (long i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
