// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_REPETITIONS_H
#define HEAP_REPETITIONS_H

/**
 * The pointers in a block of a type, whatever its size: an array of values, or a header in front of
 * an array of elements.
 *
 *	type   T │ T │ T │ …        header │ element │ element │ …
 *	       └ stride ┘                  └ flexible_stride ┘
 */

#include "lib/types/slots.h"

struct heap_repetition {
	const struct heap_slots *slots; /**< of one value; NULL until it is computed */
	uint64_t stride;
	const struct heap_slots *flexible_slots; /**< of an element; NULL: there is no header */
	uint64_t flexible_offset;
	uint64_t flexible_stride;
};

/** The repetitions of each type, computed on demand. */
struct heap_repetitions {
	const struct heap_slot_table *table;
	struct heap_repetition *known; /**< [types] */
};

/** @param table  must live as long as the result */
HEAP_MUST_CHECK
struct heap_error *heap_repetitions_init(struct heap_repetitions *repetitions,
					 const struct heap_slot_table *table);

void heap_repetitions_deinit(struct heap_repetitions *repetitions);

/** Finds the repetition of a type. @param result  lives as long as the repetitions */
HEAP_MUST_CHECK
struct heap_error *heap_repetitions_find(struct heap_repetitions *repetitions, heap_type_id type,
					 const struct heap_repetition **result);

/** True if there is any pointer. */
static inline bool heap_repetition_has_slots(const struct heap_repetition *repetition)
{
	return repetition->slots->count > 0 ||
	       (repetition->flexible_slots && repetition->flexible_slots->count > 0);
}

/**
 * True if the value or element that an offset lies in ends within a block of a size. Bytes behind the last
 * one are the allocator's. The first value always counts: the block has its type.
 */
static inline bool heap_repetition_has_room(const struct heap_repetition *repetition,
					    uint64_t offset, uint64_t size)
{
	uint64_t start = 0, stride = repetition->stride;

	if (repetition->flexible_slots && offset >= repetition->flexible_offset) {
		start = repetition->flexible_offset;
		stride = repetition->flexible_stride;
	} else if (offset < stride) {
		return true;
	}
	if (stride == 0 || offset >= size)
		return stride == 0;
	offset -= (offset - start) % stride;
	return stride <= size - offset;
}

/** Where the place at an offset of a block lies in the first value, or in the first element behind the header. */
static inline uint64_t heap_repetition_first(const struct heap_repetition *repetition,
					     uint64_t offset)
{
	uint64_t header = repetition->flexible_offset;

	if (repetition->flexible_slots && offset >= header)
		return header + (offset - header) % repetition->flexible_stride;
	return repetition->stride > 0 && offset >= repetition->stride ? offset % repetition->stride
								      : offset;
}

/** The slots at an offset of a block: [*first, *end) of the result; NULL if there are none. */
static inline const struct heap_slots *heap_repetition_slots_at(
	const struct heap_repetition *repetition, uint64_t offset, uint32_t *first, uint32_t *end)
{
	const struct heap_slots *slots = repetition->slots;

	offset = heap_repetition_first(repetition, offset);
	if (repetition->flexible_slots && offset >= repetition->flexible_offset) {
		slots = repetition->flexible_slots;
		offset -= repetition->flexible_offset;
	}
	*end = heap_slots_at(slots, offset, first);
	return *first < *end ? slots : NULL;
}

#endif
