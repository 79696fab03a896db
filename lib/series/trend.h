// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TREND_H
#define HEAP_TREND_H

/**
 * Judges whether a number that was sampled over time grows, how fast, and how certain that is.
 *
 *	steady       ╱     slowing    ╭─╴    settled   ╭────    unclear  ╱╲╱    none  ────
 *	           ╱                ╱                ╱                  ╱
 *
 * The rate is the slope of the least-squares line, with the half-width of its 95 % confidence
 * interval (Student's t, n - 2 degrees of freedom). By the line alone, a cache that has filled up
 * would look like a leak. So the latest values decide, too:
 *
 *	settled  it grew, and has stayed within 2 % for the last quarter of the time or longer; at
 *	         its former rate it would have grown by more than that
 *	slowing  it grew in the second half of the time, at less than half the rate of the first
 *	steady   it grows, and the confidence interval excludes 0
 *	none     the last value is not above the first
 *	unclear  anything else
 *
 * Slowing and steady are tested twice, by time and by the numbers of the snapshots, and the worse
 * one counts: memory that grows with each request grows steadily from snapshot to snapshot if one
 * is taken every so many requests.
 */

#include <stddef.h>
#include <stdint.h>

enum heap_trend_kind {
	HEAP_TREND_STEADY, /**< worst first */
	HEAP_TREND_SLOWING,
	HEAP_TREND_UNCLEAR,
	HEAP_TREND_SETTLED,
	HEAP_TREND_NONE,
};

struct heap_trend {
	enum heap_trend_kind kind;
	double rate;   /**< per hour */
	double margin; /**< per hour: the rate is within rate - margin to rate + margin at 95 % */
	size_t since;  /**< SETTLED: the first value from which on it has stayed */
};

/**
 * Judges @p count values, at least three.
 *
 * @param times  [count] ns, ascending
 */
struct heap_trend heap_trend_of(const uint64_t *times, const uint64_t *values, size_t count);

/** "steady", "slowing", "unclear", "settled", "none". */
const char *heap_trend_name(enum heap_trend_kind kind);

#endif
