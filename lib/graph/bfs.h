// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_BFS_H
#define HEAP_BFS_H

/**
 * Breadth-first search over the objects of a snapshot, level by level.
 *
 *	level 0     1       2           visited: a bit for each object of these
 *	      a ──▶ b ──▶ d
 *	      └───▶ c ──┘
 *
 * Visited objects are bits, and so are the objects of a wide level. Several threads process such a
 * level by ascending id, so that objects and their edges are read in the order of memory; each thread
 * collects the next level in bits of its own. Only bits are accessed at random, and they fit into
 * caches where 32-bit ids do not. A narrow level is a list, since a linked list has as many levels as
 * elements.
 */

#include "lib/base/error.h"
#include "lib/base/progress.h"
#include "lib/snapshot/snapshot.h"

enum {
	HEAP_BFS_SHARES = 4, /**< threads, at most */
};

/** The objects of a level. */
struct heap_bfs_level {
	heap_object_id *list; /**< [capacity] unless it is wide */
	size_t count;
	bool is_wide; /**< its objects are the bits of bfs->wide */
};

struct heap_bfs {
	uint64_t *visited; /**< [words] bit o % 64 of word o / 64: object o has been visited */
	size_t words;
	size_t visited_count;

	/* private */
	const struct heap_snapshot *snapshot;
	uint64_t *wide;                  // [words] 0 unless the level is wide
	uint64_t *next[HEAP_BFS_SHARES]; // [words] found by each thread; 0 between levels
	unsigned shares;
	struct heap_bfs_level level, after;
	size_t capacity; // of lists
	size_t reported; // of visited_count
};

/** How to search. */
struct heap_bfs_options {
	const uint8_t
		*edges; /**< [edges] a bit for each edge that may be followed; or NULL: all may */
	uint32_t *distance;   /**< [objects] gets the level of each visited object; or NULL */
	uint32_t first_level; /**< the first level's number in distance */
	const struct heap_progress *progress; /**< or NULL */
	const char *what;                     /**< the label of progress */
};

/**
 * Starts with nothing visited. Takes a byte for each object at most.
 *
 * @param snapshot  with EDGES; must outlive the search
 */
HEAP_MUST_CHECK
struct heap_error *heap_bfs_init(struct heap_bfs *bfs, const struct heap_snapshot *snapshot);

void heap_bfs_deinit(struct heap_bfs *bfs);

/** Adds an object to the first level, unless it has been visited. */
void heap_bfs_add(struct heap_bfs *bfs, heap_object_id object);

/**
 * Makes visited objects the first level, to go on by other edges.
 *
 * @param but  [words] a bit for each object that is left out; NULL: none is
 */
void heap_bfs_continue(struct heap_bfs *bfs, const uint64_t *but);

/**
 * Visits all that is reachable from the first level. Linear.
 *
 * @return NULL or HEAP_ERROR_INTERRUPTED: the search is of no more use
 */
HEAP_MUST_CHECK
struct heap_error *heap_bfs_run(struct heap_bfs *bfs, const struct heap_bfs_options *options);

static inline bool heap_bfs_has(const struct heap_bfs *bfs, heap_object_id object)
{
	return bfs->visited[object / 64] >> object % 64 & 1;
}

#endif
