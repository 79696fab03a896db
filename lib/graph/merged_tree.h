// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MERGED_TREE_H
#define HEAP_MERGED_TREE_H

/**
 * The dominator tree with its objects merged by type, small enough to be looked at.
 *
 *	dominators          merged
 *	g_table             g_table
 *	└─ table            └─ table                    1 object
 *	   ├─ entry            └─ entry                 3 objects
 *	   │  └─ name             └─ name               2 objects
 *	   ├─ entry
 *	   │  └─ name
 *	   └─ entry
 *
 * The objects of one type (untyped ones: of one site) below one holding are one holding. What
 * is below its like somewhere up the tree, as a list's nodes are and the nodes of a tree, belongs
 * to that, so that holdings nest no deeper than there are types. Each object is in exactly one
 * holding: bytes add up to those of the heap.
 */

#include "lib/graph/dominator_tree.h"

enum heap_merged_kind {
	HEAP_MERGED_ALL,         /**< the heap: the first of them, all others are below it */
	HEAP_MERGED_ROOT,        /**< what a root alone holds */
	HEAP_MERGED_SEVERAL,     /**< what several roots hold together */
	HEAP_MERGED_UNREACHABLE, /**< what no root reaches */
	HEAP_MERGED_TYPE,        /**< objects of a type */
	HEAP_MERGED_SITE,        /**< untyped objects of a site */
};

struct heap_merged {
	enum heap_merged_kind kind;
	uint32_t what;          /**< root, type or site */
	uint32_t parent;        /**< a holding with a lower number; 0 for the first */
	uint32_t depth;         /**< below the first */
	uint64_t objects;       /**< its own */
	uint64_t own;           /**< bytes of these */
	uint64_t bytes;         /**< and of all that is below it */
	heap_object_id example; /**< the one that retains most; HEAP_NO_OBJECT if it has none */
};

/**
 * Merges the tree. Linear in its nodes; takes 8 bytes for each while it works.
 *
 * @param snapshot  with columns TYPE, SITE and SIZE
 * @param progress  may be NULL
 * @param result    [*count] each after its parent; the caller's, to be freed by free()
 */
HEAP_MUST_CHECK
struct heap_error *heap_merged_tree_find(const struct heap_snapshot *snapshot,
					 const struct heap_dominator_tree *tree,
					 const struct heap_progress *progress,
					 struct heap_merged **result, uint32_t *count);

#endif
