// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_EDGE_BITS_H
#define HEAP_EDGE_BITS_H

/**
 * Selects edges by their quality: a bit for each edge that meets the given conditions. The columns
 * that describe the quality of edges (HEAP_COLUMN_QUALITY) take forty times as much memory.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

/** Demands on an edge. */
enum heap_edge_demand {
	HEAP_EDGE_TO_START = 1 << 0, /**< as heap_edge_is_start() says */
	HEAP_EDGE_BY_TYPE = 1 << 1,  /**< HEAP_EDGE_TYPED */
	/** with HEAP_EDGE_TO_START: or to a member, as heap_embedded_is() says; needs TYPE */
	HEAP_EDGE_TO_MEMBER = 1 << 2,
};

/** A pointer to the start: the low bits of a typed one may be a tag. */
static inline bool heap_edge_is_start(uint32_t interior, uint8_t flags)
{
	return interior == 0 || (interior < 8 && (flags & HEAP_EDGE_TYPED));
}

/**
 * Checks all edges. Loads QUALITY only where types have been declared, since these change it
 * (lib/snapshot/declarations.h); uses it if it is loaded.
 *
 * @param demands  enum heap_edge_demand, or'ed
 * @param result   [edges / 8 + 1] bits (lib/base/bits.h), a column of the caller's
 */
HEAP_MUST_CHECK
struct heap_error *heap_edge_bits_create(struct heap_snapshot *snapshot, unsigned demands,
					 uint8_t **result);

#endif
