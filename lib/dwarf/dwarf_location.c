// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_location.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/dwarf/dwarf_library.h"

enum {
	MAX_ENTRIES = 1 << 16, // of one list; more is damage
	VIEW_PAIR = 9,         // gcc's DW_LLE_view_pair, which has no name in libdwarf of 2021
};

struct list {
	uint64_t place;
	uint16_t attribute;
	uint32_t first, count; // in locations
	bool is_complete;
};

struct heap_dwarf_locations {
	struct heap_dwarf_code *code;
	struct HEAP_ARRAY(struct list) lists;
	struct heap_hash_table by_place; // lists
	struct HEAP_ARRAY(struct heap_dwarf_location) locations;
	struct heap_dwarf_operations operations;
	bool has_failed; // to read some of the list that is being read
};

static void destroy(void *thing)
{
	struct heap_dwarf_locations *locations = thing;

	heap_array_deinit(&locations->lists);
	heap_hash_table_deinit(&locations->by_place);
	heap_array_deinit(&locations->locations);
	heap_array_deinit(&locations->operations);
	free(locations);
}

struct heap_error *heap_dwarf_file_locations(struct heap_dwarf_file *file,
					     struct heap_dwarf_locations **result)
{
	struct heap_dwarf_kept *kept = &file->kept[HEAP_DWARF_KEPT_LOCATIONS];

	if (!kept->thing) {
		CLEANUP_FREE struct heap_dwarf_locations *locations = calloc(1, sizeof(*locations));

		if (!locations)
			return heap_error_out_of_memory();
		HEAP_TRY(heap_dwarf_file_code(file, &locations->code));
		*kept = (struct heap_dwarf_kept){ keep(locations), destroy };
	}
	*result = kept->thing;
	return NULL;
}

// --- from libdwarf ---------------------------------------------------------------------------

// Entries that only set a base address, or end the list, are no locations.
static bool is_location(Dwarf_Small kind)
{
	return kind != DW_LLE_end_of_list && kind != DW_LLE_base_addressx &&
	       kind != DW_LLE_base_address;
}

HEAP_MUST_CHECK
static struct heap_error *add_entry(struct heap_dwarf_locations *locations,
				    const struct heap_dwarf_object *object,
				    const struct heap_dwarf_dies *dies, Dwarf_Loc_Head_c head,
				    Dwarf_Unsigned index)
{
	Dwarf_Locdesc_c entry;
	Dwarf_Unsigned low, high, operations, offset, list_offset;
	struct heap_dwarf_location location = { .first = (uint32_t)locations->operations.count };
	Dwarf_Addr begin, end;
	Dwarf_Bool unavailable;
	Dwarf_Small kind, source;
	Dwarf_Error error = NULL;

	if (!heap_dwarf_object_succeeded(object,
					 dwarf_get_locdesc_entry_d(head, index, &kind, &low, &high,
								   &unavailable, &begin, &end,
								   &operations, &entry, &source,
								   &offset, &list_offset, &error),
					 error)) {
		locations->has_failed = true;
		return NULL;
	}
	// The source is 0 of an expression that is no list: it holds everywhere.
	location.is_default = source == 0 || kind == DW_LLE_default_location;
	if (!location.is_default && (!is_location(kind) || unavailable))
		return NULL;
	location.low = begin;
	location.high = end;
	HEAP_TRY(heap_dwarf_expression_append(object, entry, operations, dies,
					      &locations->operations));
	location.count = (uint32_t)locations->operations.count - location.first;
	locations->has_failed |= operations && !location.count;
	return heap_array_append(&locations->locations, location);
}

HEAP_MUST_CHECK
static struct heap_error *add_attribute(struct heap_dwarf_locations *locations,
					const struct heap_dwarf_object *object,
					const struct heap_dwarf_dies *dies,
					Dwarf_Attribute attribute)
{
	Dwarf_Error error = NULL;
	Dwarf_Loc_Head_c head;
	Dwarf_Unsigned count;
	struct heap_error *failure = NULL;

	if (!heap_dwarf_object_succeeded(
		    object, dwarf_get_loclist_c(attribute, &head, &count, &error), error))
		return NULL;
	for (Dwarf_Unsigned i = 0; !failure && i < count && i < MAX_ENTRIES; i++)
		failure = add_entry(locations, object, dies, head, i);
	heap_dwarf_dealloc_location_list(head);
	return failure;
}

struct wanted {
	uint16_t name;
	struct heap_dwarf_value value;
};

static void note_wanted(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct wanted *wanted = context;

	if (name == wanted->name)
		wanted->value = *value;
}

// Passes over what an entry of a list says before its expression. (DWARF 5, section 7.7.3; that of views is gcc's.)
// @return true if there is an expression
static bool skip_bounds(struct heap_dwarf_cursor *cursor, uint8_t kind, unsigned address_size)
{
	static const struct {
		uint8_t addresses, numbers;
		bool has_expression;
	} forms[] = {
		[DW_LLE_base_addressx] = { 0, 1, false },
		[DW_LLE_startx_endx] = { 0, 2, true },
		[DW_LLE_startx_length] = { 0, 2, true },
		[DW_LLE_offset_pair] = { 0, 2, true },
		[DW_LLE_default_location] = { 0, 0, true },
		[DW_LLE_base_address] = { 1, 0, false },
		[DW_LLE_start_end] = { 2, 0, true },
		[DW_LLE_start_length] = { 1, 1, true },
		[VIEW_PAIR] = { 0, 2, false },
	};

	if (kind >= sizeof(forms) / sizeof(*forms)) {
		cursor->bad = true;
		return false;
	}
	heap_dwarf_skip(cursor, (uint64_t)forms[kind].addresses * address_size);
	for (int i = 0; i < forms[kind].numbers; i++)
		heap_dwarf_unsigned(cursor);
	return forms[kind].has_expression;
}

// True if a list ends before its section does: libdwarf of 2021 reads on.
static bool has_end(const struct heap_dwarf_dies *dies, struct heap_dwarf_bytes section,
		    uint64_t offset)
{
	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, offset, section.size);
	uint8_t kind = 0;

	do {
		kind = (uint8_t)heap_dwarf_fixed(&cursor, 1);
		if (kind != DW_LLE_end_of_list &&
		    skip_bounds(&cursor, kind, dies->unit->address_size))
			heap_dwarf_skip(&cursor, heap_dwarf_unsigned(&cursor));
	} while (kind != DW_LLE_end_of_list && !cursor.bad);
	return !cursor.bad;
}

// libdwarf of 2021 reads a list wherever the attribute says that it is. @return true if it is
// inside its section, or if there is an expression rather than a list
static bool is_inside(const struct heap_dwarf_dies *dies, const struct heap_dwarf_value *value)
{
	bool is_new = dies->unit->version >= 5;
	struct heap_dwarf_bytes section =
		is_new ? dies->sections->location_lists : dies->sections->locations;
	uint64_t base = dies->bases.location_lists, offset = value->number;
	unsigned size = dies->unit->offset_size;

	switch (value->kind) {
	case HEAP_DWARF_BLOCK_VALUE:
		return true;
	case HEAP_DWARF_NUMBER_VALUE:
		return offset < section.size &&
		       dies->bases.location_offsets < section.size - offset &&
		       (!is_new || has_end(dies, section, offset + dies->bases.location_offsets));
	case HEAP_DWARF_INDEX_VALUE:
		break;
	default:
		return false;
	}
	if (base > section.size || offset >= (section.size - base) / size)
		return false;

	struct heap_dwarf_cursor cursor =
		heap_dwarf_cursor(section, base + offset * size, section.size);

	offset = heap_dwarf_fixed(&cursor, size);
	return offset < section.size - base && has_end(dies, section, base + offset);
}

HEAP_MUST_CHECK
static struct heap_error *read_die(struct heap_dwarf_locations *locations,
				   const struct heap_dwarf_object *object,
				   const struct heap_dwarf_dies *dies, uint64_t place,
				   uint16_t name)
{
	bool is_info = !(place >> HEAP_DWARF_PLACE_SHIFT & 1);
	Dwarf_Error error = NULL;
	Dwarf_Die die;
	Dwarf_Attribute attribute;
	struct heap_error *failure = NULL;

	if (!heap_dwarf_object_succeeded(object,
					 dwarf_offdie_b(object->debug,
							place & HEAP_DWARF_OFFSET_MASK, is_info,
							&die, &error),
					 error))
		return NULL;
	if (heap_dwarf_object_succeeded(object, dwarf_attr(die, name, &attribute, &error), error)) {
		failure = add_attribute(locations, object, dies, attribute);
		dwarf_dealloc_attribute(attribute);
	}
	dwarf_dealloc_die(die);
	return failure;
}

// --- lists -----------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add_list(struct heap_dwarf_locations *locations, uint64_t place,
				   uint16_t attribute, uint32_t *result)
{
	struct list list = { place, attribute, (uint32_t)locations->locations.count, 0, false };
	struct wanted wanted = { .name = attribute };
	const struct heap_dwarf_dies *dies;
	const struct heap_dwarf_object *object;
	uint16_t tag;
	bool children;
	uint64_t next;

	HEAP_TRY(heap_dwarf_code_visit(locations->code, place, note_wanted, &wanted, &dies, &tag,
				       &children, &next));
	HEAP_TRY(heap_dwarf_code_object(locations->code, dies->unit, &object));
	locations->has_failed = false;
	if (object && is_inside(dies, &wanted.value))
		HEAP_TRY(read_die(locations, object, dies, place, attribute));
	list.count = (uint32_t)locations->locations.count - list.first;
	list.is_complete = wanted.value.kind == HEAP_DWARF_OTHER_VALUE ||
			   (list.count && !locations->has_failed);
	*result = (uint32_t)locations->lists.count;
	HEAP_TRY(heap_array_append(&locations->lists, list));
	return heap_hash_add(&locations->by_place, heap_hash_pair(place, attribute), *result);
}

struct heap_error *heap_dwarf_locations_find(struct heap_dwarf_locations *locations, uint64_t place,
					     uint16_t attribute,
					     struct heap_dwarf_location_list *result)
{
	const struct list *lists = locations->lists.items;
	uint32_t found = heap_hash_find(&locations->by_place, heap_hash_pair(place, attribute), i,
					lists[i].place == place && lists[i].attribute == attribute);

	if (found == HEAP_HASH_NONE)
		HEAP_TRY(add_list(locations, place, attribute, &found));
	lists = locations->lists.items;
	*result =
		(struct heap_dwarf_location_list){ locations->locations.items + lists[found].first,
						   lists[found].count, lists[found].is_complete };
	return NULL;
}

struct heap_dwarf_expression heap_dwarf_locations_expression(
	const struct heap_dwarf_locations *locations, const struct heap_dwarf_location *location)
{
	return (struct heap_dwarf_expression){ locations->operations.items + location->first,
					       location->count };
}
