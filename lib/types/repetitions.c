// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/repetitions.h"

#include "lib/base/search.h"

#include <stdlib.h>

struct heap_error *heap_repetitions_init(struct heap_repetitions *repetitions,
					 const struct heap_slot_table *table)
{
	repetitions->table = table;
	repetitions->known = calloc(table->types->count, sizeof(*repetitions->known));
	return repetitions->known ? NULL : heap_error_out_of_memory();
}

void heap_repetitions_deinit(struct heap_repetitions *repetitions)
{
	free(repetitions->known);
}

struct heap_error *heap_repetitions_find(struct heap_repetitions *repetitions, heap_type_id type,
					 const struct heap_repetition **result)
{
	const struct heap_slot_table *table = repetitions->table;
	struct heap_repetition found = { .stride = heap_types_size(table->types, type) };
	heap_type_id element;

	*result = &repetitions->known[type];
	if (repetitions->known[type].slots)
		return NULL;
	if (heap_types_flexible(table->types, type, &found.flexible_offset, &element)) {
		element = heap_types_strip(table->types, element);
		found.flexible_stride = heap_types_size(table->types, element);
		if (found.flexible_stride > 0) {
			found.flexible_slots = heap_slot_table_get(table, element);
			if (!found.flexible_slots)
				return heap_error_out_of_memory();
		}
	}
	found.slots = heap_slot_table_get(table, type);
	if (!found.slots)
		return heap_error_out_of_memory();
	repetitions->known[type] = found;
	return NULL;
}

bool heap_repetition_has_slots(const struct heap_repetition *repetition)
{
	return repetition->slots->count > 0 ||
	       (repetition->flexible_slots && repetition->flexible_slots->count > 0);
}

bool heap_repetition_has_room(const struct heap_repetition *repetition, uint64_t offset,
			      uint64_t size)
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

const struct heap_slots *heap_repetition_slots_at(const struct heap_repetition *repetition,
						  uint64_t offset, uint32_t *first, uint32_t *end)
{
	const struct heap_slots *slots = repetition->slots;

	if (repetition->flexible_slots && offset >= repetition->flexible_offset) {
		slots = repetition->flexible_slots;
		offset = (offset - repetition->flexible_offset) % repetition->flexible_stride;
	} else if (repetition->stride > 0 && offset >= repetition->stride) {
		offset %= repetition->stride;
	}
	*end = heap_slots_at(slots, offset, first);
	return *first < *end ? slots : NULL;
}
