// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SPARSE_COLUMN_H
#define SPARSE_COLUMN_H

/**
 * A column in which most values are 0: only the others take memory.
 *
 *	groups    bits    0100000001000100…    of 64 places: those whose value is not 0
 *	          values  ─▶ 7 3 9             these, in order
 *
 * A place costs 2 bits, and a value that is not 0 about 5 bytes. Where more than half of the places have one, an array
 * takes less time, and hardly more memory.
 */

#include "lib/base/bits.h"
#include "lib/base/error.h"
#include "lib/base/prefetch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	SPARSE_GROUP = 64, /**< places */
};

struct sparse_group {
	uint64_t bits;
	uint32_t *values;
};

/** Zeros: a column without places. */
struct sparse_column {
	struct sparse_group *groups; /**< [group_count] */
	size_t group_count;
};

/** Makes a column of zeros. sparse_column_deinit() frees it, also after an error. */
HEAP_MUST_CHECK
struct heap_error *sparse_column_init(struct sparse_column *column, size_t count);

void sparse_column_deinit(struct sparse_column *column);

/** Makes room for @p count places; the new ones have 0. */
HEAP_MUST_CHECK
struct heap_error *sparse_column_grow(struct sparse_column *column, size_t count);

/** True if the value of a place is not 0. */
static inline bool sparse_column_has(const struct sparse_column *column, size_t at)
{
	return column->groups[at / SPARSE_GROUP].bits >> at % SPARSE_GROUP & 1;
}

/** The number of values in a group that come before that of a place. */
static inline uint32_t sparse_group_rank(const struct sparse_group *group, size_t at)
{
	uint64_t before = ((uint64_t)1 << at % SPARSE_GROUP) - 1;

	return heap_bits_count(group->bits & before);
}

/** The value of a place. */
static inline uint32_t sparse_column_get(const struct sparse_column *column, size_t at)
{
	const struct sparse_group *group = &column->groups[at / SPARSE_GROUP];

	return sparse_column_has(column, at) ? group->values[sparse_group_rank(group, at)] : 0;
}

/**
 * Sets the value of a place. One that is 0 already, and stays it, costs nothing.
 *
 * @return NULL, or HEAP_ERROR_MEMORY: the column is as it was. Never if the value was not 0 before.
 */
HEAP_MUST_CHECK
struct heap_error *sparse_column_set(struct sparse_column *column, size_t at, uint32_t value);

/** Prefetches what tells whether a place has a value. */
static inline void sparse_column_prefetch(const struct sparse_column *column, size_t at)
{
	heap_prefetch(&column->groups[at / SPARSE_GROUP]);
}

/** Prefetches the value of a place that has one. */
static inline void sparse_column_prefetch_value(const struct sparse_column *column, size_t at)
{
	const struct sparse_group *group = &column->groups[at / SPARSE_GROUP];

	heap_prefetch(&group->values[sparse_group_rank(group, at)]);
}

/** The first place from one on, before @p end, whose value is not 0; @p end if there is none. */
static inline size_t sparse_column_next(const struct sparse_column *column, size_t at, size_t end)
{
	while (at < end) {
		uint64_t bits = column->groups[at / SPARSE_GROUP].bits >> at % SPARSE_GROUP;

		if (bits) {
			at += (size_t)__builtin_ctzll(bits);
			break;
		}
		at += SPARSE_GROUP - at % SPARSE_GROUP;
	}
	return at < end ? at : end;
}

#endif
