// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_REFERRERS_H
#define HEAP_REFERRERS_H

/**
 * The referrers of a few objects, without transposing the graph.
 *
 * Transposing takes as long as forty passes over all edges, and eight bytes for each edge. If you
 * only ask who holds a few objects, and then who holds those, ask for one level at a time:
 *
 *	need { d }        one pass over all edges, by all threads: b, c
 *	need { b, c }     another: a
 *
 * After HEAP_GRAPH_PASSES passes, or if the graph is transposed already, the reverse edges answer.
 */

#include "lib/graph/graph.h"

/** The edges that lead to one object. */
struct heap_referrer_list {
	const uint32_t *edges;         /**< [count] ascending */
	const heap_object_id *sources; /**< [count] the objects that these edges leave */
	uint32_t count;
	const uint32_t *root_edges; /**< [root_count] in snapshot->root_edges, ascending */
	uint32_t root_count;
};

struct heap_referrers;

/** @param graph  must outlive the result */
HEAP_MUST_CHECK
struct heap_error *heap_referrers_create(struct heap_graph *graph, struct heap_referrers **result);

/** NULL is fine. */
void heap_referrers_destroy(struct heap_referrers *holders);

/**
 * Finds the referrers of some objects. Objects of earlier calls cost nothing.
 *
 * @param objects  [count]
 * @return NULL, HEAP_ERROR_MEMORY, or what heap_graph_need_reverse() says
 */
HEAP_MUST_CHECK
struct heap_error *heap_referrers_need(struct heap_referrers *holders,
				       const heap_object_id *objects, size_t count);

/** The referrers of an object that heap_referrers_need() was given; valid as long as @p referrers. */
struct heap_referrer_list heap_referrers_get(const struct heap_referrers *holders,
					     heap_object_id object);

#endif
