// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_MERGE_H
#define EXPORT_MERGE_H

/**
 * A graph of fewer nodes: objects that retain little are merged, by class, below the nearest
 * object or root that holds them alone.
 *
 *	table ─▶ a node, a node, ... a text each          table ─▶ struct node (merged), 1204
 *	                                                        └▶ char[] (merged), 1204
 *
 * Retained sizes do not change: an object's dominators never retain less than the object, so the owner of a
 * merged object remains; and an object that was reached only through merged ones is adopted by its nearest
 * remaining dominator.
 */

#include "lib/base/hash_table.h"
#include "shell/export/export.h"
#include "shell/export/texts.h"

/** Owners that are no nodes of the dominator tree. */
#define EXPORT_OWNER_SEVERAL HEAP_NO_NODE
#define EXPORT_OWNER_NONE (HEAP_NO_NODE - 1) /**< leaked */

struct export_merge {
	uint32_t *group; /**< [nodes] in groups; UINT32_MAX: not merged */
	struct export_merge_group {
		heap_node_id owner;
		uint32_t class; /**< in texts: "struct node (merged)" */
		uint64_t objects;
		uint64_t bytes;
	} * groups; /**< [group_count] */
	uint32_t group_count, group_capacity;
	uint8_t *is_adopted; /**< [nodes] not merged, but something merged points to it */
	struct heap_hash_table by_owner; /**< private: groups by owner and class */
};

/**
 * @param nodes  blocks and parts, of session->divided, with edges
 * @param min    bytes; objects that retain less are merged; 0: none is */
HEAP_MUST_CHECK
struct heap_error *export_merge_init(struct export_merge *result, struct session *session,
				     const struct heap_snapshot *nodes, uint64_t min,
				     struct export_texts *texts);

void export_merge_deinit(struct export_merge *merge);

static inline bool export_is_merged(const struct export_merge *merge, heap_node_id object)
{
	return merge->group[object] != UINT32_MAX;
}

#endif
