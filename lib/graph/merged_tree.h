// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_MERGED_TREE_H
#define HEAP_MERGED_TREE_H

/**
 * The dominator tree with its objects merged by type, small enough to display.
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
 * Objects of one type (untyped ones: of one site) below one node become one node. An object below
 * one of its own type, as nodes of lists and trees are, belongs to that one's node, so that nodes
 * nest no deeper than there are types. Each object is in exactly one node: bytes add up to those
 * of the heap.
 */

#include "lib/graph/dominator_tree.h"
#include "lib/graph/root_sizes.h"

enum heap_merged_kind {
	HEAP_MERGED_ALL,     /**< the heap: the first node, all others are below it */
	HEAP_MERGED_ROOT,    /**< held by a root alone */
	HEAP_MERGED_SEVERAL, /**< held by several roots together */
	HEAP_MERGED_WORDS,   /**< held by stack words and the like alone: such roots are below */
	HEAP_MERGED_UNREACHABLE, /**< no root reaches it */
	HEAP_MERGED_TYPE,        /**< objects of a type */
	HEAP_MERGED_SITE,        /**< untyped objects of a site */
};

struct heap_merged {
	enum heap_merged_kind kind;
	uint32_t what;          /**< root, class of SEVERAL, type or site */
	uint32_t parent;        /**< a node with a lower number; 0 for the first */
	uint32_t depth;         /**< below the first */
	uint64_t objects;       /**< its own */
	uint64_t own;           /**< bytes of these */
	uint64_t bytes;         /**< and of all nodes below it */
	heap_object_id example; /**< the object that retains most, or HEAP_NO_OBJECT */
};

/**
 * Merges the tree. Linear in its nodes; takes 8 bytes for each while it works.
 *
 * @param snapshot  with columns TYPE, SITE and SIZE
 * @param holders   of the same graph; NULL: SEVERAL is one node, and WORDS is not there
 * @param progress  may be NULL
 * @param result    [*count] each after its parent; the caller's, to be freed by free()
 */
HEAP_MUST_CHECK
struct heap_error *heap_merged_tree_find(const struct heap_snapshot *snapshot,
					 const struct heap_dominator_tree *tree,
					 const struct heap_holders *holders,
					 const struct heap_progress *progress,
					 struct heap_merged **result, uint32_t *count);

#endif
