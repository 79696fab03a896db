// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LOOPS_H
#define LOOPS_H

/**
 * Runs a program that takes a snapshot per loop: at each heapsnap_checkpoint(), or by heapsnap_dump().
 */

#include "lib/base/array.h"

#include <stdbool.h>

/** The snapshots of a process. */
struct loops {
	char *directory; /**< where they are; NULL: nothing was run */
	bool is_kept;    /**< loops_deinit() leaves them */
	struct HEAP_ARRAY(char *) files;
};

/**
 * Runs a program to its end, under heapsnap. Its standard output goes to standard error.
 *
 * @param count      snapshots to take
 * @param directory  where snapshots are to stay; NULL: a temporary one
 * @param loops      all 0; loops_deinit() is the caller's, also on failure
 * @return NULL; HEAP_ERROR_ARGUMENT if the program fails or takes fewer snapshots
 */
HEAP_MUST_CHECK
struct heap_error *loops_run(struct loops *loops, size_t count, const char *directory,
			     char **program);

/** Removes the snapshots, unless they are kept. */
void loops_deinit(struct loops *loops);

#endif
