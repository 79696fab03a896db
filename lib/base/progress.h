// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PROGRESS_H
#define HEAP_PROGRESS_H

/**
 * Progress of long work, which can be interrupted.
 *
 * Functions that may take more than a second get a struct heap_progress, or find it in the graph. They
 * call it now and then, and return HEAP_ERROR_INTERRUPTED if it returns false.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_progress {
	/**
	 * @param what   the work, for people: "dominators"
	 * @param share  the share of the work that is done, 0 to 1
	 * @return false to stop
	 */
	bool (*report)(void *context, const char *what, double share);
	void *context;
};

/** @param progress  may be NULL @return NULL, or HEAP_ERROR_INTERRUPTED */
HEAP_MUST_CHECK
static inline struct heap_error *heap_progress_report(const struct heap_progress *progress,
						      const char *what, uint64_t done, uint64_t all)
{
	if (progress &&
	    !progress->report(progress->context, what, all ? (double)done / (double)all : 1))
		return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted");
	return NULL;
}

enum {
	HEAP_PROGRESS_STEP = 1 << 20, /**< steps of the work between two reports */
};

/** The same in a loop: reports where @p done is a multiple of HEAP_PROGRESS_STEP. */
HEAP_MUST_CHECK
static inline struct heap_error *heap_progress_step(const struct heap_progress *progress,
						    const char *what, uint64_t done, uint64_t all)
{
	return done % HEAP_PROGRESS_STEP ? NULL : heap_progress_report(progress, what, done, all);
}

#endif
