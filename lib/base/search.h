// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SEARCH_H
#define HEAP_SEARCH_H

/** Searching arrays: binary search, its order of numbers, and what is not 0. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * The first index in [@p first, @p end) for which a condition does not hold, or @p end; the
 * condition must hold for a prefix of the range only (std::partition_point). So the first module
 * that ends behind an address is
 *
 *	heap_partition_point(i, 0, count, modules[i].end <= address)
 *
 * @param index      the name of the variable that the condition refers to, of the type of @p end
 * @param condition  evaluated log2(end - first) times
 */
#define heap_partition_point(index, first, end, condition) \
	({ \
		typeof((end) + 0) low_ = (first), high_ = (end); \
		while (low_ < high_) { \
			const typeof(low_) index = low_ + (high_ - low_) / 2; \
			if (condition) \
				low_ = index + 1; \
			else \
				high_ = index; \
		} \
		low_; \
	})

/**
 * The first index from one on, before @p end, whose value is not 0; @p end if there is none. For columns in which most
 * values are 0.
 */
static inline uint32_t heap_next_set_u32(const uint32_t *values, uint32_t at, uint32_t end)
{
	uint64_t two[2];

	for (; end - at >= 4; at += 4) {
		memcpy(two, &values[at], sizeof(two));
		if ((two[0] | two[1]) != 0)
			break;
	}
	while (at < end && values[at] == 0)
		at++;
	return at;
}

/** Compares two uint64_t, for qsort() and bsearch(). */
static inline int heap_order_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/** The index of the first of @p count sorted numbers that is not less than @p key, or @p count. */
static inline size_t heap_lower_bound_u32(const uint32_t *sorted, size_t count, uint32_t key)
{
	size_t first = 0;

	// Which half it is cannot be predicted, so that a multiplication takes less time than a branch.
	while (count > 1) {
		size_t half = count / 2;

		first += half * (sorted[first + half - 1] < key);
		count -= half;
	}
	return first + (count == 1 && sorted[first] < key);
}

/** The same for 64 bits. */
static inline size_t heap_lower_bound_u64(const uint64_t *sorted, size_t count, uint64_t key)
{
	return heap_partition_point(i, 0, count, sorted[i] < key);
}

/** True if @p key is one of @p count sorted numbers. */
static inline bool heap_sorted_has_u32(const uint32_t *sorted, size_t count, uint32_t key)
{
	size_t at = heap_lower_bound_u32(sorted, count, key);

	return at < count && sorted[at] == key;
}

/** The same for 64 bits. */
static inline bool heap_sorted_has_u64(const uint64_t *sorted, size_t count, uint64_t key)
{
	size_t at = heap_lower_bound_u64(sorted, count, key);

	return at < count && sorted[at] == key;
}

#endif
