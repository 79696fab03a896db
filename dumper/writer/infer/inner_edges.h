// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef INNER_EDGES_H
#define INNER_EDGES_H

/**
 * The objects with edges that lead into the middle of an object. Most edges lead to a start, so that a pass for the
 * others alone reads one column of zeros in place of several of all objects.
 */

#include "lib/base/search.h"
#include "lib/snapshot/snapshot.h"

/** The first edge from one on, before @p end, that leads into the middle; @p end if there is none. */
static inline uint32_t inner_edges_find(const struct heap_snapshot *snapshot, uint32_t edge,
					uint32_t end)
{
	return heap_next_set_u32(snapshot->edge_interior, edge, end);
}

/** The first object from one on, before @p end, with such an edge; @p end if there is none. */
static inline heap_object_id inner_edges_next(const struct heap_snapshot *snapshot,
					      heap_object_id object, heap_object_id end)
{
	const uint32_t *first = snapshot->edge_first;
	uint32_t edge = inner_edges_find(snapshot, first[object], first[end]);
	heap_object_id step = 1;

	if (edge == first[end])
		return end;
	// Its source is near if there are many such edges.
	for (; step < end - object && first[object + step] <= edge; step *= 2)
		object += step;
	if (step < end - object)
		end = object + step;
	return heap_partition_point(i, object, end, first[i + 1] <= edge);
}

#endif
