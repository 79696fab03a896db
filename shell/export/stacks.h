// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_STACKS_H
#define EXPORT_STACKS_H

/**
 * Objects as the leaves of stacks, for formats that add up bytes along stacks.
 *
 *	by sites                          by owners
 *	main                              global variable sessions
 *	└─serve (app.c:30)                └─struct session        a list's nodes are one
 *	  └─session_new (app.c:12)          └─char[]
 *
 * Stacks with the same outer frames share nodes. By sites, an object without a backtrace is below the
 * root, with its site only. By owners, consecutive objects of one type are one frame, so a list of a thousand
 * nodes is no stack of a thousand frames. The innermost frame is the class.
 */

#include "lib/base/hash_table.h"
#include "shell/export/export.h"
#include "shell/export/texts.h"

struct export_frame {
	uint32_t name; /**< in texts */
	uint32_t file; /**< in texts; 0: unknown */
	uint32_t line;
	uint32_t module; /**< or HEAP_NO_INDEX */
	uint64_t address;
};

struct export_stack_node {
	uint32_t parent; /**< with a lower number; node 0 is the root */
	uint32_t frame;
	uint64_t objects; /**< that end here */
	uint64_t bytes;
};

/** Objects of one class that end at one node. */
struct export_sample {
	uint32_t node;
	uint32_t class; /**< in texts */
	uint64_t objects;
	uint64_t bytes;
};

struct export_stacks {
	struct export_texts *texts;
	struct export_frame *frames; /**< [frame_count] */
	uint32_t frame_count, frame_capacity;
	struct export_stack_node *nodes; /**< [count] */
	uint32_t count, capacity;
	struct heap_hash_table by_parent; /**< private: nodes, by parent and frame */
	/** [objects, and by owners parts of pools] node that each ends at */
	uint32_t *of_object;
	struct export_sample *samples; /**< [sample_count] by node, then by class */
	size_t sample_count;
};

/**
 * @param texts  gets the names; must outlive the result
 * @return NULL or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *export_stacks_init(struct export_stacks *result, struct session *session,
				      enum export_by by, struct export_texts *texts);

void export_stacks_deinit(struct export_stacks *stacks);

#endif
