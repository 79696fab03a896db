// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PATH_TREE_H
#define HEAP_PATH_TREE_H

/**
 * The best path from a root to each of many objects: one search from all roots, and then as many
 * steps as a path has.
 *
 * The paths are as good as those of heap_path_find() (see paths.h), but may differ among equally
 * good ones.
 */

#include "lib/graph/paths.h"

struct heap_path_tree {
	const struct heap_graph *graph;
	/** [objects] the last pointer of the path: an edge, or where `direct` has a bit a root edge */
	uint32_t *last;
	uint8_t *direct;  /**< [objects / 8 + 1] */
	uint8_t *visited; /**< [objects / 8 + 1] the objects that have a path */
};

/**
 * One pass over the edges; 4 bytes per object, and 8 more while it works.
 *
 * @param graph       must outlive the result
 * @param typed_only  only paths by pointers of typed objects and variables
 */
HEAP_MUST_CHECK
struct heap_error *heap_path_tree_init(struct heap_path_tree *result, struct heap_graph *graph,
				       bool typed_only);

void heap_path_tree_deinit(struct heap_path_tree *tree);

/**
 * @param result  filled if there is a path; heap_path_deinit() frees it
 * @return NULL, HEAP_ERROR_ABSENT if there is none, HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_path_tree_find(const struct heap_path_tree *tree, heap_object_id object,
				       struct heap_path *result);

#endif
