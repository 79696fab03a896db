// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_code.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_code_unit.h"
#include "lib/dwarf/dwarf_ranges.h"
#include "lib/base/demangle.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	READERS = 16,    // of units that are looked into in turn
	ORIGINS_MAX = 8, // DIEs that complete each other; a loop of them is damage
};

// Code that belongs to one unit of the main file. They are disjoint in sound files.
struct unit_range {
	uint64_t low, high;
	uint32_t unit;
};

// libdwarf's view of one file.
struct object {
	struct heap_dwarf_object *object; // NULL if there is none
	bool is_tried;
};

struct heap_dwarf_code {
	struct heap_dwarf_units *units;
	struct heap_dwarf_code_unit **read;   // [units->count] NULL until it is read
	struct heap_dwarf_file_names **files; // [units->count] likewise
	struct unit_range *ranges;            // [range_count] by address
	size_t range_count, range_capacity;
	struct heap_dwarf_dies readers[READERS];
	struct object *objects; // [object_count] by object_number()
	size_t object_count;
	struct heap_dwarf_object *skeletons; // that split files are tied to; NULL until the first
};

// Each file has two numbers of sections: heap_dwarf_place.
static size_t object_number(const struct heap_dwarf_unit *unit)
{
	return unit->start >> HEAP_DWARF_PLACE_SHIFT >> 1;
}

// --- creation ------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *find_ranges(struct heap_dwarf_code *code);

static void destroy(void *thing)
{
	struct heap_dwarf_code *code = thing;

	for (size_t i = 0; code->read && i < code->units->count; i++)
		heap_dwarf_code_unit_destroy(code->read[i]);
	for (size_t i = 0; code->files && i < code->units->count; i++) {
		if (code->files[i])
			heap_dwarf_file_names_deinit(code->files[i]);
		free(code->files[i]);
	}
	for (int i = 0; i < READERS; i++)
		heap_dwarf_dies_deinit(&code->readers[i]);
	for (size_t i = 0; code->objects && i < code->object_count; i++)
		heap_dwarf_object_close(code->objects[i].object);
	heap_dwarf_object_close(code->skeletons);
	free(code->objects);
	free(code->read);
	free(code->files);
	free(code->ranges);
	free(code);
}

static void destroy_code(struct heap_dwarf_code **code)
{
	if (*code)
		destroy(*code);
}

HEAP_MUST_CHECK
static struct heap_error *create(struct heap_dwarf_units *units, struct heap_dwarf_code **result)
{
	CLEANUP(destroy_code) struct heap_dwarf_code *code = calloc(1, sizeof(*code));

	if (!code)
		return heap_error_out_of_memory();
	code->units = units;
	code->read = calloc(units->count + 1, sizeof(*code->read));
	code->files = calloc(units->count + 1, sizeof(*code->files));
	code->object_count = HEAP_DWARF_SPLIT / 2 + units->split_count;
	code->objects = calloc(code->object_count, sizeof(*code->objects));
	if (!code->read || !code->files || !code->objects)
		return heap_error_out_of_memory();
	heap_dwarf_units_load_late(units);
	HEAP_TRY(find_ranges(code));
	*result = keep(code);
	return NULL;
}

struct heap_error *heap_dwarf_file_code(struct heap_dwarf_file *file,
					struct heap_dwarf_code **result)
{
	struct heap_dwarf_kept *kept = &file->kept[HEAP_DWARF_KEPT_CODE];
	struct heap_dwarf_units *units;
	struct heap_dwarf_code *code;

	if (!kept->thing) {
		HEAP_TRY(heap_dwarf_file_units(file, &units));
		HEAP_TRY(create(units, &code));
		*kept = (struct heap_dwarf_kept){ code, destroy };
	}
	*result = kept->thing;
	return NULL;
}

// --- DIEs of any unit -------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *turn_to(struct heap_dwarf_code *code, const struct heap_dwarf_unit *unit,
				  struct heap_dwarf_dies **result)
{
	struct heap_dwarf_dies *dies = &code->readers[(unit - code->units->units) % READERS];
	struct heap_dwarf_die first;

	*result = dies;
	return dies->unit == unit ? NULL : heap_dwarf_dies_begin(dies, code->units, unit, &first);
}

struct heap_error *heap_dwarf_code_dies(struct heap_dwarf_code *code, uint64_t place,
					const struct heap_dwarf_dies **result)
{
	const struct heap_dwarf_unit *unit = heap_dwarf_units_find(code->units, place);
	struct heap_dwarf_dies *reader;

	if (!unit)
		return heap_error_create(HEAP_ERROR_FORMAT, "no DIE at %#llx",
					 (unsigned long long)place);
	HEAP_TRY(turn_to(code, unit, &reader));
	*result = reader;
	return NULL;
}

struct heap_error *heap_dwarf_code_visit(struct heap_dwarf_code *code, uint64_t place,
					 heap_dwarf_attribute_visitor *visit, void *context,
					 const struct heap_dwarf_dies **dies, uint16_t *tag,
					 bool *children, uint64_t *next)
{
	HEAP_TRY(heap_dwarf_code_dies(code, place, dies));
	return heap_dwarf_dies_visit(*dies, place, visit, context, tag, children, next);
}

// libdwarf finds a skeleton among the units that it reads while it looks for skeletons, and not
// among those that it has read before. So there is an object of the main file for that alone.
HEAP_MUST_CHECK
static struct heap_error *tie_to_main(struct heap_dwarf_code *code, struct heap_dwarf_object *split)
{
	size_t count = code->skeletons ? 0 : code->units->skeleton_count;

	if (!code->skeletons) {
		struct heap_error *error =
			heap_dwarf_object_open_file(&code->units->main, &code->skeletons);

		if (error && heap_error_code(error) == HEAP_ERROR_MEMORY)
			return error;
		heap_error_destroy(error);
	}
	if (code->skeletons)
		heap_dwarf_object_tie(split, code->skeletons, count);
	return NULL;
}

struct heap_error *heap_dwarf_code_object(struct heap_dwarf_code *code,
					  const struct heap_dwarf_unit *unit,
					  const struct heap_dwarf_object **result)
{
	struct object *object = &code->objects[object_number(unit)];

	if (!object->is_tried) {
		struct heap_error *error = heap_dwarf_object_open_file(
			heap_dwarf_units_sections(code->units, unit), &object->object);

		if (error && heap_error_code(error) == HEAP_ERROR_MEMORY)
			return error;
		heap_error_destroy(error);
		object->is_tried = true;
		// The addresses and bases of split units are in the main file.
		if (object->object && unit->split)
			HEAP_TRY(tie_to_main(code, object->object));
	}
	*result = object->object;
	return NULL;
}

// @param result  the files of a unit, the code's
HEAP_MUST_CHECK
static struct heap_error *find_files(struct heap_dwarf_code *code,
				     const struct heap_dwarf_unit *unit,
				     const struct heap_dwarf_file_names **result)
{
	struct heap_dwarf_file_names **slot = &code->files[unit - code->units->units];
	struct heap_dwarf_dies *dies;

	if (!*slot) {
		*slot = calloc(1, sizeof(**slot));
		if (!*slot)
			return heap_error_out_of_memory();
		HEAP_TRY(turn_to(code, unit, &dies));
		HEAP_TRY(heap_dwarf_dies_files(dies, *slot));
	}
	*result = *slot;
	return NULL;
}

struct heap_error *heap_dwarf_code_file(struct heap_dwarf_code *code,
					const struct heap_dwarf_unit *unit, uint64_t number,
					const char **result)
{
	const struct heap_dwarf_file_names *files;

	HEAP_TRY(find_files(code, unit, &files));
	*result = heap_dwarf_file_names_name(files, number);
	return NULL;
}

static void note_directory(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	if (name == DW_AT_comp_dir && value->kind == HEAP_DWARF_STRING_VALUE)
		*(const char **)context = value->text;
}

struct heap_error *heap_dwarf_code_path(struct heap_dwarf_code *code,
					const struct heap_dwarf_unit *unit, uint64_t number,
					char **result)
{
	const struct heap_dwarf_file_names *files;
	const struct heap_dwarf_dies *dies;
	const char *directory = "";
	uint16_t tag;
	bool children;
	uint64_t next;

	HEAP_TRY(find_files(code, unit, &files));
	HEAP_TRY(heap_dwarf_code_visit(code, unit->die, note_directory, &directory, &dies, &tag,
				       &children, &next));
	*result = heap_dwarf_file_names_path(files, number, directory);
	return *result ? NULL : heap_error_out_of_memory();
}

// --- what a DIE says --------------------------------------------------------------------

struct description {
	struct heap_dwarf_description entry;
	uint64_t file, origin;
	bool has_file, is_copy;
};

static void describe_reference(struct description *description, uint16_t name, uint64_t place)
{
	if (name == DW_AT_type && !description->entry.type)
		description->entry.type = place;
	if (name == DW_AT_abstract_origin || (name == DW_AT_specification && !description->is_copy))
		description->origin = place;
	description->is_copy |= name == DW_AT_abstract_origin;
}

static void describe(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct description *description = context;
	struct heap_dwarf_description *entry = &description->entry;

	if (value->kind == HEAP_DWARF_REFERENCE_VALUE) {
		describe_reference(description, name, value->number);
	} else if (value->kind == HEAP_DWARF_STRING_VALUE) {
		if (name == DW_AT_name && !*entry->name)
			entry->name = value->text;
		if ((name == DW_AT_linkage_name || name == DW_AT_MIPS_linkage_name) &&
		    !*entry->linkage_name)
			entry->linkage_name = value->text;
	} else if (name == DW_AT_decl_file && !description->has_file) {
		description->file = value->number;
		description->has_file = true;
	} else if (name == DW_AT_decl_line && !entry->line) {
		entry->line = value->number;
	}
}

struct heap_error *heap_dwarf_code_describe(struct heap_dwarf_code *code, uint64_t place,
					    struct heap_dwarf_description *result)
{
	struct description description = { .entry = {
						   .name = "", .linkage_name = "", .file = "" } };

	for (int i = 0; place && i < ORIGINS_MAX; i++) {
		const struct heap_dwarf_dies *dies;
		bool had_file = description.has_file, children;
		uint16_t tag;
		uint64_t next;

		description.origin = HEAP_DWARF_NOWHERE;
		description.is_copy = false;
		HEAP_TRY(heap_dwarf_code_visit(code, place, describe, &description, &dies, &tag,
					       &children, &next));
		description.entry.root = place;
		// Files count in the unit of the DIE that names one.
		if (!had_file && description.has_file)
			HEAP_TRY(heap_dwarf_code_file(code, dies->unit, description.file,
						      &description.entry.file));
		place = description.origin;
		if (description.is_copy)
			description.entry.original = place;
		// The DIE that this one completes is in a file that was not found.
		if (place && !heap_dwarf_units_find(code->units, place))
			break;
	}
	*result = description.entry;
	return NULL;
}

char *heap_dwarf_description_name(const struct heap_dwarf_description *entry)
{
	return *entry->linkage_name ? heap_demangle(entry->linkage_name) : strdup(entry->name);
}

// --- units by address ----------------------------------------------------------------------

struct gathering {
	struct heap_dwarf_code *code;
	uint32_t unit;
	struct heap_error *error;
};

static bool add_range(void *context, const struct heap_dwarf_range *range)
{
	struct gathering *gathering = context;
	struct heap_dwarf_code *code = gathering->code;

	gathering->error = heap_reserve(code->ranges, code->range_capacity, code->range_count + 1);
	if (gathering->error)
		return false;
	code->ranges[code->range_count++] =
		(struct unit_range){ range->low, range->high, gathering->unit };
	return true;
}

// One table of .debug_aranges, after its length. @return the unit that it is of, or NULL
static const struct heap_dwarf_unit *add_table(struct gathering *gathering,
					       struct heap_dwarf_cursor *cursor, uint64_t start,
					       unsigned offset_size)
{
	struct heap_dwarf_units *units = gathering->code->units;
	const uint8_t *bytes = units->main.address_ranges.bytes;
	unsigned version = heap_dwarf_fixed(cursor, 2);
	const struct heap_dwarf_unit *unit =
		heap_dwarf_units_at(units, heap_dwarf_fixed(cursor, offset_size));
	unsigned size = heap_dwarf_fixed(cursor, 1), segment = heap_dwarf_fixed(cursor, 1);

	if (version != 2 || !unit || (size != 4 && size != 8) || segment || cursor->bad)
		return NULL;
	gathering->unit = unit - units->units;
	// Pairs are aligned to their own size, from the table's start.
	heap_dwarf_skip(cursor, -(uint64_t)(cursor->at - bytes - start) % (2 * size));
	while (!cursor->bad && !gathering->error) {
		struct heap_dwarf_range range = { .low = heap_dwarf_fixed(cursor, size) };
		uint64_t length = heap_dwarf_fixed(cursor, size);

		range.high = range.low + length;
		if (cursor->bad || (!range.low && !length))
			break;
		if (range.low > 1 && range.low < range.high)
			add_range(gathering, &range);
	}
	return unit;
}

// @param told  [units->count] gets which units .debug_aranges tells of
static void add_tables(struct gathering *gathering, bool *told)
{
	const struct heap_dwarf_units *units = gathering->code->units;
	struct heap_dwarf_bytes section = units->main.address_ranges;
	uint64_t offset = 0;

	while (offset < section.size && !gathering->error) {
		struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, offset, section.size);
		uint64_t start = offset, length = heap_dwarf_fixed(&cursor, 4);
		unsigned offset_size = 4;

		if (length == 0xffffffff) {
			offset_size = 8;
			length = heap_dwarf_fixed(&cursor, 8);
		}
		if (cursor.bad || length > (uint64_t)(cursor.end - cursor.at))
			return;
		cursor.end = cursor.at + length;
		offset = cursor.end - section.bytes;

		const struct heap_dwarf_unit *unit =
			add_table(gathering, &cursor, start, offset_size);

		if (unit)
			told[unit - units->units] = true;
	}
}

static void note_extent(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	heap_dwarf_extent_note(context, name, value);
}

// By the unit's own DIE. A damaged unit has no code.
static void add_unit(struct gathering *gathering, const struct heap_dwarf_unit *unit)
{
	struct heap_dwarf_extent extent = { 0 };
	const struct heap_dwarf_dies *dies;
	uint16_t tag;
	bool children;
	uint64_t next;
	struct heap_error *error = heap_dwarf_code_visit(gathering->code, unit->die, note_extent,
							 &extent, &dies, &tag, &children, &next);

	if (error && heap_error_code(error) == HEAP_ERROR_MEMORY)
		gathering->error = error;
	else
		heap_error_destroy(error);
	if (error)
		return;
	gathering->unit = unit - gathering->code->units->units;
	heap_dwarf_extent_visit(dies, &extent, heap_dwarf_extent_low(dies, &extent), add_range,
				gathering);
}

static int compare_ranges(const void *left, const void *right)
{
	const struct unit_range *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

// clang leaves .debug_aranges out, so that some units of a file may have it and others not.
HEAP_MUST_CHECK
static struct heap_error *find_ranges(struct heap_dwarf_code *code)
{
	const struct heap_dwarf_units *units = code->units;
	struct gathering gathering = { .code = code };
	CLEANUP_FREE bool *told = calloc(units->count + 1, sizeof(*told));

	if (!told)
		return heap_error_out_of_memory();
	add_tables(&gathering, told);
	for (size_t i = 0; i < units->count && !gathering.error; i++)
		if (!told[i] &&
		    units->units[i].start >> HEAP_DWARF_PLACE_SHIFT == HEAP_DWARF_INFO &&
		    !units->units[i].type_die)
			add_unit(&gathering, &units->units[i]);
	if (code->range_count)
		qsort(code->ranges, code->range_count, sizeof(*code->ranges), compare_ranges);
	return gathering.error;
}

// The last range that starts at or before pc, if it reaches that far.
static const struct unit_range *range_of(const struct heap_dwarf_code *code, uint64_t pc)
{
	const struct unit_range *ranges = code->ranges;
	size_t after = heap_partition_point(i, 0, code->range_count, ranges[i].low <= pc);

	return after && pc < ranges[after - 1].high ? &ranges[after - 1] : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_unit(struct heap_dwarf_code *code, uint32_t number)
{
	const struct heap_dwarf_unit *skeleton = &code->units->units[number];
	struct heap_dwarf_dies *dies;

	if (code->read[number])
		return NULL;
	HEAP_TRY(turn_to(code, heap_dwarf_units_full(code->units, skeleton), &dies));
	return heap_dwarf_code_unit_read(dies, skeleton, &code->read[number]);
}

struct heap_error *heap_dwarf_code_find_unit(struct heap_dwarf_code *code, uint64_t pc,
					     const struct heap_dwarf_code_unit **result)
{
	const struct unit_range *range = range_of(code, pc);

	*result = NULL;
	if (!range)
		return NULL;
	HEAP_TRY(read_unit(code, range->unit));
	*result = code->read[range->unit];
	return NULL;
}

struct heap_error *heap_dwarf_code_visit_units(
	struct heap_dwarf_code *code,
	bool (*visit)(void *context, const struct heap_dwarf_code_unit *unit), void *context)
{
	CLEANUP_FREE bool *seen = calloc(code->units->count + 1, sizeof(*seen));
	bool goes_on = true;

	if (!seen)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < code->range_count && goes_on; i++) {
		uint32_t number = code->ranges[i].unit;
		bool is_new = !code->read[number];
		struct heap_error *error = seen[number] ? NULL : read_unit(code, number);

		if (error && heap_error_code(error) == HEAP_ERROR_MEMORY)
			return error;
		heap_error_destroy(error);
		if (seen[number] || !code->read[number])
			continue;
		seen[number] = true;
		goes_on = visit(context, code->read[number]);
		if (!is_new)
			continue;
		heap_dwarf_code_unit_destroy(code->read[number]);
		code->read[number] = NULL;
	}
	return NULL;
}

// Calls are by address.
struct heap_error *heap_dwarf_code_next_call(struct heap_dwarf_code *code, uint64_t pc,
					     uint64_t *result)
{
	const struct heap_dwarf_code_unit *unit;

	*result = 0;
	HEAP_TRY(heap_dwarf_code_find_unit(code, pc - 1, &unit));
	if (!unit)
		return NULL;

	size_t at = heap_partition_point(i, 0, unit->call_count, unit->calls[i].pc <= pc);

	*result = at < unit->call_count ? unit->calls[at].pc : 0;
	return NULL;
}

bool heap_dwarf_code_is_complete(const struct heap_dwarf_code *code)
{
	return heap_dwarf_units_are_complete(code->units);
}
