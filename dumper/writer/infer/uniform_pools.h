// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNIFORM_POOLS_H
#define UNIFORM_POOLS_H

/**
 * Pools that are arrays: all their known parts are of one type, at multiples of its size, of which the block has a
 * whole number, and another block of as many of them is known to be an array.
 *
 *	node *[] ─▶ [ node │ node │ node │ node ]     an array: pointers lead to its first node, too
 *	node *[] ─▶ [      │ node │      │ node ]     so is this, whose first node has been freed
 *
 * Programs that hand out values from blocks of a hundred make each block like the other ones, but nothing may lead to its
 * first value.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/** Claims such pools. @param claimed  increased by the number of claims */
HEAP_MUST_CHECK
struct heap_error *uniform_pools_claim(struct inference *inference, uint64_t *claimed);

#endif
