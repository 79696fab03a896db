// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_split.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/regular_file.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_dies.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SKELETON_MAX = 10000, // bytes of a unit, whose one DIE may have two paths in it
	FILES_MAX = 1 << 20,  // split files of one module
	COLUMNS_MAX = 16,     // of an index of a package, which has 8
	NO_UNIT = UINT32_MAX,
};

// --- skeletons -------------------------------------------------------------------------------

static void note_skeleton(void *context, uint16_t name, const struct heap_dwarf_value *value)
{
	struct heap_dwarf_skeleton *skeleton = context;

	switch (name) {
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		if (value->kind == HEAP_DWARF_STRING_VALUE)
			skeleton->name = value->text;
		break;
	case DW_AT_comp_dir:
		if (value->kind == HEAP_DWARF_STRING_VALUE)
			skeleton->directory = value->text;
		break;
	case DW_AT_GNU_dwo_id:
		skeleton->id = value->number;
		break;
	}
}

// Reads a unit's first DIE.
HEAP_MUST_CHECK
static struct heap_error *read_first(const struct heap_dwarf_units *units,
				     const struct heap_dwarf_unit *unit,
				     struct heap_dwarf_dies *dies,
				     struct heap_dwarf_skeleton *result)
{
	struct heap_dwarf_die first;
	uint16_t tag;
	bool children;
	uint64_t next;

	HEAP_TRY(heap_dwarf_dies_begin(dies, units, unit, &first));
	*result = (struct heap_dwarf_skeleton){
		.unit = unit - units->units, .full = NO_UNIT, .id = unit->signature, .directory = ""
	};
	HEAP_TRY(heap_dwarf_dies_visit(dies, unit->die, note_skeleton, result, &tag, &children,
				       &next));
	result->bases = dies->bases;
	return NULL;
}

// Before DWARF 5 a skeleton's header is like any other's, but there is one DIE alone.
static bool may_be_skeleton(const struct heap_dwarf_unit *unit)
{
	if (unit->start >> HEAP_DWARF_PLACE_SHIFT != HEAP_DWARF_INFO || unit->type_die)
		return false;
	return unit->version >= 5 ? unit->type == DW_UT_skeleton
				  : unit->version == 4 && unit->end - unit->start < SKELETON_MAX;
}

HEAP_MUST_CHECK
static struct heap_error *find_skeletons(struct heap_dwarf_units *units)
{
	struct heap_dwarf_dies dies = { 0 };
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < units->count; i++) {
		struct heap_dwarf_skeleton skeleton;

		if (!may_be_skeleton(&units->units[i]))
			continue;
		error = read_first(units, &units->units[i], &dies, &skeleton);
		if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
			heap_error_destroy(error);
			error = NULL;
			continue;
		}
		if (error || !skeleton.name)
			continue;
		error = heap_reserve(units->skeletons, units->skeleton_capacity,
				     units->skeleton_count + 1);
		if (!error)
			units->skeletons[units->skeleton_count++] = skeleton;
	}
	heap_dwarf_dies_deinit(&dies);
	// Only now: until then, each unit is read like one that is no skeleton.
	for (size_t i = 0; i < units->skeleton_count; i++)
		units->units[units->skeletons[i].unit].skeleton = i + 1;
	return error;
}

// --- split files -----------------------------------------------------------------------------

// Opens a file and reads its units' headers; nothing happens if it is none or not there.
HEAP_MUST_CHECK
static struct heap_error *open_split(struct heap_dwarf_units *units, const char *path,
				     bool *is_open)
{
	CLEANUP_CLOSE int descriptor = heap_regular_file_try(path);
	struct heap_dwarf_split_file file = { 0 };
	struct heap_error *error = NULL;

	*is_open = false;
	if (descriptor < 0 || units->split_count == FILES_MAX)
		return NULL;
	error = heap_dwarf_sections_open(descriptor, path, true, &file.sections);
	if (error) {
		heap_error_destroy(error);
		return NULL;
	}
	file.path = strdup(path);
	error = file.path
			? heap_reserve(units->split, units->split_capacity, units->split_count + 1)
			: heap_error_out_of_memory();
	if (error) {
		heap_dwarf_sections_close(&file.sections);
		free(file.path);
		return error;
	}
	units->split[units->split_count++] = file;
	*is_open = true;

	uint64_t number = HEAP_DWARF_SPLIT + 2 * (units->split_count - 1);

	HEAP_TRY(heap_dwarf_units_read(units, number));
	return heap_dwarf_units_read(units, number + 1);
}

static void join(struct heap_dwarf_units *units, uint32_t skeleton, uint32_t full)
{
	units->skeletons[skeleton].full = full;
	units->units[full].skeleton = skeleton + 1;
}

static bool is_full(const struct heap_dwarf_unit *unit)
{
	return !unit->type_die && !unit->skeleton &&
	       (unit->type == DW_UT_split_compile || unit->type == DW_UT_compile);
}

// Looks for the skeleton's unit among those of the file that was opened last.
HEAP_MUST_CHECK
static struct heap_error *find_in_file(struct heap_dwarf_units *units, uint32_t index, size_t first,
				       bool *is_found)
{
	struct heap_dwarf_dies dies = { 0 };
	struct heap_error *error = NULL;

	for (size_t i = first; !error && !*is_found && i < units->count; i++) {
		struct heap_dwarf_skeleton other;

		if (!is_full(&units->units[i]))
			continue;
		error = read_first(units, &units->units[i], &dies, &other);
		if (!error && other.id == units->skeletons[index].id) {
			join(units, index, i);
			*is_found = true;
		}
		if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
			heap_error_destroy(error);
			error = NULL;
		}
	}
	heap_dwarf_dies_deinit(&dies);
	return error;
}

// Drops a file that is from another build.
static void close_last(struct heap_dwarf_units *units, size_t first_unit)
{
	struct heap_dwarf_split_file *file = &units->split[--units->split_count];

	heap_dwarf_sections_close(&file->sections);
	free(file->path);
	units->count = first_unit;
}

HEAP_MUST_CHECK
static struct heap_error *try_file(struct heap_dwarf_units *units, uint32_t index, const char *path,
				   bool *is_found)
{
	size_t first = units->count;
	bool is_open;

	HEAP_TRY(open_split(units, path, &is_open));
	if (!is_open)
		return NULL;
	HEAP_TRY(find_in_file(units, index, first, is_found));
	if (!*is_found)
		close_last(units, first);
	return NULL;
}

// The directory of a path with its slash, "" for none.
static int directory_length(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? (int)(slash - path) + 1 : 0;
}

// Where the compiler put it, or beside the program.
HEAP_MUST_CHECK
static struct heap_error *find_file(struct heap_dwarf_units *units, uint32_t index,
				    const char *program)
{
	const struct heap_dwarf_skeleton *skeleton = &units->skeletons[index];
	const char *name = skeleton->name, *beside[] = { program, units->path };
	const char *base = name + directory_length(name);
	bool is_found = false;
	char path[8192];

	snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : skeleton->directory,
		 *name == '/' || !*skeleton->directory ? "" : "/", name);
	HEAP_TRY(try_file(units, index, path, &is_found));
	for (int i = 0; !is_found && i < 4; i++) {
		const char *from = beside[i / 2];

		if (!from)
			continue;
		snprintf(path, sizeof(path), "%.*s%s", directory_length(from), from,
			 i % 2 ? base : name);
		if (*name != '/' || i % 2)
			HEAP_TRY(try_file(units, index, path, &is_found));
	}
	return NULL;
}

// --- packages --------------------------------------------------------------------------------

// An index of a package: where in the sections the parts of each unit begin.
struct index {
	uint64_t columns, rows, slots;
	uint32_t kind[COLUMNS_MAX]; // [columns] sections
	struct heap_dwarf_cursor signatures, numbers, offsets;
	bool is_old; // GNU's, before DWARF 5
};

static bool read_index(struct heap_dwarf_bytes section, struct index *index)
{
	struct heap_dwarf_cursor cursor = heap_dwarf_cursor(section, 0, section.size);
	uint32_t version = heap_dwarf_fixed(&cursor, 4);

	*index = (struct index){ .is_old = version == 2 };
	index->columns = heap_dwarf_fixed(&cursor, 4);
	index->rows = heap_dwarf_fixed(&cursor, 4);
	index->slots = heap_dwarf_fixed(&cursor, 4);
	if (cursor.bad || (version != 2 && (version & 0xffff) != 5) || !index->columns ||
	    index->columns > COLUMNS_MAX)
		return false;
	index->signatures = index->numbers = index->offsets = cursor;
	heap_dwarf_skip(&index->signatures, 0);
	index->numbers = cursor;
	heap_dwarf_skip(&index->numbers, index->slots * 8);
	index->offsets = index->numbers;
	heap_dwarf_skip(&index->offsets, index->slots * 4);
	for (uint64_t i = 0; i < index->columns; i++)
		index->kind[i] = heap_dwarf_fixed(&index->offsets, 4);
	return !index->offsets.bad;
}

// One row: the parts of the unit of that signature.
static bool read_row(const struct index *index, uint64_t row, uint64_t *info,
		     uint64_t *abbreviations, struct heap_dwarf_bases *parts)
{
	struct heap_dwarf_cursor cursor = index->offsets;

	heap_dwarf_skip(&cursor, row * index->columns * 4);
	*parts = (struct heap_dwarf_bases){ 0 };
	for (uint64_t i = 0; i < index->columns; i++) {
		uint64_t offset = heap_dwarf_fixed(&cursor, 4);

		// Numbers of .debug_types, .debug_loc and the macros differ from DWARF 5's.
		switch (index->kind[i]) {
		case DW_SECT_INFO:
		case 2:
			*info = offset;
			break;
		case DW_SECT_ABBREV:
			*abbreviations = offset;
			break;
		case DW_SECT_LINE:
			parts->lines = offset;
			break;
		case DW_SECT_LOCLISTS:
			parts->location_lists = offset;
			break;
		case DW_SECT_STR_OFFSETS:
			parts->string_offsets = offset;
			break;
		case DW_SECT_RNGLISTS:
			parts->range_lists = index->is_old ? 0 : offset;
			break;
		}
	}
	return !cursor.bad;
}

// Gives a unit of the package its parts. @param place  of its header
HEAP_MUST_CHECK
static struct heap_error *contribute(struct heap_dwarf_units *units, uint64_t place,
				     uint64_t signature, uint64_t abbreviations,
				     const struct heap_dwarf_bases *parts)
{
	const struct heap_dwarf_unit *at = heap_dwarf_units_at(units, place);
	struct heap_dwarf_unit *unit = at ? &units->units[at - units->units] : NULL;

	if (!unit || unit->contribution)
		return NULL;
	HEAP_TRY(heap_reserve(units->contributions, units->contribution_capacity,
			      units->contribution_count + 1));
	units->contributions[units->contribution_count++] = *parts;
	unit->contribution = units->contribution_count;
	unit->abbreviations += abbreviations;
	unit->signature = signature;
	return NULL;
}

// @param number  of the section that the units are in
HEAP_MUST_CHECK
static struct heap_error *read_package(struct heap_dwarf_units *units,
				       struct heap_dwarf_bytes section, uint64_t number,
				       bool is_of_types)
{
	struct index index;

	if (!read_index(section, &index))
		return NULL;
	// Old type units have a section of their own.
	number += is_of_types && index.is_old;
	for (uint64_t i = 0; i < index.slots; i++) {
		uint64_t signature = heap_dwarf_fixed(&index.signatures, 8);
		uint64_t row = heap_dwarf_fixed(&index.numbers, 4);
		uint64_t info = 0, abbreviations = 0;
		struct heap_dwarf_bases parts;

		if (!row || row > index.rows ||
		    !read_row(&index, row - 1, &info, &abbreviations, &parts))
			continue;
		HEAP_TRY(contribute(units, (number << HEAP_DWARF_PLACE_SHIFT) + info, signature,
				    abbreviations, &parts));
	}
	return NULL;
}

static int compare_skeletons(const void *left, const void *right, void *context)
{
	const struct heap_dwarf_skeleton *skeletons = context;
	uint64_t a = skeletons[*(const uint32_t *)left].id;
	uint64_t b = skeletons[*(const uint32_t *)right].id;

	return (a > b) - (a < b);
}

// Joins skeletons to units of the package by their ids.
HEAP_MUST_CHECK
static struct heap_error *join_package(struct heap_dwarf_units *units, size_t first)
{
	CLEANUP_FREE uint32_t *order = calloc(units->skeleton_count, sizeof(*order));

	if (!order)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < units->skeleton_count; i++)
		order[i] = i;
	qsort_r(order, units->skeleton_count, sizeof(*order), compare_skeletons, units->skeletons);
	for (size_t i = first; i < units->count; i++) {
		const struct heap_dwarf_unit *unit = &units->units[i];

		if (!is_full(unit) || !unit->contribution)
			continue;

		size_t at = heap_partition_point(j, 0, units->skeleton_count,
						 units->skeletons[order[j]].id < unit->signature);

		if (at < units->skeleton_count && units->skeletons[order[at]].id == unit->signature)
			join(units, order[at], i);
	}
	return NULL;
}

// The program's name with .dwp after it; without .debug, which a separate file may have.
HEAP_MUST_CHECK
static struct heap_error *find_package(struct heap_dwarf_units *units, const char *of,
				       bool *is_open)
{
	size_t first = units->count, length = of ? strlen(of) : 0;
	char path[8192];

	if (!of || *is_open)
		return NULL;
	snprintf(path, sizeof(path), "%s.dwp", of);
	HEAP_TRY(open_split(units, path, is_open));
	if (!*is_open && length > 6 && strcmp(of + length - 6, ".debug") == 0) {
		snprintf(path, sizeof(path), "%.*s.dwp", (int)length - 6, of);
		HEAP_TRY(open_split(units, path, is_open));
	}
	if (!*is_open)
		return NULL;

	uint64_t number = HEAP_DWARF_SPLIT + 2 * (units->split_count - 1);
	const struct heap_dwarf_sections *sections = &units->split[units->split_count - 1].sections;

	HEAP_TRY(read_package(units, sections->unit_index, number, false));
	HEAP_TRY(read_package(units, sections->type_index, number, true));
	return join_package(units, first);
}

// --- all of it -------------------------------------------------------------------------------

// Says which files were not found: the first of them, and how many others.
HEAP_MUST_CHECK
static struct heap_error *note_missing(struct heap_dwarf_units *units)
{
	const char *first = NULL;
	size_t others = 0;
	char *text;
	int length;

	for (size_t i = 0; i < units->skeleton_count; i++) {
		if (units->skeletons[i].full != NO_UNIT)
			continue;
		others += first != NULL;
		if (!first)
			first = units->skeletons[i].name;
	}
	if (!first)
		return NULL;
	if (others)
		length = asprintf(&text, "split debug information: %s and %zu more not found",
				  first, others);
	else
		length = asprintf(&text, "split debug information: %s not found", first);
	if (length < 0)
		return heap_error_out_of_memory();
	free(units->missing);
	units->missing = text;
	return NULL;
}

struct heap_error *heap_dwarf_split_open(struct heap_dwarf_units *units, const char *program)
{
	bool has_package = false;

	HEAP_TRY(find_skeletons(units));
	if (!units->skeleton_count)
		return NULL;
	HEAP_TRY(find_package(units, units->path, &has_package));
	HEAP_TRY(find_package(units, program, &has_package));
	for (size_t i = 0; i < units->skeleton_count; i++)
		if (units->skeletons[i].full == NO_UNIT)
			HEAP_TRY(find_file(units, i, program));
	return note_missing(units);
}
