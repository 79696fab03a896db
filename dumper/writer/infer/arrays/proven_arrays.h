// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PROVEN_ARRAYS_H
#define PROVEN_ARRAYS_H

/**
 * Arrays that their own pointers prove: all of these stand where values of the type have them.
 *
 *	bucket │ bucket │ bucket │ …       a pointer leads to the first one, as a bucket *
 *	 └▶ *     └▶ 0     └▶ *
 *
 * Interpreters keep pointers in numbers, too: those count for nothing. If the block begins like an element, a pointer to
 * any of its elements will do.
 *
 * Memory is reused, and stale pointers lead into the middle of what lies there now. To them, a large array
 * seems to be a pool of several structs. So many pointers at a steady stride are no chance.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims blocks without a name for the arrays that their pointers prove, pools among them.
 *
 * @param claimed  increased by the number of claims
 */
HEAP_MUST_CHECK
struct heap_error *proven_arrays_claim(struct inference *inference, uint64_t *claimed);

#endif
