// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef RACE_H
#define RACE_H

/**
 * Common start of the programs for ThreadSanitizer: the library as in a process, above an
 * allocator that the sanitizer knows, and threads that meet in it.
 */

#include "dumper/alloc/blocks.h"
#include "dumper/base/settings.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

enum {
	THREADS = 4,
};

/** Prepares the library, and runs @p work in each thread with its number, from 1. */
static inline void run_threads(void *(*work)(void *number))
{
	pthread_t threads[THREADS];

	heapsnap_next_init();
	// ThreadSanitizer knows that memory which goes through free() has been handed on.
	heapsnap_hot.malloc = malloc;
	heapsnap_hot.free = free;
	heapsnap_next =
		(struct heapsnap_allocator){ calloc, realloc, memalign, malloc_usable_size };
	heapsnap_settings_read();
	heapsnap_process_init();
	heapsnap_backtraces_init();
	for (uintptr_t i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

#endif
