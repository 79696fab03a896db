// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BOUNDED_ARRAYS_H
#define BOUNDED_ARRAYS_H

/**
 * Arrays between the pointers of a growing one, as std::vector has them: three of one type to one block, to its first
 * element, behind its last one, and behind the room for more.
 *
 *	{ T *begin, *end, *limit }	┌───┬───┬───┬───┬╌╌╌
 *	      └───────┼──────┼─────────▶│ T │ T │   │   │  something else, or the block's end
 *	              │      │          └───┴───┴───┴───┴╌╌╌
 *	              └──────┼──────────────────▲       ▲
 *	                     └──────────────────────────┘
 *
 * Without them a block may as well be a larger struct that begins with a T. Where the limit is not the block's end, and
 * other pointers lead behind it, the array is but a part of the block.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims such blocks, or cuts them into parts.
 *
 * @param claimed  increased by their number
 */
HEAP_MUST_CHECK
struct heap_error *bounded_arrays_claim(struct inference *inference, uint64_t *claimed);

#endif
