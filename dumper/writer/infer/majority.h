// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MAJORITY_H
#define MAJORITY_H

/**
 * The only value that most of some values can have, found in one pass without counting each (Boyer and Moore, MJRTY - A
 * Fast Majority Vote Algorithm, 1981). Whether most have it, a second pass tells.
 */

#include <stdint.h>

/** Zeros: no value has been seen. */
struct majority {
	uint64_t value;
	uint64_t lead; /**< by so many at least, more values are this one than are not */
};

static inline void majority_add(struct majority *majority, uint64_t value)
{
	if (majority->lead == 0)
		majority->value = value;
	majority->lead = majority->value == value ? majority->lead + 1 : majority->lead - 1;
}

#endif
