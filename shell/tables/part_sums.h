// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PART_SUMS_H
#define PART_SUMS_H

/**
 * Sums of the parts of pools that match a filter, and of the pools that they lie in.
 *
 * A pool is one block to its allocator: its parts become free with it.
 */

#include "shell/base/session.h"

#include "lib/query/filter.h"

/** How much some parts take, in bytes. */
struct part_sums {
	uint64_t parts;
	uint64_t bytes; /**< what nested parts have in common counts once */
	uint64_t pools; /**< blocks that have at least one of the parts */
	uint64_t pool_bytes;
	heap_object_id pool; /**< private: that of the last part, if there was one */
	uint64_t end;        /**< private: of its bytes that have been counted */
};

/** Adds a part. Those of a pool are added one after the other, by offset. */
void part_sums_add(struct part_sums *sums, const struct heap_snapshot *snapshot,
		   const struct heap_part *part);

/**
 * Adds up the parts that match. Needs SIZE; without PARTS there are none.
 *
 * @param set  a bit for each node of @p divided: of objects that match as wholes, whose parts do not count;
 *             gets those of the parts
 */
struct part_sums part_sums_of_filter(const struct heap_divided *divided, struct heap_filter *filter,
				     uint8_t *set);

/** Prints a line, and numbers into the open JSON object; nothing if there are no parts. */
void part_sums_print(struct session *session, const struct part_sums *sums);

#endif
