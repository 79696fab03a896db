// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HASH_H
#define HEAPSNAP_HASH_H

/** The hash function of the library's tables. lib/base/hash.h is not for code inside malloc. */

#include <stdint.h>

/**
 * Multiplies by 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
 * The high bits are the good ones: shift right before you mask.
 */
static inline uint64_t heapsnap_scatter(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

#endif
