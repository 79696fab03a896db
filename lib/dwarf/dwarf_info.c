// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_info.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_prune.h"
#include "lib/dwarf/dwarf_types_reader.h"
#include "lib/types/types_index.h"

#include <stdlib.h>
#include <string.h>

enum {
	NESTING_MAX = 100, // values inside each other; more is damage
};

// --- what damage may have joined -----------------------------------------------------------

enum colour {
	UNSEEN,
	OPEN, // a type that meets it again contains itself
	SOUND,
};

// True if a value of the type contains one of its target.
static bool holds_target(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_ARRAY || type->kind == HEAP_TYPE_ENUM ||
	       (type->kind >= HEAP_TYPE_TYPEDEF && type->kind <= HEAP_TYPE_ATOMIC);
}

static void repair(struct heap_types *types, heap_type_id id, uint8_t *colour, int depth);

// A part of a value: makes it unknown if it cannot be part of that.
static void repair_part(struct heap_types *types, heap_type_id *part, uint8_t *colour, int depth)
{
	if (colour[*part] == UNSEEN && depth < NESTING_MAX)
		repair(types, *part, colour, depth + 1);
	if (colour[*part] != SOUND)
		*part = HEAP_NO_TYPE;
}

// Types of different units are joined by name, and a damaged unit may claim any name: no
// type may contain itself, nor be larger than can be counted.
static void repair(struct heap_types *types, heap_type_id id, uint8_t *colour, int depth)
{
	struct heap_type *type = &types->types[id];
	uint64_t bytes;

	colour[id] = OPEN;
	if (holds_target(type))
		repair_part(types, &type->target, colour, depth);
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		repair_part(types, &types->members[type->first_member + i].type, colour, depth);
	if (type->kind == HEAP_TYPE_ARRAY &&
	    (__builtin_mul_overflow(type->count, heap_types_size(types, type->target), &bytes) ||
	     bytes > UINT64_MAX / 16))
		type->count = type->size = 0;
	colour[id] = SOUND;
}

HEAP_MUST_CHECK
static struct heap_error *repair_all(struct heap_types *types)
{
	CLEANUP_FREE uint8_t *colour = calloc(types->count, sizeof(*colour));

	if (!colour)
		return heap_error_out_of_memory();
	for (heap_type_id id = 0; id < types->count; id++)
		if (colour[id] == UNSEEN)
			repair(types, id, colour, 0);
	return NULL;
}

// --- variables -----------------------------------------------------------------------------

static int compare_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int compare_variables(const void *left, const void *right)
{
	const struct heap_dwarf_variable *a = left, *b = right;
	int order = compare_numbers(a->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL,
				    b->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL);

	order = order ? order : compare_numbers(a->address, b->address);
	order = order ? order : compare_numbers(a->name, b->name);
	// The DIE that knows its type and line comes first.
	order = order ? order : compare_numbers(!a->type, !b->type);
	order = order ? order : compare_numbers(!a->line, !b->line);
	order = order ? order : compare_numbers(a->line, b->line);
	return order ? order : compare_numbers(a->file, b->file);
}

// Inline variables and statics of inlined functions have a DIE in each unit.
static void sort_variables(struct heap_dwarf_info *debug)
{
	uint32_t count = 0;

	if (debug->variable_count)
		qsort(debug->variables, debug->variable_count, sizeof(*debug->variables),
		      compare_variables);
	for (uint32_t i = 0; i < debug->variable_count; i++) {
		const struct heap_dwarf_variable *variable = &debug->variables[i];
		const struct heap_dwarf_variable *last =
			count ? &debug->variables[count - 1] : NULL;

		if (last && last->address == variable->address && last->name == variable->name &&
		    !((last->flags ^ variable->flags) & HEAP_DWARF_VARIABLE_THREAD_LOCAL))
			continue;
		debug->variables[count++] = *variable;
	}
	debug->variable_count = count;
}

void heap_dwarf_info_deinit(struct heap_dwarf_info *debug)
{
	heap_types_deinit(&debug->types);
	free(debug->variables);
	free(debug->missing);
	*debug = (struct heap_dwarf_info){ 0 };
}

// --- all units -----------------------------------------------------------------------------

// The alternate file is read where this one refers to it. Split files have copies of type units.
static bool is_to_be_read(const struct heap_dwarf_units *units, const struct heap_dwarf_unit *unit)
{
	uint64_t section = unit->start >> HEAP_DWARF_PLACE_SHIFT;

	if (section >= HEAP_DWARF_ALTERNATE && section < HEAP_DWARF_SPLIT)
		return false;
	return !unit->type_die || heap_dwarf_units_find_type(units, unit->signature) == unit;
}

HEAP_MUST_CHECK
static struct heap_error *read_units(struct heap_types_reader *reader,
				     struct heap_dwarf_info *debug)
{
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < reader->units->count; i++) {
		const struct heap_dwarf_unit *unit = &reader->units->units[i];

		if (!is_to_be_read(reader->units, unit))
			continue;
		// Type units stand to be referred to.
		error = heap_types_reader_read(reader, unit, unit->type_die);
		if (!error) {
			debug->units++;
		} else if (heap_error_code(error) == HEAP_ERROR_FORMAT) {
			heap_error_destroy(error);
			error = NULL;
			debug->unreadable_units++;
		}
	}
	debug->unreadable_units += reader->units->unreadable;
	debug->dies = reader->dies;
	return error;
}

// Says what of the file could not be had.
HEAP_MUST_CHECK
static struct heap_error *note_missing(const struct heap_types_reader *reader,
				       struct heap_dwarf_info *debug)
{
	const struct heap_dwarf_units *units = reader->units;
	const char *missing = units->missing;

	if (!missing && units->main.has_zstd)
		missing = "zstd-compressed sections cannot be read";
	if (!missing && reader->elsewhere)
		missing = "split debug information not found";
	debug->incomplete = missing;
	if (!missing)
		return NULL;
	debug->missing = strdup(missing);
	return debug->missing ? NULL : heap_error_out_of_memory();
}

struct heap_error *heap_dwarf_info_read(struct heap_dwarf_file *file,
					struct heap_dwarf_info *result)
{
	CLEANUP(heap_dwarf_info_deinit) struct heap_dwarf_info debug = { 0 };
	CLEANUP(heap_types_reader_deinit) struct heap_types_reader reader = { 0 };

	HEAP_TRY(heap_types_reader_init(&reader, file));
	reader.wants_variables = true;
	HEAP_TRY(read_units(&reader, &debug));
	HEAP_TRY(note_missing(&reader, &debug));
	heap_types_resolve(&reader.types);
	HEAP_TRY(heap_dwarf_pieces_place(&reader.types, reader.variables, reader.pieces.items,
					 reader.pieces.count));
	heap_types_drop_index(&reader.types);
	HEAP_TRY(repair_all(&reader.types));
	debug.types = keep(reader.types);
	debug.variables = keep(reader.variables);
	debug.variable_count = reader.variable_count;
	sort_variables(&debug);
	HEAP_TRY(heap_dwarf_info_prune(&debug));
	*result = keep(debug);
	return NULL;
}
