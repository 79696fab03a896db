// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EDGES_H
#define EDGES_H

/**
 * Every pointer from a block into a block: all aligned words of all blocks are looked up.
 *
 * Whether a word is a pointer by its block's type is not known yet; inference says so later. Where
 * nobody will ask, they are stored as they are found, and not kept as columns.
 */

#include "dumper/writer/scan/objects.h"
#include "lib/snapshot/stored_edges.h"

struct edges {
	uint32_t *first;        /**< [objects + 1] */
	heap_object_id *target; /**< [count] */
	uint32_t *slot;         /**< [count] byte offset in the source / 8 */
	uint32_t *interior;     /**< [count] bytes into the target; UINT32_MAX: or more */
	uint8_t *flags;         /**< [count] enum heap_edge_flags */
	uint32_t count, capacity;
	struct heap_stored_edges *stored; /**< or, instead of columns, these */
};

/** Who else wants to know of words, of those that are no pointers into the heap. */
struct edges_listener {
	/** told of the first word of blocks, if it is from @p first_start up to first_end */
	void (*first_word)(void *context, heap_object_id object, uint64_t word);
	uint64_t first_start, first_end;
	/** told of all words from @p code_start up to, but not including, @p code_end */
	void (*code_word)(void *context, uint64_t word);
	uint64_t code_start, code_end;
	void *context;
};

/** @param is_stored  rather than kept as columns */
HEAP_MUST_CHECK
struct heap_error *edges_init(struct edges *edges, const struct objects *objects,
			      const struct image *image, const struct edges_listener *listener,
			      bool is_stored);

void edges_deinit(struct edges *edges);

/** The first edge of an object that leaves it at an offset or behind; its edges' end if none. */
uint32_t edges_find(const struct edges *edges, heap_object_id object, uint64_t offset);

#endif
