// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_HOLDERS_H
#define HEAP_HOLDERS_H

/**
 * Who points to a few objects, without turning all pointers around.
 *
 * To turn them around takes as long as forty looks at all of them, and eight bytes for each. Who
 * asks for a few objects' holders, and then for some of theirs, asks for those of one level
 * together:
 *
 *	need { d }        one pass over all pointers, by all threads: b, c
 *	need { b, c }     another: a
 *
 * After more passes than pay, or where the graph has its reverse edges already, those answer.
 */

#include "lib/graph/graph.h"

/** Pointers to one object. */
struct heap_holders_of {
	const uint32_t *edges;         /**< [count] ascending */
	const heap_object_id *sources; /**< [count] that these leave */
	uint32_t count;
	const uint32_t *root_edges; /**< [root_count] in snapshot->root_edges, ascending */
	uint32_t root_count;
};

struct heap_holders;

/** @param graph  must outlive the result */
HEAP_MUST_CHECK
struct heap_error *heap_holders_create(struct heap_graph *graph, struct heap_holders **result);

/** NULL is fine. */
void heap_holders_destroy(struct heap_holders *holders);

/**
 * Finds out who points to some objects; those that have been asked for already cost nothing.
 *
 * @param objects  [count]
 * @return NULL, HEAP_ERROR_MEMORY, or what heap_graph_need_reverse() says
 */
HEAP_MUST_CHECK
struct heap_error *heap_holders_need(struct heap_holders *holders, const heap_object_id *objects,
				     size_t count);

/** Who points to an object that heap_holders_need() was given; valid as long as the holders. */
struct heap_holders_of heap_holders_get(const struct heap_holders *holders, heap_object_id object);

#endif
