// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DIVIDED_EDGES_H
#define HEAP_DIVIDED_EDGES_H

/** The divided blocks, and edges in the making, for the files that implement divided.h. Private. */

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/divided.h"

/** The number of a divided block, or block_count. */
static inline uint32_t heap_divided_find_block(const struct heap_divided *divided,
					       heap_object_id object)
{
	const struct heap_divided_bits *bits;
	uint64_t bit = UINT64_C(1) << object % 64;

	if (divided->block_count == 0 || object >= divided->snapshot->object_count)
		return divided->block_count;
	bits = &divided->is_divided[object / 64];
	return bits->bits & bit ? bits->before + heap_bits_count(bits->bits & (bit - 1))
				: divided->block_count;
}

/** Edges of nodes in the making. */
struct heap_divided_edges {
	uint32_t *first;       /**< [nodes + 1] */
	heap_node_id *targets; /**< [edges] */
	uint32_t *origins;     /**< [edges] see heap_divided_edge() */
};

static inline void heap_divided_edges_deinit(struct heap_divided_edges *edges)
{
	heap_column_destroy(edges->first);
	heap_column_destroy(edges->targets);
	heap_column_destroy(edges->origins);
}

/** Called for each edge: first to count those of each node, then to put them in their places. */
typedef void heap_divided_visit_edge(struct heap_divided_edges *edges, heap_node_id source,
				     heap_node_id target, uint32_t origin);

static inline void heap_divided_count_edge(struct heap_divided_edges *edges, heap_node_id source,
					   heap_node_id target, uint32_t origin)
{
	(void)target;
	(void)origin;
	edges->first[source + 1]++;
}

static inline void heap_divided_put_edge(struct heap_divided_edges *edges, heap_node_id source,
					 heap_node_id target, uint32_t origin)
{
	edges->targets[edges->first[source]] = target;
	edges->origins[edges->first[source]++] = origin;
}

/** Makes room for edges. */
HEAP_MUST_CHECK
static inline struct heap_error *heap_divided_create_edges(struct heap_divided_edges *edges,
							   uint32_t count)
{
	HEAP_TRY(heap_column_create((size_t)count + 1, sizeof(*edges->targets), &edges->targets));
	return heap_column_create((size_t)count + 1, sizeof(*edges->origins), &edges->origins);
}

/** Makes the edges of the nodes those that were made. */
static inline void heap_divided_take_edges(struct heap_divided *divided,
					   struct heap_divided_edges *edges, uint32_t count)
{
	struct heap_divided_edges old = { divided->nodes.edge_first, divided->nodes.edge_target,
					  divided->origins };

	divided->nodes.edge_first = edges->first;
	divided->nodes.edge_target = edges->targets;
	divided->nodes.edge_count = count;
	divided->origins = edges->origins;
	*edges = old;
}

/**
 * Hangs the nodes of each block that are not reached by themselves on the others, by edges of their own. Needs
 * the graph of nodes.
 */
HEAP_MUST_CHECK
struct heap_error *heap_divided_bind_nodes(struct heap_divided *divided);

#endif
