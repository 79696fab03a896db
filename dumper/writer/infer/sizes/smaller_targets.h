// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SMALLER_TARGETS_H
#define SMALLER_TARGETS_H

/**
 * Blocks that are smaller than the struct that a typed slot leads to (smaller_structs.h), where no code tells who
 * allocated them: attached processes and core files.
 *
 *	table->buckets[i] ──▶ struct record *, of 112 bytes ──▶ 72 bytes: its end is cut off
 *
 * A stale pointer leads to a smaller block, too, whose contents then hardly agree with the struct.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

struct inference;
struct pointer;

/** The pairs of a pointee and a size that were looked at. */
struct smaller_targets;

/** @return NULL: there is no memory */
struct smaller_targets *smaller_targets_create(void);

void smaller_targets_destroy(struct smaller_targets *targets);

/** False if a pointer is to no such block. Thread-safe. @param interior  behind the block's prefix */
bool smaller_targets_may_be(const struct inference *inference, heap_type_id pointee,
			    uint64_t interior, heap_object_id target);

/**
 * Claims such a block, if its contents speak for it. The last one of a list has no pointer that could: it is claimed if
 * they do not speak against it, and many blocks before were the same.
 */
HEAP_MUST_CHECK
struct heap_error *smaller_targets_claim(struct inference *inference, heap_type_id pointee,
					 const struct pointer *pointer);

#endif
