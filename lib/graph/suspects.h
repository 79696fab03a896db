// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SUSPECTS_H
#define HEAP_SUSPECTS_H

/**
 * The few places where most of a heap gathers.
 *
 * From each large subtree of the dominator tree the way down is followed as long as one child
 * has nearly all of it. Where it spreads, that is the place; what it spreads into says what
 * to look for:
 *
 *	root ─ cache ─ slots ─┬─ entry ─ …       a group: 30,000 entries, below slots
 *	                      ├─ entry ─ …
 *	                      └─ …
 *	root ─ node ─ node ─ node ─ …            a chain: a list of nodes
 *	root ─ buffer                            one: a single object that is as large
 *
 * Siblings that several roots hold together gather at no place in the tree, but they are
 * of one type still.
 */

#include "lib/graph/dominator_tree.h"

enum heap_suspect_kind {
	HEAP_SUSPECT_ONE,
	HEAP_SUSPECT_GROUP, /**< objects of one type, or of one site if they have none */
	HEAP_SUSPECT_CHAIN, /**< the same, each below the one before */
};

struct heap_suspect {
	enum heap_suspect_kind kind;
	heap_node_id place;     /**< below which they are, the object itself for ONE;
				     HEAP_NO_NODE: no single one */
	heap_object_id example; /**< the largest of them, a chain's first */
	uint64_t members;
	uint64_t bytes; /**< that they retain */
};

/**
 * Finds what retains @p least bytes and more each.
 *
 * @param snapshot  with columns TYPE, SITE and SIZE
 * @param result    [*count] largest first; the caller's, to be freed by free()
 */
HEAP_MUST_CHECK
struct heap_error *heap_suspects_find(const struct heap_snapshot *snapshot,
				      const struct heap_dominator_tree *tree, uint64_t least,
				      struct heap_suspect **result, size_t *count);

#endif
