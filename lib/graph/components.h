// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_COMPONENTS_H
#define HEAP_COMPONENTS_H

/**
 * Strongly connected components: objects that reach each other.
 *
 *	root → a ⇄ b → c        components, in the order in which they are found: {c}, {a, b}
 *
 * Each component is found after all that it leads to, so an edge leads to the same component or to
 * one of a lower number. Only what roots reach is in a component. Levels of roots are searched one
 * after the other, from the surest down, so the components of a level have consecutive numbers;
 * an edge to one of a surer level does not count (enum heap_root_level).
 */

#include "lib/base/search.h"
#include "lib/graph/graph.h"

#define HEAP_NO_COMPONENT UINT32_MAX

struct heap_components {
	uint32_t count;
	uint32_t *of;            /**< [objects] a column; HEAP_NO_COMPONENT: no root reaches it */
	heap_object_id *members; /**< [reached] a column: objects sorted by component */
	uint32_t reached;        /**< objects */
	uint32_t start[HEAP_LEVELS + 1]; /**< a level's components are [start, the next level's) */
};

/**
 * Finds the components. Linear in objects and edges.
 *
 * While it works it takes 8 bytes per object, 20 for each object of the longest path of the search,
 * and 4 for each pending edge; the result keeps the 8 bytes.
 *
 * @param graph   reports to graph->progress
 * @param result  filled on success, untouched otherwise
 * @return NULL, what heap_column_create() says, or HEAP_ERROR_INTERRUPTED
 */
HEAP_MUST_CHECK
struct heap_error *heap_components_init(struct heap_components *result,
					const struct heap_graph *graph);

void heap_components_deinit(struct heap_components *components);

/** The level of a component. */
static inline enum heap_root_level heap_components_level(const struct heap_components *components,
							 uint32_t component)
{
	uint32_t after;

	if (component < components->start[HEAP_LEVEL_VARIABLE + 1])
		return HEAP_LEVEL_VARIABLE; // as most are
	after = heap_partition_point(i, 0, (uint32_t)HEAP_LEVELS,
				     components->start[i] <= component);
	return (enum heap_root_level)(after - 1);
}

#endif
