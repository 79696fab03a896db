// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LARGER_BLOCKS_H
#define LARGER_BLOCKS_H

/**
 * Structs that some blocks have which are larger, with no room for a second one. An allocator takes a free chunk whole
 * if what remains of it would be too small for another, so that one list has blocks of two sizes.
 *
 * Contents have told some of these blocks. The others are known as soon as a pointer leads to them: else a list
 * would become known block by block, with a pass over all hints for each.
 */

#include "lib/base/error.h"
#include "lib/base/hash_table.h"
#include "lib/snapshot/snapshot.h"

struct inference;
struct pointer;

/** A struct, and the size of a larger block. */
struct larger_block {
	heap_type_id type;
	uint64_t size;
	uint32_t count; /**< of such blocks */
};

struct larger_blocks {
	struct larger_block *list; /**< [count] */
	size_t count, capacity;
	struct heap_hash_table by_type;
};

void larger_blocks_deinit(struct larger_blocks *blocks);

/** Notes that a block of that size has one struct. */
HEAP_MUST_CHECK
struct heap_error *larger_blocks_note(struct larger_blocks *blocks, heap_type_id type,
				      uint64_t size);

/** The number of blocks that have been noted. */
uint32_t larger_blocks_count(const struct larger_blocks *blocks, heap_type_id type, uint64_t size);

/** True if a pointer's target, which has no name yet, is such a block by its size. */
bool larger_blocks_may_have(const struct inference *inference, heap_type_id type,
			    const struct pointer *pointer);

/** True if its contents agree, too. */
bool larger_blocks_have(const struct inference *inference, heap_type_id type,
			const struct pointer *pointer);

#endif
