// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PARALLEL_H
#define HEAP_PARALLEL_H

/** Independent pieces of work on all processors. */

#include "lib/base/error.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** The number of threads: as set, or the processors that this process may use, 4 at most. */
unsigned heap_parallel_threads(void);

/** Sets the number of threads. @param count  64 at most; 0 for the default */
void heap_parallel_set_threads(unsigned count);

/**
 * Calls @p work for 0 to @p count - 1, in no order, from several threads if it is worth it.
 *
 * @return NULL, or the first error; the remaining calls may not be made then
 */
HEAP_MUST_CHECK
struct heap_error *heap_parallel_run(size_t count,
				     struct heap_error *(*work)(void *context, size_t number),
				     void *context);

/**
 * The same with a thread for each number, for work that the threads divide among themselves.
 *
 * @param count  heap_parallel_threads() at most
 */
HEAP_MUST_CHECK
struct heap_error *heap_parallel_share(unsigned count,
				       struct heap_error *(*work)(void *context, size_t number),
				       void *context);

/** Where the share of a thread begins, of items that each of @p threads visits as many of. It ends where the next one's does. */
static inline uint32_t heap_share_begin(uint32_t items, size_t thread, unsigned threads)
{
	return (uint32_t)((uint64_t)items * thread / threads);
}

/** Work that a thread of its own does, beside the caller's. Zeros: none. */
struct heap_parallel_job {
	pthread_t thread;
	bool is_running;
};

/**
 * Begins work in another thread. heap_parallel_await() must follow.
 *
 * @return false if there is to be one thread alone, or none can be had: nothing is done then
 */
bool heap_parallel_begin(struct heap_parallel_job *job, void *(*work)(void *context),
			 void *context);

/** Waits until the work is done, if any was begun. */
void heap_parallel_await(struct heap_parallel_job *job);

#endif
