// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CALL_TREE_H
#define CALL_TREE_H

/**
 * Objects and bytes along the paths that led to their allocation, as a tree.
 *
 *	from main down                    from sites up
 *	main (app.c:44)                   node_new (app.c:12)
 *	└─add (app.c:20)                  └─add (app.c:20)
 *	  └─node_new (app.c:12)             └─main (app.c:44)
 *
 * A node is a place in the code below its parent. Calls of one line are one place, whatever their
 * addresses.
 *
 * Only samples have a backtrace. The samples of a site stand for all of its
 * objects: an estimate, with a margin of error. The objects of a site without samples are below a node
 * of their own, CALL_TREE_NOT_SAMPLED. The totals of sites are exact.
 *
 * Building is linear in objects, and in the lengths of all different backtraces.
 */

#include "lib/base/hash_table.h"
#include "shell/base/session.h"

enum {
	/** In place of a place: the callers of these objects are unknown. */
	CALL_TREE_NOT_SAMPLED = UINT32_MAX,
};

struct call_tree_node {
	uint32_t place;  /**< a call, or call_count + a site */
	uint32_t parent; /**< with a lower number; [0] is the root of all */
	uint32_t child;  /**< the first, or 0 */
	uint32_t next;   /**< the next of the same parent, or 0 */
	/** For CALL_TREE_NOT_SAMPLED below a site: one of its callers; 0: none is known. */
	uint32_t caller;
	double objects;
	double bytes;
	/** Half of the 95 % confidence interval; 0: exact. */
	double object_margin, byte_margin;
	double object_share, byte_share; /**< private: of the site that is being added */
	uint32_t site;                   /**< private: that site + 1 */
};

struct call_tree {
	struct call_tree_node *nodes; /**< [count] */
	uint32_t count, capacity;
	struct heap_hash_table by_parent; /**< private: nodes, by parent and place */
	uint64_t sampled;                 /**< objects with a backtrace of their own */
	uint64_t estimated;               /**< others, of sites with samples */
	uint64_t unknown;                 /**< objects of sites without samples */
};

/**
 * Needs SIZE, SITE and BACKTRACE.
 *
 * @param from_sites  from sites up, instead of from main down
 */
HEAP_MUST_CHECK
struct heap_error *call_tree_init(struct call_tree *result, struct session *session,
				  bool from_sites);

void call_tree_deinit(struct call_tree *tree);

/** "node_new (app.c:12)"; "caller not sampled". */
const char *call_tree_describe(struct session *session, uint32_t place);

/** True if the code there was inlined into its caller. */
bool call_tree_is_inlined(const struct session *session, uint32_t place);

#endif
