// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_types.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_types_reader.h"
#include "lib/types/types_index.h"

#include <stdlib.h>

// The unit's DIEs, and those of other units that were read along.
HEAP_MUST_CHECK
static struct heap_error *gather_entries(const struct heap_types_reader *reader,
					 struct heap_unit_types *result)
{
	size_t count = 0;

	for (size_t i = 0; i < reader->units->count; i++)
		count += reader->states[i].count;
	result->dies = calloc(count + 1, sizeof(*result->dies));
	if (!result->dies)
		return heap_error_out_of_memory();
	result->die_capacity = count + 1;
	// Units are by place, and so are DIEs; .debug_info comes first.
	for (size_t i = 0; i < reader->units->count; i++) {
		const struct heap_types_reader_unit *unit = &reader->states[i];

		for (uint32_t j = 0; j < unit->count; j++) {
			result->dies[result->die_count].place = unit->found[j].place;
			result->dies[result->die_count++].type = unit->found[j].type;
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_unit_types(struct heap_dwarf_file *file, uint64_t place,
					  struct heap_unit_types *result)
{
	struct heap_unit_types types = { 0 };
	CLEANUP(heap_types_reader_deinit) struct heap_types_reader reader = { 0 };

	HEAP_TRY(heap_types_reader_init(&reader, file));

	const struct heap_dwarf_unit *unit = heap_dwarf_units_find(reader.units, place);

	reader.all_references = true;
	if (!unit)
		return heap_error_create(HEAP_ERROR_FORMAT, "there is no such unit");
	HEAP_TRY(heap_types_reader_read(&reader, unit, true));
	HEAP_TRY(gather_entries(&reader, &types));
	heap_types_resolve(&reader.types);
	heap_types_drop_index(&reader.types);
	types.types = keep(reader.types);
	*result = types;
	return NULL;
}

struct heap_error *heap_unit_types_read(struct heap_dwarf_file *file, uint64_t place,
					struct heap_unit_types *result)
{
	return heap_error_within(read_unit_types(file, place, result), "%s", file->path);
}

void heap_unit_types_deinit(struct heap_unit_types *types)
{
	heap_types_deinit(&types->types);
	free(types->dies);
	*types = (struct heap_unit_types){ 0 };
}

heap_type_id heap_unit_types_find(const struct heap_unit_types *types, uint64_t place)
{
	size_t at = heap_partition_point(i, 0, types->die_count, types->dies[i].place < place);

	return at < types->die_count && types->dies[at].place == place ? types->dies[at].type
								       : HEAP_NO_TYPE;
}
