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
 * Roots are nodes of the graph as well, so a root that alone holds an object retains it.
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
	size_t objects;
	size_t roots;
	struct heap_side_file side; /**< that nearest and retained lie in, if they do */
};

/**
 * Computes the dominators of all objects.
 *
 * Takes 20 bytes per node while it works, and 6 for each edge that leads to a node which has been
 * met (of two and a half per object, one and a half), besides the edges themselves; it leaves 12
 * per node. 16 per node, and the edges, are looked up at random and should be memory; what else
 * there is may as well be in files. Where more edges than there are nodes are ahead of a search at
 * one time, 16 bytes more for each.
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
 * Takes them from the snapshot's side file, if there is one that is whole.
 *
 * @return NULL, HEAP_ERROR_ABSENT or another error: they have to be computed
 */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_load(struct heap_dominators *result,
					const struct heap_snapshot *snapshot);

/** Puts them into the snapshot's side file. */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_store(const struct heap_dominators *dominators,
					 const struct heap_snapshot *snapshot);

void heap_dominators_deinit(struct heap_dominators *dominators);

#endif
