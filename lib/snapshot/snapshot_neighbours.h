// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_NEIGHBOURS_H
#define HEAP_SNAPSHOT_NEIGHBOURS_H

/** Columns that are loaded in part, for some objects and their edges. Private to this room. */

#include "lib/snapshot/snapshot.h"

/** True if a column (one of enum heap_columns) is loaded in part. */
bool heap_snapshot_is_partial(const struct heap_snapshot *snapshot, unsigned column);

/** Frees those of the columns that are loaded in part. */
void heap_snapshot_drop_partial(struct heap_snapshot *snapshot, unsigned columns);

/** NULL is fine. */
void heap_neighbours_destroy(struct heap_neighbours *neighbours);

#endif
