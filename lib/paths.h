// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PATHS_H
#define HEAP_PATHS_H

/**
 * Shortest ways from a root to an object.
 *
 *	root ─ root edge ─▶ object ─ edge ─▶ object ─ edge ─▶ the object asked for
 *
 * Of the shortest ways one from a root with a name comes first, before words of stacks and
 * segments; then the one with the fewest doubtful pointers on it: those that no type says are
 * pointers, and those into the middle of an object.
 */

#include "lib/graph.h"

struct heap_path {
	uint64_t root_edge; /**< in snapshot->root_edges */
	uint32_t *edges;    /**< [count] in the snapshot's edges, from the root's object on */
	size_t count;
};

/**
 * One pass over the edges at most; 12 bytes per object while it works.
 *
 * @param result  filled if there is a way; heap_path_deinit() frees it
 * @return NULL, HEAP_ERROR_ABSENT if no root reaches the object, HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_path_find(struct heap_graph *graph, heap_object_id object,
				  struct heap_path *result);

void heap_path_deinit(struct heap_path *path);

/** How much a root's name says to a person: smaller is better. */
unsigned heap_root_rank(const struct heap_root *root);

#endif
