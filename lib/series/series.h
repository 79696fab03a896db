// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SERIES_H
#define HEAP_SERIES_H

/**
 * Finds objects that come and stay: that are new in one snapshot of a series, and in all later ones.
 *
 *	snapshot        0    1    2    3         first seen in
 *	object a        ●────●────●────●         0: there from the beginning
 *	object b             ●────●────●         1: a candidate
 *	object c             ●────●              gone
 *	object d                       ●         3: too new to tell
 *
 * An object is the same in two snapshots if its address, birth, site and type are equal. Memory that
 * was freed and allocated again has another birth. An unknown type is equal to any other. Where births
 * are not known, contents have to be alike (identity.h).
 *
 * Each object of the latest snapshot has one number, the snapshot in which it was first seen. It
 * comes from the snapshot before, by merging the two by address. So at most two snapshots are open,
 * however long the series is.
 */

#include "lib/snapshot/snapshot.h"

struct heap_series;

/** Creates one without snapshots. @return NULL or HEAP_ERROR_MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_series_create(struct heap_series **result);

/** NULL is fine. */
void heap_series_destroy(struct heap_series *series);

/**
 * Goes on to the next snapshot. Linear in its objects.
 *
 * @param snapshot  owned by the series from now on, also on failure
 * @return NULL; HEAP_ERROR_ARGUMENT if it is of another process than the one before, or not
 *         later than that; the errors of heap_snapshot_load()
 */
HEAP_MUST_CHECK
struct heap_error *heap_series_add(struct heap_series *series, struct heap_snapshot *snapshot);

/** The number of snapshots so far. */
uint32_t heap_series_length(const struct heap_series *series);

/** The latest snapshot, owned by the series; NULL before the first. */
struct heap_snapshot *heap_series_latest(const struct heap_series *series);

/** The number of the snapshot in which an object of the latest one was first seen. */
uint32_t heap_series_first_seen(const struct heap_series *series, heap_object_id object);

#endif
