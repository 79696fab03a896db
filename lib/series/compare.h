// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_COMPARE_H
#define HEAP_COMPARE_H

/**
 * Compares two snapshots of a process, object by object.
 *
 *	before   a ──── b ──── c            after   a ──── B ────────── d     e
 *	         kept   grown  freed                kept   grown       added  moved
 *
 * An object is the same if its address and birth are. Memory that is freed and allocated again has
 * another birth, since each snapshot begins a new birth epoch. realloc() keeps the birth. So an
 * object that is missing in the first snapshot, but was born before it, has been moved by realloc().
 *
 * Where births are not known, contents have to be alike (identity.h), and an object that was moved
 * counts as added.
 *
 * Snapshots of different processes have no object in common.
 */

#include "lib/snapshot/snapshot.h"

enum heap_change {
	HEAP_CHANGE_KEPT,
	HEAP_CHANGE_RESIZED, /**< in place */
	HEAP_CHANGE_MOVED,   /**< in the second snapshot: was in the first, at another address */
	HEAP_CHANGE_ADDED,   /**< in the second snapshot */
	HEAP_CHANGE_FREED,   /**< in the first snapshot: freed, or moved */
	HEAP_CHANGES,
};

struct heap_comparison {
	struct heap_snapshot *before, *after;
	heap_object_id *earlier; /**< [after's objects] the same object before, or HEAP_NO_OBJECT */
	heap_object_id *later;   /**< [before's objects] the same object after, or HEAP_NO_OBJECT */
};

/**
 * Compares two snapshots, which must outlive the result, and loads their addresses, sizes and births.
 * Takes linear time, and 4 bytes for each object.
 */
HEAP_MUST_CHECK
struct heap_error *heap_comparison_init(struct heap_comparison *result,
					struct heap_snapshot *before, struct heap_snapshot *after);

void heap_comparison_deinit(struct heap_comparison *comparison);

/** The change of an object of the second snapshot: anything but FREED. */
enum heap_change heap_comparison_change(const struct heap_comparison *comparison,
					heap_object_id object);

#endif
