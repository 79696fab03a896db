// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALL_TREE_H
#define CALL_TREE_H

/**
 * Objects and bytes along the ways that led to their allocation, as a tree.
 *
 *	from main down                    from sites up
 *	main (app.c:44)                   node_new (app.c:12)
 *	└─add (app.c:20)                  └─add (app.c:20)
 *	  └─node_new (app.c:12)             └─main (app.c:44)
 *
 * A node is a place in the code below its parent; it counts all objects that came by this
 * way. Calls of one line are one place, whatever their addresses. An object without a
 * backtrace is below the root by its site alone. Building is linear in objects and steps;
 * from sites up, in the lengths of all different backtraces.
 */

#include "shell/base/session.h"

struct call_tree_node {
	uint32_t place;  /**< a call, or call_count + a site */
	uint32_t parent; /**< with a lower number; [0] is the root of all */
	uint32_t child;  /**< the first, or 0 */
	uint32_t next;   /**< the next of the same parent, or 0 */
	uint64_t objects;
	uint64_t bytes;
};

struct call_tree {
	struct call_tree_node *nodes; /**< [count] */
	uint32_t count, capacity;
	uint32_t *slots; /**< hash table by parent and place; private */
	uint32_t slot_count;
	uint64_t own;     /**< objects with a backtrace of their own */
	uint64_t similar; /**< with that of the first of their site and size */
	uint64_t bare;    /**< with their site alone */
};

/**
 * Needs SIZE, SITE and BACKTRACE.
 *
 * @param from_sites  whether to go from sites up, instead of from main down
 */
HEAP_MUST_CHECK
struct heap_error *call_tree_init(struct call_tree *result, struct session *session,
				  bool from_sites);

void call_tree_deinit(struct call_tree *tree);

/** "node_new (app.c:12)". */
const char *call_tree_describe(struct session *session, uint32_t place);

/** Whether the code there was inlined into what called it. */
bool call_tree_is_inlined(const struct session *session, uint32_t place);

#endif
