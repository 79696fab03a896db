// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PATHS_H
#define HEAP_PATHS_H

/**
 * Shortest paths from a root to an object.
 *
 *	root ─ root edge ─▶ object ─ edge ─▶ object ─ edge ─▶ the object
 *
 * Among several shortest paths, one from a root with a name goes before those from words of stacks
 * and segments, and one of the surest level (enum heap_root_level) before the others; then the one with the fewest doubtful pointers, which are those that no type calls
 * pointers and those into the middle of an object; then the one by the first pointers.
 */

#include "lib/graph/divided.h"

struct heap_path {
	uint64_t root_edge; /**< in snapshot->root_edges */
	uint32_t *edges;    /**< [count] in the snapshot's edges, from the root's object on */
	size_t count;
	uint32_t last; /**< private: the last edge, among those of the nodes that were searched */
};

/**
 * A pass over the edges for each of the first levels, or one over reverse edges if the graph has
 * them; 12 bytes per object at most while it works. Loads HEAP_COLUMN_QUALITY.
 *
 * @param result  filled if there is a path; heap_path_deinit() frees it
 * @return NULL, HEAP_ERROR_ABSENT if no root reaches the object, HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_path_find(struct heap_graph *graph, heap_object_id object,
				  struct heap_path *result);

/** Limits of a search, and the parts of pools that it tells apart. */
struct heap_path_limits {
	/**
	 * The parts of the same snapshot: a path that leads into a part of a pool leads out of that one, and the object may
	 * be a part. NULL: it may leave a pool by any pointer.
	 */
	const struct heap_divided *divided;
	bool typed_only;             /**< only by pointers of typed objects and variables */
	const uint8_t *no_edge;      /**< a bit per edge that no path may use; or NULL */
	const uint8_t *no_root_edge; /**< the same for root edges */
};

/** The same among paths within limits. */
HEAP_MUST_CHECK
struct heap_error *heap_path_find_within(struct heap_graph *graph, heap_node_id object,
					 const struct heap_path_limits *limits,
					 struct heap_path *result);

/**
 * Finds up to @p limit paths to an object, each by another referrer: typed ones first, then the
 * others, of both the shortest first.
 *
 * @param divided  see struct heap_path_limits, or NULL
 * @param no_edge  a bit per edge that no path may use, or NULL
 * @param result   [limit] filled from its start; the caller frees each by heap_path_deinit()
 * @param count    gets their number
 * @return NULL, also if there is none; HEAP_ERROR_MEMORY, HEAP_ERROR_INTERRUPTED
 */
HEAP_MUST_CHECK
struct heap_error *heap_paths_find(struct heap_graph *graph, const struct heap_divided *divided,
				   heap_node_id object, const uint8_t *no_edge, size_t limit,
				   struct heap_path *result, size_t *count);

/**
 * Marks edges that leave objects of a type, or of a class that has it as a base, by one of its
 * fields.
 *
 * @param name  TYPE.FIELD, as "struct session.next" or "table.list.next"; the field as
 *              heap_member_find() takes it
 * @param bits  a bit per edge
 * @return NULL; HEAP_ERROR_ARGUMENT, HEAP_ERROR_ABSENT: there is no such type or field; what
 *         heap_snapshot_load() says
 */
HEAP_MUST_CHECK
struct heap_error *heap_path_mark_field(struct heap_snapshot *snapshot, const char *name,
					uint8_t *bits);

void heap_path_deinit(struct heap_path *path);

#endif
