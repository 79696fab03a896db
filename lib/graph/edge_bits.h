// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_EDGE_BITS_H
#define HEAP_EDGE_BITS_H

/**
 * A bit for each edge that is good enough for a question, where the columns that say what an edge
 * is like (HEAP_COLUMN_QUALITY) take forty times as much.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

/** What an edge must be. */
enum heap_edge_demand {
	HEAP_EDGE_TO_START = 1 << 0, /**< as heap_edge_is_start() says */
	HEAP_EDGE_BY_TYPE = 1 << 1,  /**< HEAP_EDGE_TYPED */
};

/** A pointer to the start: the low bits of a typed one may be a tag. */
static inline bool heap_edge_is_start(uint32_t interior, uint8_t flags)
{
	return interior == 0 || (interior < 8 && (flags & HEAP_EDGE_TYPED));
}

/**
 * Looks at all edges; QUALITY is not loaded for that, but used if it is, and where people have said
 * what objects are (lib/snapshot/declarations.h), which changes it.
 *
 * @param demands  enum heap_edge_demand, or'ed
 * @param result   [edges / 8 + 1] bits (lib/base/bits.h), a column of the caller's
 */
HEAP_MUST_CHECK
struct heap_error *heap_edge_bits_create(struct heap_snapshot *snapshot, unsigned demands,
					 uint8_t **result);

#endif
