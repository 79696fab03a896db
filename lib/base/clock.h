// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_CLOCK_H
#define HEAP_CLOCK_H

/** The clock for durations and deadlines, which nobody sets. */

#include <stdint.h>
#include <time.h>

/** The time in ns since some moment before the program began. */
static inline uint64_t heap_monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/** The same in ms; signed, as poll() has its timeouts. */
static inline int64_t heap_monotonic_ms(void)
{
	return (int64_t)(heap_monotonic_ns() / 1000000);
}

#endif
