// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ROOT_SIZES_H
#define HEAP_ROOT_SIZES_H

/**
 * What roots hold, one by one or in groups (all of a file, of a thread, of a frame): what they
 * reach, what they alone reach, and what nobody else points to.
 *
 *	f ──▶ a ──▶ c ◀── b ◀── g        f reaches a, c, retains a, shares c;
 *	                                 f and g, as one group, retain all
 *
 * To search from each root would take as many searches as there are roots. Instead the graph is
 * made small first: whatever one object or root dominates is one with it, and so is whatever
 * points at each other in circles. What is left has no circles; one pass over it says for
 * all groups what each alone reaches, and one pass per 64 groups what each reaches.
 */

#include "lib/graph/dominators.h"

struct heap_root_sizes;

/** A group of roots that is none: they hold, but nobody asks how much. */
#define HEAP_NO_GROUP UINT32_MAX

struct heap_root_size {
	uint64_t reachable;         /**< bytes that the group's roots lead to */
	uint64_t reachable_objects; /**< and how many objects they are */
	uint64_t retained;          /**< of which no root outside the group leads to */
	uint64_t retained_objects;
	uint64_t exclusive; /**< bytes of objects that only the group's roots point to */
};

/**
 * Linear in objects and edges; 4 bytes per object while it works, and, for what is held by
 * several roots, 16 bytes per object and 4 per edge.
 *
 * @param graph  whose snapshot has SIZE; must outlive the holdings
 */
HEAP_MUST_CHECK
struct heap_error *heap_root_sizes_create(const struct heap_graph *graph,
					  const struct heap_dominators *dominators,
					  struct heap_root_sizes **result);

/** NULL is fine. */
void heap_root_sizes_destroy(struct heap_root_sizes *holdings);

/**
 * @param group   [roots] below @p count, or HEAP_NO_GROUP
 * @param result  [count]
 */
HEAP_MUST_CHECK
struct heap_error *heap_root_sizes_measure(const struct heap_root_sizes *holdings,
					   const uint32_t *group, uint32_t count,
					   struct heap_root_size *result);

#endif
