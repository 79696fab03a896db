// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BYTE_LENGTHS_H
#define BYTE_LENGTHS_H

/**
 * Bytes behind void pointers, whose number stands beside these:
 *
 *	struct bytes { const void *data; size_t size; ... }
 *	                     |             17
 *	                     └▶ 17 bytes
 *
 * If one number beside a pointer always is the size of the block, the blocks are of several sizes, none is known to be
 * a struct, and hardly any has pointers, then they are bytes.
 */

#include "dumper/writer/infer/headers.h"

struct inference;

/** A void pointer to the start of a block. */
struct byte_pointer {
	uint64_t value; /**< address of the value that has it */
	heap_object_id target;
};

/** True if the block that a pointer leads to has no pointers, and the size that a number beside it says. */
bool byte_lengths_hold(const struct inference *inference, const struct header_member *number,
		       const struct byte_pointer *pointer);

/**
 * Finds the number that is the size of what pointers at one place lead to.
 *
 * @param type, offset  of the values that have the pointers, and of these in them
 * @param pointers  [count] a sample of them
 * @return false if there is none
 */
bool byte_lengths_find(const struct inference *inference, heap_type_id type, uint64_t offset,
		       const struct byte_pointer *pointers, uint32_t count,
		       struct header_member *number);

#endif
