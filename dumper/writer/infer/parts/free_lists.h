// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FREE_LISTS_H
#define FREE_LISTS_H

/**
 * Free lists: the parts of blocks that the program cuts up, and does not use, by the links between them.
 *
 *	block ┌ header ┬ in use ┬ header ┬ in use ┬ header ┬ free ┬ header ┬ free ┐
 *	                                     lists[size] ─▶ next ─────────▶ next ─▶ …
 *
 * The code that makes such a block has a pointer to headers, so that the block looks like an array of these, in
 * which everything else would be hidden. But the links lead from one to the next at a larger stride than that of an
 * array. These blocks are pools.
 */

#include "lib/types/types.h"

#include <stdbool.h>
#include <stdint.h>

struct inference;

enum {
	MAX_FREE_LIST_TYPES = 16,
};

struct free_lists {
	uint32_t hints_seen;
	uint32_t walks;                            /**< lists that have been followed */
	heap_type_id headers[MAX_FREE_LIST_TYPES]; /**< [header_count] of parts */
	uint32_t header_count;
};

/**
 * Makes the blocks pools into which lists lead that have been hinted at since the last time, and those of the same
 * code and size.
 *
 * @param cut  increased by their number
 */
HEAP_MUST_CHECK
struct heap_error *free_lists_cut(struct inference *inference, uint64_t *cut);

/** True for a type that has turned out to be the header of such parts: no block is an array of it. */
static inline bool free_lists_have(const struct free_lists *lists, heap_type_id type)
{
	for (uint32_t i = 0; i < lists->header_count; i++) {
		if (lists->headers[i] == type)
			return true;
	}
	return false;
}

#endif
