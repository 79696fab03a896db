// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DIFFERENCE_H
#define DIFFERENCE_H

/**
 * Changes between two snapshots, by kinds of objects: for heapsh-diff and `count --delta`.
 *
 *	     objects         bytes     added     freed      kept   resized  type, site
 *	         +20        +800 B        30        10       300         0  struct session, ...
 */

#include "lib/series/census.h"
#include "lib/series/compare.h"
#include "shell/tables/tally.h"

struct difference_row {
	heap_kind_id kind;
	struct heap_amount of[HEAP_CHANGES]; /**< RESIZED, MOVED: bytes as they are now */
	uint64_t resized_from;               /**< bytes that the resized ones had */
	/** objects that are in both, but not in the same row: their type was found by other evidence,
	 *  or a block without a type has another size. They are no part of KEPT. */
	struct heap_amount retyped_to, retyped_from;
};

struct difference {
	struct heap_census *census;  /**< of two snapshots: names, and totals before and after */
	struct difference_row *rows; /**< [row_count] those that have changed most first */
	size_t row_count;
	bool has_retyped;
};

/** @param result  filled on success; difference_deinit() is the caller's */
HEAP_MUST_CHECK
struct heap_error *difference_init(struct difference *result,
				   const struct heap_comparison *comparison, struct session *before,
				   struct session *after, enum tally_by by);

void difference_deinit(struct difference *difference);

/** Says it all, as text and JSON. @param all  also kinds that have not changed */
void difference_print(const struct difference *difference, struct session *session,
		      enum tally_by by, uint64_t limit, bool all);

/** "+12", "-3", "0". */
const char *difference_number(struct session *session, uint64_t before, uint64_t after);

/** "+1.2 KiB", "-3 B", "0 B". */
const char *difference_bytes(struct session *session, uint64_t before, uint64_t after);

#endif
