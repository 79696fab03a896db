// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Grows until it is killed, or has so many MiB: grow MIB [THREADS [PAUSE_US]].
 *
 * Each thread keeps a list of blocks of 4 KiB, which it writes to again and again.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	BLOCK = 4096,
	PER_MIB = (1 << 20) / BLOCK,
};

struct piece {
	struct piece *next;
	char bytes[BLOCK - 64];
};

static struct piece *lists[64];
static long limit, pause_us;

static void *grow(void *context)
{
	struct piece **list = context;

	for (long mib = 0; mib < limit; mib++) {
		for (int i = 0; i < PER_MIB; i++) {
			struct piece *piece = malloc(sizeof(*piece));

			if (!piece)
				abort();
			memset(piece->bytes, (int)mib, sizeof(piece->bytes));
			piece->next = *list;
			*list = piece;
		}
		// Old pages are written to as well: a copy of the process would cost their memory.
		for (struct piece *piece = *list; piece; piece = piece->next)
			piece->bytes[0]++;
		if (pause_us)
			usleep((useconds_t)pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t threads[64];

	limit = argc > 1 ? atol(argv[1]) : 64;
	pause_us = argc > 3 ? atol(argv[3]) : 0;
	if (count < 1 || count > 64)
		return 2;
	setbuf(stdout, NULL);
	puts("ready");
	getchar();
	for (int i = 0; i < count; i++)
		pthread_create(&threads[i], NULL, grow, &lists[i]);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	puts("grown");
	getchar();
	return 0;
}
