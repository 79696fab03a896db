// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/repetitions.h"

#include <stdlib.h>

struct heap_error *repetitions_init(struct repetitions *repetitions, const struct layouts *layouts)
{
	repetitions->layouts = layouts;
	repetitions->known = calloc(layouts->types->count, sizeof(*repetitions->known));
	return repetitions->known ? NULL : heap_error_out_of_memory();
}

void repetitions_deinit(struct repetitions *repetitions)
{
	free(repetitions->known);
}

struct heap_error *repetitions_find(struct repetitions *repetitions, heap_type_id type,
				    const struct repetition **result)
{
	const struct layouts *layouts = repetitions->layouts;
	struct repetition found = { .stride = heap_types_size(layouts->types, type) };
	heap_type_id element;

	*result = &repetitions->known[type];
	if (repetitions->known[type].slots)
		return NULL;
	if (heap_types_flexible(layouts->types, type, &found.flexible_offset, &element)) {
		element = heap_types_strip(layouts->types, element);
		found.flexible_stride = heap_types_size(layouts->types, element);
		if (found.flexible_stride > 0) {
			found.flexible_slots = layouts_slots(layouts, element);
			if (!found.flexible_slots)
				return heap_error_out_of_memory();
		}
	}
	found.slots = layouts_slots(layouts, type);
	if (!found.slots)
		return heap_error_out_of_memory();
	repetitions->known[type] = found;
	return NULL;
}

bool repetition_has_slots(const struct repetition *repetition)
{
	return repetition->slots->count > 0 ||
	       (repetition->flexible_slots && repetition->flexible_slots->count > 0);
}

static uint32_t find_slots(const struct layout_slots *slots, uint64_t offset, uint32_t *first)
{
	uint32_t low = 0, high = slots->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (slots->slots[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	*first = low;
	while (low < slots->count && slots->slots[low].offset == offset)
		low++;
	return low;
}

const struct layout_slots *repetition_slots_at(const struct repetition *repetition, uint64_t offset,
					       uint32_t *first, uint32_t *end)
{
	const struct layout_slots *slots = repetition->slots;

	if (repetition->flexible_slots && offset >= repetition->flexible_offset) {
		slots = repetition->flexible_slots;
		offset = (offset - repetition->flexible_offset) % repetition->flexible_stride;
	} else if (repetition->stride > 0 && offset >= repetition->stride) {
		offset %= repetition->stride;
	}
	*end = find_slots(slots, offset, first);
	return *first < *end ? slots : NULL;
}
