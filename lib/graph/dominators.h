// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DOMINATORS_H
#define HEAP_DOMINATORS_H

/**
 * Dominators, and the retained sizes that follow from them.
 *
 * An object dominates another when every path from a root to the other leads
 * through it: free the one, and the other goes too. Each reachable object has one
 * nearest dominator, so they form a tree; the retained size of an object is the
 * bytes in its subtree.
 *
 *	the graph:  root → a → b → d        the tree:  root ─ a ─┬─ b
 *	                    └→ c ──┘                             ├─ c
 *	                                                         └─ d
 *
 * b alone retains only b, because d would still be held by c.
 *
 * Roots are nodes of the graph as well, so a root that alone holds an object retains it. Roots
 * have levels (enum heap_root_level): paths count that begin at a root of the object's own level.
 *
 * Method: Semi-NCA, in "Finding Dominators in Practice" (Georgiadis, Tarjan,
 * Werneck; JGAA 10(1), 2006), over flat arrays, from one virtual root above all
 * roots. Quadratic at worst; on heaps the work is close to one pass over the edges.
 */

#include "lib/base/error.h"
#include "lib/graph/graph.h"
#include "lib/snapshot/side_file.h"

struct heap_dominators {
	/**
	 * [objects + roots] nearest dominator; HEAP_NO_NODE if only the roots together
	 * hold the object, if nothing does (heap_graph_need_reach() tells), and for roots
	 */
	const heap_node_id *nearest;
	/** [objects + roots] bytes, an object's own included; 0: unreachable */
	const uint64_t *retained;
	/** [objects] enum heap_root_level: see heap_dominators_level() */
	const uint8_t *levels;
	size_t objects;
	size_t roots;
	struct heap_side_file side; /**< the side file that holds the arrays, if one does */
};

/** The surest level of roots that reaches an object; HEAP_LEVEL_VARIABLE if none does. */
static inline enum heap_root_level heap_dominators_level(const struct heap_dominators *dominators,
							 heap_object_id object)
{
	// A side file may have been made up.
	return dominators->levels[object] < HEAP_LEVELS ? dominators->levels[object]
							: HEAP_LEVEL_WORD;
}

/**
 * Computes the dominators of all objects.
 *
 * While it works it takes 20 bytes per node, and 6 for each edge to a node that has been visited
 * (one and a half per object, where objects have two and a half edges), besides the edges
 * themselves; the result takes 13 per node. 16 bytes per node, and the edges, are
 * accessed at random and should be memory; the rest may as well be in files. A search with more
 * pending edges than there are nodes takes 16 bytes for each of these.
 *
 * @param graph   reports to graph->progress
 * @param result  filled on success, untouched otherwise
 * @return NULL, what heap_column_create() and heap_snapshot_read_sizes() say,
 *         HEAP_ERROR_INTERRUPTED, or HEAP_ERROR_ARGUMENT: objects and roots, or pointers, are too
 *         many for 32 bits
 */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_init(struct heap_dominators *result,
					const struct heap_graph *graph);

/**
 * Loads the dominators from the snapshot's side file, if there is one.
 *
 * @param objects          of the graph: the snapshot's, or more (divided.h)
 * @param is_conservative  those of a conservative graph
 * @return NULL, HEAP_ERROR_ABSENT or another error: they have to be computed
 */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_load(struct heap_dominators *result,
					const struct heap_snapshot *snapshot, size_t objects,
					bool is_conservative);

/** Stores the dominators in the snapshot's side file. */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_store(const struct heap_dominators *dominators,
					 const struct heap_snapshot *snapshot,
					 bool is_conservative);

void heap_dominators_deinit(struct heap_dominators *dominators);

#endif
