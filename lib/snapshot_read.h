// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_READ_H
#define HEAP_SNAPSHOT_READ_H

/** What the parts that read a snapshot share: tables, columns, contents. */

#include "lib/file.h"
#include "lib/snapshot.h"
#include "lib/snapshot_tables.h"

/** A section that must be there. Its count has been checked, and may be allocated by. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_section(const struct heap_snapshot *snapshot, uint32_t tag,
					 const struct heap_section **result);

/** Reads a table and checks its fields. One that older snapshots lack stays empty. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_table(struct heap_snapshot *snapshot,
					    const struct heap_table *table);

/** Puts the snapshot's path before an error's message. NULL stays NULL. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_within(const struct heap_snapshot *snapshot,
					struct heap_error *error);

/** NULL is fine. */
void heap_contents_destroy(struct heap_contents *contents);

#endif
