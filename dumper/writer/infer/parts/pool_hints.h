// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POOL_HINTS_H
#define POOL_HINTS_H

/**
 * The hints on a block as evidence of a pool: hints of structs at different places, unless these are the elements
 * of one array.
 *
 * A list in one pool that leads into a block adds a hint in each level of the pools, and the block is judged again
 * in each. So the summary of a block with many hints is kept, and only newer hints are read.
 *
 *	hints of a block:   newest ──▶ ... ──▶ read up to here ──▶ ... ──▶ oldest
 *	                    └ read now ┘       └──── in the summary ─────┘
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

#include <stdbool.h>
#include <stdint.h>

struct hint;
struct inference;

/** The meaning of all hints on a block. */
struct pool_summary {
	heap_object_id object;
	uint32_t newest;      /**< the first hint that has been read; NO_HINT: none has */
	uint32_t place;       /**< of a part, rounded down to a word; UINT32_MAX: there is none */
	bool has_several;     /**< parts at different places */
	bool is_behind;       /**< one of them behind the block's start */
	bool has_first;       /**< one of them exactly at the start */
	bool is_mixed;        /**< the parts are not elements of one array */
	heap_type_id element; /**< of the first part that was read; HEAP_NO_TYPE: there is none */
	uint32_t of_itself;   /**< hints of the block's own type in its flexible array */
};

/** Summaries of the blocks with many hints. Zeros are an empty table. */
struct pool_summaries {
	struct HEAP_ARRAY(struct pool_summary) list;
	struct heap_hash_table by_object;
};

/** Forgets all summaries: those of blocks whose names have changed no longer hold. */
void pool_summaries_clear(struct pool_summaries *summaries);

/**
 * Summarizes the hints on a block.
 *
 * @return NULL or MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *pool_hints_summarize(const struct inference *inference,
					struct pool_summaries *summaries, heap_object_id object,
					struct pool_summary *result);

/** True if a hint says that there is a struct at a place that is free for one. */
bool pool_hints_is_part(const struct inference *inference, const struct hint *hint);

/** True if a place is only known to be bytes, or of no known type. */
bool pool_hints_is_free(const struct inference *inference, heap_object_id object, uint64_t offset,
			heap_type_id type);

/** True if all parts of a block are elements of one array that begins and ends with it. */
bool pool_summary_is_array(const struct inference *inference, const struct pool_summary *summary);

#endif
