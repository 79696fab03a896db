// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FLOOD_H
#define HEAP_FLOOD_H

/**
 * What can be reached from some objects, level by level.
 *
 *	level 0     1       2           met: a bit for each object of these
 *	      a ──▶ b ──▶ d
 *	      └───▶ c ──┘
 *
 * Method: breadth-first search. What is met is a bit, and so is what belongs to a level of many
 * objects: such a level is gone through by ascending number, so that objects and their pointers
 * are read in the order in which they lie in memory, by several threads; each notes what it
 * meets in bits of its own. Only bits are looked up at random, and those fit into caches where
 * numbers of 32 bits do not. A level of few objects is a list, since long lists have as many
 * levels as elements.
 */

#include "lib/base/error.h"
#include "lib/base/progress.h"
#include "lib/snapshot/snapshot.h"

enum {
	HEAP_FLOOD_SHARES = 4, /**< threads, at most */
};

/** The objects of a level. */
struct heap_flood_level {
	heap_object_id *list; /**< [capacity] unless it is wide */
	size_t count;
	bool is_wide; /**< they are bits of flood->wide */
};

struct heap_flood {
	uint64_t *met; /**< [words] bit o % 64 of word o / 64: object o has been met */
	size_t words;
	size_t met_count;

	/* private */
	const struct heap_snapshot *snapshot;
	uint64_t *wide;                    // [words] 0 unless the level is wide
	uint64_t *next[HEAP_FLOOD_SHARES]; // [words] what each thread meets; 0 between levels
	unsigned shares;
	struct heap_flood_level level, after;
	size_t capacity; // of lists
	size_t reported; // of met_count
};

/** How to go on. */
struct heap_flood_way {
	const uint8_t *edges; /**< [edges] a bit for each that it may go by; or NULL: by all */
	uint32_t *distance;   /**< [objects] is given the level of what is met; or NULL */
	uint32_t first_level; /**< the number of the first level, in distance */
	const struct heap_progress *progress; /**< or NULL */
	const char *what;                     /**< for progress */
};

/**
 * Nothing has been met. Takes a byte for each object at most.
 *
 * @param snapshot  with EDGES; must outlive the flood
 */
HEAP_MUST_CHECK
struct heap_error *heap_flood_init(struct heap_flood *flood, const struct heap_snapshot *snapshot);

void heap_flood_deinit(struct heap_flood *flood);

/** Adds an object to the first level, unless it has been met. */
void heap_flood_add(struct heap_flood *flood, heap_object_id object);

/** Makes all that has been met the first level, to go on another way. */
void heap_flood_again(struct heap_flood *flood);

/**
 * Meets all that the first level leads to. Linear.
 *
 * @return NULL or HEAP_ERROR_INTERRUPTED: it is of no more use
 */
HEAP_MUST_CHECK
struct heap_error *heap_flood_run(struct heap_flood *flood, const struct heap_flood_way *way);

static inline bool heap_flood_has(const struct heap_flood *flood, heap_object_id object)
{
	return flood->met[object / 64] >> object % 64 & 1;
}

#endif
