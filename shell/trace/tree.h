// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRACE_TREE_H
#define TRACE_TREE_H

/** Samples by the calls that led to them: from main down, or from the sites up. */

#include "lib/base/hash_table.h"
#include "shell/trace/samples.h"

struct trace_node {
	char *text; /**< the place, as displayed */
	struct trace_estimate sum;
	uint32_t parent, child, next; /**< nodes; 0: none. Children: the most bytes first */
};

struct trace_tree {
	struct trace_node *nodes; /**< [count]; [0] is the root, above all */
	uint32_t count, capacity;
	struct heap_hash_table by_text; /**< private: nodes, by parent and text */
};

/** The samples that a tree or a sum covers. */
enum trace_moment {
	TRACE_ALLOCATED, /**< all */
	TRACE_AT,        /**< samples that are live at a time */
};

/**
 * @param upwards  from the sites to their callers
 * @param depth    calls followed at most; 1 upwards: only the sites
 */
HEAP_MUST_CHECK
struct heap_error *trace_tree_init(struct trace_tree *tree, const struct trace_samples *samples,
				   enum trace_moment moment, uint64_t time_us, bool upwards,
				   uint32_t depth);

/** An empty tree, for trace_tree_add(). */
HEAP_MUST_CHECK
struct heap_error *trace_tree_begin(struct trace_tree *tree);

/** Adds a sum to each node of a path. @param texts  [count] from the root down */
HEAP_MUST_CHECK
struct heap_error *trace_tree_add(struct trace_tree *tree, const char *const *texts, size_t count,
				  const struct trace_estimate *sum);

/** Sorts the children of each node. Call it after the last trace_tree_add(). */
void trace_tree_finish(struct trace_tree *tree);

void trace_tree_deinit(struct trace_tree *tree);

#endif
