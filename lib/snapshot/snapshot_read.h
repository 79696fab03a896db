// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SNAPSHOT_READ_H
#define HEAP_SNAPSHOT_READ_H

/** Shared by the modules that read snapshots: sections, tables, values. Private to this room. */

#include "lib/file/file.h"
#include "lib/snapshot/snapshot.h"
#include "lib/snapshot/snapshot_tables.h"

/** Finds a section that must be there. Its count has been checked, and is safe to allocate by. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_section(const struct heap_snapshot *snapshot, uint32_t tag,
					 const struct heap_section **result);

/** The same for a section that must have @p count values. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_counted_section(const struct heap_snapshot *snapshot, uint32_t tag,
						 uint64_t count,
						 const struct heap_section **result);

/** Reads a table and checks its fields. A table that older snapshots lack stays empty. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_table(struct heap_snapshot *snapshot,
					    const struct heap_table *table);

/** Puts the snapshot's path before an error's message. NULL stays NULL. */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_within(const struct heap_snapshot *snapshot,
					struct heap_error *error);

/** Decodes values [first, first + count) of a section. @param width  bytes of a value: 1, 4 or 8 */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_read_values(const struct heap_snapshot *snapshot,
					     const struct heap_section *section, uint8_t width,
					     uint64_t first, uint64_t count, void *values);

/** Checks that values of objects, from @p start on, are in range. @param values  [count] */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_check_values(const struct heap_snapshot *snapshot, uint32_t tag,
					      uint32_t start, uint32_t count, const void *values);

/** Sums differences up to slots, for the edges of objects [start, end). @param values  [edges] */
HEAP_MUST_CHECK
struct heap_error *heap_snapshot_add_slots(const struct heap_snapshot *snapshot, uint32_t start,
					   uint32_t end, uint32_t *values);

/** NULL is fine. */
void heap_contents_destroy(struct heap_contents *contents);

#endif
