// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_IDENTITY_H
#define HEAP_IDENTITY_H

/**
 * Tells if two snapshots are of one process, and if two objects in them are the same.
 *
 * With the library in the process, both are certain: it records when the process began, and when
 * each block was allocated. A snapshot taken from outside (heap_origin) knows neither exactly.
 * There, two objects at one address count as the same if their contents are alike, so memory that
 * was freed and allocated again with similar contents is not recognized as new.
 */

#include "lib/snapshot/snapshot.h"

/** True if the births of objects are known. */
bool heap_knows_births(const struct heap_snapshot *snapshot);

/** True if the snapshots with these are of one process. */
bool heap_is_one_process(const struct heap_info *a, const struct heap_info *b);

/**
 * Compares two objects at one address. They are the same if their births agree. If births are not known,
 * at least half of the words other than 0 among their first bytes must agree; contents that were not kept
 * agree with any. Fast in ascending order of objects.
 *
 * @param a, b  with their births loaded
 */
HEAP_MUST_CHECK
struct heap_error *heap_is_one_object(struct heap_snapshot *a, heap_object_id in_a,
				      struct heap_snapshot *b, heap_object_id in_b, bool *result);

#endif
