// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SUSPECTS_H
#define HEAP_SUSPECTS_H

/**
 * The few places where most of a heap gathers.
 *
 * From each large subtree of the dominator tree, the search descends as long as one child has
 * nearly all of the subtree. The place where the subtree spreads is a suspect, of one of these
 * kinds:
 *
 *	root ─ cache ─ slots ─┬─ entry ─ …       a group: 30,000 entries, below slots
 *	                      ├─ entry ─ …
 *	                      └─ …
 *	                                         and others there that are as many bytes
 *	root ─ node ─ node ─ node ─ …            a chain: a list of nodes
 *	root ─┬─ entry                           mixed: many kinds, none of which is large
 *	      └─ name
 *	root ─ buffer                            one: a single object that is as large
 *
 * Where parts of pools are nodes (divided.h) they are objects here like any others.
 *
 * Objects that several roots hold together have no common place in the tree. They are grouped by
 * their type and the roots that hold them.
 */

#include "lib/graph/dominator_tree.h"
#include "lib/graph/root_sizes.h"

enum heap_suspect_kind {
	HEAP_SUSPECT_ONE,
	HEAP_SUSPECT_GROUP, /**< objects of one type, or of one site if they have none */
	HEAP_SUSPECT_CHAIN, /**< the same, each below the one before */
	HEAP_SUSPECT_MIXED, /**< what a root holds, of many kinds */
	/* for who looks for these, too; heap_suspects_find() does not: */
	HEAP_SUSPECT_LEAKED, /**< leaked objects of one type, with all that is lost with them */
	HEAP_SUSPECT_NEW,    /**< objects of one type that another snapshot does not have */
};

struct heap_suspect {
	enum heap_suspect_kind kind;
	heap_node_id place;     /**< the node above them, the object itself for ONE; HEAP_NO_NODE:
				     several roots */
	bool is_mixed;          /**< at no place, and not all held by the same roots */
	heap_object_id example; /**< the largest of them, a chain's first */
	bool is_cyclic;         /**< leaked: they hold each other in cycles */
	/** in a group also objects of the type below those: chains of a hash table's entries */
	uint64_t members;
	uint64_t bytes; /**< that they retain */
};

/** Orders suspects for qsort(): the most bytes first. */
int heap_suspects_compare(const void *left, const void *right);

/**
 * Finds suspects that retain @p least bytes or more each.
 *
 * @param snapshot  with columns TYPE, SITE and SIZE
 * @param holders   of the same graph; NULL: what several roots hold is mixed
 * @param result    [*count] largest first; the caller's, to be freed by free()
 */
HEAP_MUST_CHECK
struct heap_error *heap_suspects_find(const struct heap_snapshot *snapshot,
				      const struct heap_dominator_tree *tree, uint64_t least,
				      const struct heap_holders *holders,
				      struct heap_suspect **result, size_t *count);

#endif
