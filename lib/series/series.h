// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SERIES_H
#define HEAP_SERIES_H

/**
 * What comes and stays: objects that are new in one snapshot of a series, and are there in
 * all that follow.
 *
 *	snapshot        0    1    2    3         first seen in
 *	object a        ●────●────●────●         0: it was there from the beginning
 *	object b             ●────●────●         1: a candidate
 *	object c             ●────●              gone
 *	object d                       ●         3: nothing is left to acquit it
 *
 * An object is the same in two snapshots when address, birth, site and type agree: an
 * address that was freed and handed out again has another birth. A type that is unknown in
 * one of them contradicts nothing.
 *
 * So each object of the last snapshot needs one number, where it was first seen, and that
 * comes from the snapshot before by walking both in step. Two snapshots are open at a time,
 * however long the series is.
 */

#include "lib/snapshot/snapshot.h"

struct heap_series;

HEAP_MUST_CHECK
struct heap_error *heap_series_create(struct heap_series **result);

/** NULL is fine. */
void heap_series_destroy(struct heap_series *series);

/**
 * Goes on to the next snapshot. Linear in its objects.
 *
 * @param snapshot  the series' from now on, also on failure
 * @return NULL; HEAP_ERROR_ARGUMENT if it is of another process than the one before, or not
 *         later than that; what heap_snapshot_load() may fail with
 */
HEAP_MUST_CHECK
struct heap_error *heap_series_add(struct heap_series *series, struct heap_snapshot *snapshot);

/** How many snapshots there have been. */
uint32_t heap_series_length(const struct heap_series *series);

/** The latest snapshot; the series'. NULL before the first. */
struct heap_snapshot *heap_series_latest(const struct heap_series *series);

/** Where an object of the latest snapshot was first seen. */
uint32_t heap_series_first_seen(const struct heap_series *series, heap_object_id object);

#endif
