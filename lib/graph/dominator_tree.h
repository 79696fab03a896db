// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DOMINATOR_TREE_H
#define HEAP_DOMINATOR_TREE_H

/**
 * The dominator tree from its top: the children of each node.
 *
 *	children of node n:  child[first[n] .. first[n + 1])   ascending
 *	top of the tree:     child[first[nodes] .. first[nodes + 1])
 *
 * At the top are roots, and objects that several roots hold. Leaked objects are not in it.
 */

#include "lib/graph/dominators.h"

struct heap_dominator_tree {
	const struct heap_dominators *dominators;
	uint32_t *first; /**< [nodes + 2] */
	heap_node_id *child;
	uint32_t nodes; /**< objects + roots; the number of the virtual root */
};

/** @param dominators  must outlive the result; which takes 8 bytes per node */
HEAP_MUST_CHECK
struct heap_error *heap_dominator_tree_init(struct heap_dominator_tree *result,
					    const struct heap_dominators *dominators);

void heap_dominator_tree_deinit(struct heap_dominator_tree *tree);

/**
 * Adds up what the objects of each group retain: all of a type, of a site... An object below another
 * one of its group has been counted with that one. The sum is a lower bound of what they retain
 * together: an object that two of them hold, and nothing else, is not counted;
 * heap_retained_by_set() counts it, for one group at a time.
 *
 * @param group   [objects] each below @p groups
 * @param bytes   [groups] all 0
 */
HEAP_MUST_CHECK
struct heap_error *heap_dominator_tree_sum(const struct heap_dominator_tree *tree,
					   const uint32_t *group, uint32_t groups, uint64_t *bytes);

/**
 * Marks the objects that a node dominates, itself included. Linear in all nodes; needs
 * no tree.
 *
 * @param marks  [objects / 8 + 1] a bit per object; of those that are set, what they dominate is marked, too
 */
HEAP_MUST_CHECK
struct heap_error *heap_dominators_mark(const struct heap_dominators *dominators, heap_node_id node,
					uint8_t *marks);

#endif
