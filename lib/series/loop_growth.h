// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_LOOP_GROWTH_H
#define HEAP_LOOP_GROWTH_H

/**
 * Judges if a number grows by loop. A loop is one run of a scenario, followed by a snapshot.
 *
 *	values    10   20   30   40   50      grows by 10 per loop
 *	          10   20   40   40   80      a pool that doubles: not in every loop
 *	          10   40   50   50   50      a cache that has filled
 *	          10    9   11   10   12      noise
 *
 * The first value is that after the loops that warm up. A number grows if it rises in every loop, and
 * there are at least HEAP_LOOPS_MIN. A leak may skip a loop. So with HEAP_LOOPS_MANY loops or more, a
 * number also grows if it never falls, rises in at least half of the loops of each half of the series,
 * and has a steady trend (trend.h). A pool that doubles does not, since its rises get rare.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HEAP_LOOPS_MIN = 3,  /**< loops between values that it takes to see growth */
	HEAP_LOOPS_MANY = 8, /**< from here on, loops that add nothing are no acquittal */
};

struct heap_loop_growth {
	bool grows;
	size_t rises;    /**< loops in which the number rose */
	double per_loop; /**< mean over all loops; 0 unless it grows */
};

/** Judges @p count values; with fewer than HEAP_LOOPS_MIN + 1, nothing grows. */
struct heap_loop_growth heap_loop_growth_of(const uint64_t *values, size_t count);

#endif
