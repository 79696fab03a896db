// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARENA_TARGETS_H
#define ARENA_TARGETS_H

/**
 * The places in blocks that pointers lead to, before any type is known. They tell which blocks the program cuts up.
 */

#include "dumper/writer/scan/capture.h"
#include "lib/base/array.h"

enum {
	ARENA_TARGETS_COUNTED = 8, /**< of a block, at most */
	ARENA_LEAST_INTERIOR = 8,  /**< bytes: a header */
};

/** A place that a pointer leads to. */
struct arena_target {
	heap_object_id object;
	uint32_t interior;
};

struct arena_targets HEAP_ARRAY(struct arena_target);

/**
 * Counts the pointers into the middle of each block.
 *
 * @param counts  gets an array [objects], up to ARENA_TARGETS_COUNTED each; to be freed
 */
HEAP_MUST_CHECK
struct heap_error *arena_targets_count(const struct capture *capture, uint8_t **counts);

/**
 * Gathers the targets in the blocks that are marked, each once, by object and place.
 *
 * @param is_marked  [objects]
 * @param least      bytes into the block: 0, or ARENA_LEAST_INTERIOR
 * @param has_own    also where the elements of an array lead into themselves
 */
HEAP_MUST_CHECK
struct heap_error *arena_targets_gather(const struct capture *capture, const bool *is_marked,
					uint64_t least, bool has_own,
					struct arena_targets *targets);

/** The number of targets, from one on, that are in the same block. */
size_t arena_targets_in_row(const struct arena_targets *targets, size_t first);

/** The targets of a block. @param count  gets their number */
const struct arena_target *arena_targets_find(const struct arena_targets *targets,
					      heap_object_id object, size_t *count);

#endif
