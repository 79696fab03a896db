// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks without headers, of which some are samples, made, resized and freed by several threads
 * at once, for ThreadSanitizer. t/races.t builds and runs it with the library for traces alone.
 */
#include "t/races/race.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS = 5000,
	BLOCKS = 64,
};

static char *exchange[BLOCKS]; // blocks that one thread makes and another frees
static int samples;

// As malloc would, if a trace were being written.
static char *make_block(unsigned *seed)
{
	size_t size = (size_t)rand_r(seed) % 2000 + 1;
	char *block = heapsnap_allocate(size, 0);

	memset(block, 'x', size);
	if (rand_r(seed) % 3 == 0)
		heapsnap_watch(block, size, (uint64_t)make_block, false);
	if (heapsnap_is_watched(block))
		__atomic_add_fetch(&samples, 1, __ATOMIC_RELAXED);
	return block;
}

static void *work(void *number)
{
	unsigned seed = (unsigned)(uintptr_t)number;

	for (int i = 0; i < ROUNDS; i++) {
		char *others = __atomic_exchange_n(&exchange[rand_r(&seed) % BLOCKS],
						   make_block(&seed), __ATOMIC_ACQ_REL);

		if (others && i % 3 == 0)
			others = heapsnap_reallocate(others, (size_t)rand_r(&seed) % 3000 + 1,
						     (uint64_t)work);
		heapsnap_release(others);
		heapsnap_release(heapsnap_allocate_zeros(100, (uint64_t)work));
	}
	return NULL;
}

int main(void)
{
	int left = 0;

	run_threads(work);
	for (int i = 0; i < BLOCKS; i++)
		heapsnap_release(exchange[i]);
	for (int i = 0; i < HEAPSNAP_WATCHES; i++)
		left += heapsnap_watches[i];
	if (samples < THREADS * ROUNDS / 4)
		printf("only %d samples\n", samples);
	if (left > 0)
		printf("%d blocks are still watched\n", left);
	puts("done");
	return 0;
}
