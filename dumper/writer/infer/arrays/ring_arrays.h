// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef RING_ARRAYS_H
#define RING_ARRAYS_H

/**
 * Arrays of the heads of doubly linked lists, as hash tables have them: each head and its list are a ring.
 *
 *	head ┐ head ┐ head ┐ …
 *	 ▲ └─┘  ▲ └──▶ item ──▶ item ┐
 *	        └────────────────────┘
 *
 * No array is made of links alone (layouts_is_link()), since they lie over memory that is something else. But the
 * neighbours of a link that is in use lead back to it.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims blocks that typed slots take for a head, and that consist of heads whose neighbours lead back. Hints that have
 * come since the last time are read.
 *
 * @param claimed  increased by the number of claims
 */
HEAP_MUST_CHECK
struct heap_error *ring_arrays_claim(struct inference *inference, uint64_t *claimed);

#endif
