// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HOLDER_TREE_H
#define HOLDER_TREE_H

/**
 * The holders of an object, their holders, and so on up to the roots.
 *
 *	object ◀── holders[0] ◀── its holders[0] ◀── … ◀── a root
 *	       ◀── holders[1] ◀── …
 *
 * The first holder of each object that a root reaches is either a root or nearer to one, so
 * following first holders ends at a root. Holders are looked up a level at a time, because each
 * lookup takes a pass over all pointers of the heap, however few objects it is for.
 *
 * The objects are nodes of session->divided: parts of pools are objects of their own.
 */

#include "shell/base/session.h"

/** One that holds an object. If it holds it by several fields, the best of these stands here. */
struct holder {
	heap_node_id object; /**< or HEAP_NO_NODE: a root */
	uint32_t root_edge;  /**< of a root: in snapshot->root_edges */
	/** of an object: its edge, in the snapshot; HEAP_NO_INDEX: it holds it as its pool, or a part */
	struct heap_edge_quality quality;
	uint32_t fields; /**< how many of its fields hold the object */
};

/** An object and those that hold it. */
struct held {
	heap_node_id object;
	uint8_t shown;          /**< for who prints it */
	uint32_t count, roots;  /**< of all, and of these that are roots */
	struct holder *holders; /**< [count] what says most first: see above */
};

/** The number of holders of each object that are followed. */
struct holder_widths {
	const uint64_t *width; /**< [levels] by steps from the object */
	uint64_t levels;       /**< further up only the first holder is followed */
};

struct holder_tree {
	struct session *session;
	struct heap_graph *graph; /**< of the nodes, with their distances from the roots */
	struct held **known;      /**< [known_count] in the order in which they were found */
	size_t known_count;

	/* private */
	size_t known_capacity;
	uint32_t *place; // [nodes] in known, counted from 1; 0: unknown
	struct heap_referrers *all;
	struct heap_edge_quality *qualities; // [quality_count] by edge: of one level
	size_t quality_count;
};

/**
 * Finds the holders of an object, and theirs, and loads what node_describe() and
 * node_field() need to name them. ^C leaves it unfinished.
 *
 * @param result  holder_tree_deinit() frees it, also after an error
 */
HEAP_MUST_CHECK
struct heap_error *holder_tree_find(struct holder_tree *result, struct session *session,
				    heap_node_id object, const struct holder_widths *widths);

void holder_tree_deinit(struct holder_tree *tree);

/** An object of the tree; NULL if its holders were not looked up. */
struct held *holder_tree_get(const struct holder_tree *tree, heap_node_id object);

/** The next object on the way from an object to a root; NULL if a root is next, or nothing is. */
struct held *holder_tree_next(const struct holder_tree *tree, const struct held *held);

/**
 * Counts the steps from an object to the object that a root holds on its way.
 *
 * @param end  gets the last object of the way
 */
size_t holder_tree_walk(const struct holder_tree *tree, const struct held *held,
			const struct held **end);

#endif
