// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/repetitions.h"

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
