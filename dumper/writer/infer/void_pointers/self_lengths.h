// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SELF_LENGTHS_H
#define SELF_LENGTHS_H

/**
 * Structs of any length that have that length in their header, as rows of a table and messages do. The
 * blocks whose types are known tell which structs do so, and where the length is.
 */

#include "dumper/writer/infer/headers.h"
#include "lib/base/array.h"

struct inference;

/** A struct with its own length. */
struct self_length {
	heap_type_id type;
	struct header_member member; /**< the length, in bytes of the whole struct */
};

struct self_lengths HEAP_ARRAY(struct self_length);

/** Finds structs that may be such. Their blocks may all have one length. @param lengths  empty; its owner frees it, also after an error */
HEAP_MUST_CHECK
struct heap_error *self_lengths_find(const struct inference *inference,
				     struct self_lengths *lengths);

/** The length that a value has in it. @param address  where the value begins */
uint64_t self_lengths_read(const struct inference *inference, const struct self_length *length,
			   uint64_t address);

/** True if a block has its own length, up to what its allocator has rounded, at that place. */
bool self_lengths_hold(const struct inference *inference, const struct self_length *length,
		       heap_object_id object);

#endif
