// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_LOOP_GROWTH_H
#define HEAP_LOOP_GROWTH_H

/**
 * Judges whether a number grows by loop: with each run of a scenario, of which a snapshot is taken.
 *
 *	values    10   20   30   40   50      grows by 10 per loop
 *	          10   20   40   40   80      a pool that doubles: not in every loop
 *	          10   40   50   50   50      a cache that has filled
 *	          10    9   11   10   12      noise
 *
 * The first value is the one to begin with: loops that warm up come before it. A number grows if it
 * rises in every loop, of which there are at least HEAP_LOOPS_MIN. A leak may skip a loop. So of
 * HEAP_LOOPS_MANY and more loops, a number also grows if it never falls, rises in at least half of the
 * loops of both its halves, and its trend is steady (trend.h). A pool that doubles does not: its
 * rises get rare.
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
