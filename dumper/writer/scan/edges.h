// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EDGES_H
#define EDGES_H

/**
 * Every pointer from a block into a block: all aligned words of all blocks are looked up.
 *
 * Inference finds out later which words are pointers by their block's type. Without it, edges are
 * stored while they are found, and not kept as columns.
 */

#include "dumper/writer/scan/objects.h"
#include "lib/snapshot/stored_edges.h"

/** Gets words that are no pointers into the heap. */
struct edges_listener {
	/** told of the words at the heads of blocks from @p modules_start up to @p modules_end */
	struct heap_error *(*head_word)(void *context, heap_object_id object, uint32_t slot,
					uint64_t word);
	uint64_t modules_start, modules_end;
	uint32_t head; /**< words of a block that are its head */
	/** told of all words from @p code_start up to, but not including, @p code_end */
	void (*code_word)(void *context, heap_object_id object, uint64_t word);
	uint64_t code_start, code_end;
	void *context;
};

/**
 * Finds all edges.
 *
 * @param snapshot  gets the columns edge_first to edge_flags, unless @p stored does
 * @param stored    gets the edges; NULL: they become columns
 */
HEAP_MUST_CHECK
struct heap_error *edges_scan(struct heap_snapshot *snapshot, struct heap_stored_edges *stored,
			      const struct objects *objects, const struct image *image,
			      const struct edges_listener *listener);

#endif
