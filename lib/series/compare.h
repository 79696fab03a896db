// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_COMPARE_H
#define HEAP_COMPARE_H

/**
 * What became of each object between two snapshots of a process.
 *
 *	before   a ──── b ──── c            after   a ──── B ────────── d     e
 *	         kept   grown  freed                kept   grown       added  moved
 *
 * An object is the same if address and birth are: an address that is freed and handed out
 * again has another birth, since each snapshot begins a new birth epoch. realloc() keeps the
 * birth. So an object that is not in the first snapshot, and was born before it, is one that
 * realloc() has moved: it was there, elsewhere.
 *
 * Snapshots of different processes have no object in common.
 */

#include "lib/snapshot/snapshot.h"

enum heap_change {
	HEAP_CHANGE_KEPT,
	HEAP_CHANGE_RESIZED, /**< in its place */
	HEAP_CHANGE_MOVED,   /**< of the second snapshot: born before the first, elsewhere in it */
	HEAP_CHANGE_ADDED,   /**< of the second snapshot */
	HEAP_CHANGE_FREED,   /**< of the first; or moved away */
	HEAP_CHANGES,
};

struct heap_comparison {
	struct heap_snapshot *before, *after;
	heap_object_id *earlier; /**< [after's objects] the same one before, or HEAP_NO_OBJECT */
	heap_object_id *later;   /**< [before's objects] the same one after, or HEAP_NO_OBJECT */
};

/**
 * Compares two snapshots, which must outlive the result. Linear in their objects, of which
 * it loads addresses, sizes and births; 4 bytes for each.
 */
HEAP_MUST_CHECK
struct heap_error *heap_comparison_init(struct heap_comparison *result,
					struct heap_snapshot *before, struct heap_snapshot *after);

void heap_comparison_deinit(struct heap_comparison *comparison);

/** Whether both are of one process. */
bool heap_comparison_is_of_one(const struct heap_snapshot *a, const struct heap_snapshot *b);

/** What became of an object of the second snapshot: anything but FREED. */
enum heap_change heap_comparison_change(const struct heap_comparison *comparison,
					heap_object_id object);

#endif
