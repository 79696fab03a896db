// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TREND_H
#define HEAP_TREND_H

/**
 * Whether a number that was looked at now and then grows, how fast, and how sure that is.
 *
 *	steady       ╱     slowing    ╭─╴    settled   ╭────    unclear  ╱╲╱    none  ────
 *	           ╱                ╱                ╱                  ╱
 *
 * The rate is the slope of the least-squares line, with the half-width of its 95 % confidence
 * interval (Student's t, n - 2 degrees of freedom). The line alone takes a cache that has
 * filled for a leak, so what the number has done lately decides as well:
 *
 *	settled  it grew, and has stayed within 2 % for the last quarter of the time or longer,
 *	         in which at its former rate it would have grown by more than that
 *	slowing  in the second half of the time it grew, at less than half the rate of the first
 *	steady   it grows, and the confidence interval says so too
 *	none     it is not more than it was at first
 *	unclear  all else
 *
 * Slowing and steady are looked for over the time, and over the numbers of the snapshots: what
 * grows with the work that is done is steady over these, if they are taken at each so much work.
 */

#include <stddef.h>
#include <stdint.h>

enum heap_trend_kind {
	HEAP_TREND_STEADY, /**< the worst first */
	HEAP_TREND_SLOWING,
	HEAP_TREND_UNCLEAR,
	HEAP_TREND_SETTLED,
	HEAP_TREND_NONE,
};

struct heap_trend {
	enum heap_trend_kind kind;
	double rate;   /**< per hour */
	double margin; /**< per hour: the rate is within rate - margin to rate + margin at 95 % */
	size_t since;  /**< SETTLED: the first of the values that have stayed */
};

/**
 * Judges @p count values, three at least.
 *
 * @param times  [count] ns, ascending
 */
struct heap_trend heap_trend_of(const uint64_t *times, const uint64_t *values, size_t count);

/** "steady", "slowing", "unclear", "settled", "none". */
const char *heap_trend_name(enum heap_trend_kind kind);

#endif
