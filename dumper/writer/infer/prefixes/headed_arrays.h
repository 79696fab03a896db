// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEADED_ARRAYS_H
#define HEADED_ARRAYS_H

/**
 * Arrays behind a header, as of lists that share their elements: a value has pointers to both, and the number of elements.
 *
 *	{ header *block, T *first, size_t count }	┌────────┬───┬───┬╌╌╌
 *	          │         └──────────────────────────│────────▶ T │ T │  room for more
 *	          └────────────────────────────────────▶ header │   │   │
 *	                                                └────────┴───┴───┴╌╌╌
 *
 * To one pointer into a block there is a single T. What lies behind the last one in use may be anything, so that contents
 * do not tell where it is.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Cuts such blocks into a header and an array, unless they have a better name.
 *
 * @param cut  increased by their number
 */
HEAP_MUST_CHECK
struct heap_error *headed_arrays_cut(struct inference *inference, uint64_t *cut);

#endif
