// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PARALLEL_H
#define HEAP_PARALLEL_H

/** Independent pieces of work on all processors. */

#include "lib/base/error.h"

#include <stddef.h>

/** How many threads work: as set, or the processors this process may use, 4 at most. */
unsigned heap_parallel_threads(void);

/** @param count  64 at most; 0: as many as without this */
void heap_parallel_set_threads(unsigned count);

/**
 * Calls @p work for 0 to @p count - 1, in no order, from several threads if there is more
 * than a little to do. @return the first error of any of them; the rest may not be called then
 */
HEAP_MUST_CHECK
struct heap_error *heap_parallel_run(size_t count,
				     struct heap_error *(*work)(void *context, size_t number),
				     void *context);

/**
 * The same with a thread for each number, @p count being heap_parallel_threads() at most: for
 * work that the threads themselves divide, each with memory of its own.
 */
HEAP_MUST_CHECK
struct heap_error *heap_parallel_share(unsigned count,
				       struct heap_error *(*work)(void *context, size_t number),
				       void *context);

#endif
