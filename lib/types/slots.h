// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_SLOTS_H
#define HEAP_SLOTS_H

/**
 * The pointers inside a value of a type, computed once for each type, on demand.
 *
 * What asks for each edge of all objects is inlined, here and in repetitions.h.
 */

#include "lib/base/search.h"
#include "lib/types/types.h"

#include <stdbool.h>

/** A place inside a type that holds a pointer. */
struct heap_slot {
	uint64_t offset;
	heap_type_id pointee; /**< stripped; HEAP_NO_TYPE for void * */
	bool may_be_bytes; /**< leads to a struct, but bytes of its union may hold in its place */
};

struct heap_slots {
	struct heap_slot *list; /**< [count] by offset; of a union, several at one */
	uint32_t count;
	bool are_known; /**< private: they have been computed */
};

struct heap_slot_table {
	const struct heap_types *types;
	struct heap_slots *slots; /**< [types->count] computed on demand */
};

/** @param types  must live as long as the result */
HEAP_MUST_CHECK
struct heap_error *heap_slot_table_init(struct heap_slot_table *table,
					const struct heap_types *types);

void heap_slot_table_deinit(struct heap_slot_table *table);

/** The pointers in a value of @p type; NULL if memory is short. Thread-safe. */
const struct heap_slots *heap_slot_table_get(const struct heap_slot_table *table,
					     heap_type_id type);

/**
 * Finds the pointers at an offset of a value.
 *
 * @param first  gets the index of the first one
 * @return the index behind the last one; *first if there are none
 */
static inline uint32_t heap_slots_at(const struct heap_slots *slots, uint64_t offset,
				     uint32_t *first)
{
	uint32_t end = heap_partition_point(i, 0, slots->count, slots->list[i].offset < offset);

	*first = end;
	while (end < slots->count && slots->list[end].offset == offset)
		end++;
	return end;
}

#endif
