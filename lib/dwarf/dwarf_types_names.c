// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_types_unit.h"

#include "lib/base/cleanup.h"
#include "lib/base/demangle.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_constants.h"
#include "lib/types/types_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NAME_BYTES_MAX = 1 << 20, // of a qualified name
	SIGNATURES_MAX = 8,       // classes known by signature inside each other
	ORIGINS_MAX = 4,          // from code to a declaration
	SCOPES_MAX = 1 << 20,     // that are kept of other units: 24 MiB
};

// --- strings -------------------------------------------------------------------------------

struct heap_error *heap_unit_strings_add(struct heap_unit_strings *strings, const char *text,
					 uint32_t *result)
{
	if (!text || !*text) {
		*result = 0;
		return NULL;
	}

	size_t slot = heap_types_mix(0, (uintptr_t)text) % HEAP_UNIT_STRING_SLOTS;

	if (strings->slots[slot].text != text) {
		uint32_t offset;
		struct heap_error *error = heap_types_add_string(strings->pool, text, &offset);

		if (error)
			return error;
		strings->slots[slot].text = text;
		strings->slots[slot].offset = offset;
	}
	*result = strings->slots[slot].offset;
	return NULL;
}

// --- DIEs and files, also of other units ---------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *turn_to(struct heap_unit_reader *reader, struct heap_dwarf_dies *entries,
				  const struct heap_dwarf_unit *unit)
{
	struct heap_dwarf_die first;

	return entries->unit == unit ? NULL
				     : heap_dwarf_dies_begin(entries, reader->units, unit, &first);
}

struct heap_error *heap_unit_reader_entry(struct heap_unit_reader *reader, uint64_t place,
					  struct heap_dwarf_die *result)
{
	const struct heap_dwarf_unit *unit = reader->unit;
	struct heap_dwarf_dies *entries = &reader->entries;
	struct heap_error *error = NULL;
	uint64_t next;

	// A reference may lead to the end of some children, or to a file that is not there.
	*result = (struct heap_dwarf_die){ 0 };
	if (place < unit->die || place >= unit->end) {
		entries = &reader->others;
		unit = heap_dwarf_units_find(reader->units, place);
		if (!unit)
			return NULL;
		error = turn_to(reader, entries, unit);
	}
	return error ? error : heap_dwarf_dies_read(entries, place, true, result, &next);
}

struct heap_error *heap_unit_reader_file(struct heap_unit_reader *reader,
					 const struct heap_dwarf_die *entry, uint32_t *result)
{
	const struct heap_dwarf_unit *unit = reader->unit;
	struct heap_dwarf_file_names *files = &reader->files;

	*result = 0;
	if (!entry->line)
		return NULL;
	if (entry->place < unit->die || entry->place >= unit->end) {
		struct heap_dwarf_die first;

		files = &reader->other_files;
		unit = heap_dwarf_units_find(reader->units, entry->place);
		if (unit != reader->other_files_unit) {
			reader->other_files_unit = NULL;
			files->count = 0;
			HEAP_TRY(heap_unit_reader_entry(reader, unit->die, &first));
			HEAP_TRY(heap_dwarf_dies_files(&reader->others, files));
			reader->other_files_unit = unit;
		}
	}
	return heap_unit_strings_add(reader->strings,
				     heap_dwarf_file_names_name(files, entry->file), result);
}

// --- names ---------------------------------------------------------------------------------

// gcc names the frame of a coroutine after its function's linker symbol ("_Z4worki.Frame"),
// which has the scopes in it. @return a malloc'd "work.Frame", NULL for any other name
static char *coroutine_frame_name(const char *name)
{
	const char *dot = name && strncmp(name, "_Z", 2) == 0 ? strrchr(name, '.') : NULL;
	CLEANUP_FREE char *symbol = dot ? strndup(name, (size_t)(dot - name)) : NULL;
	CLEANUP_FREE char *function = symbol ? heap_demangle(symbol) : NULL;
	char *result = NULL;

	if (!function || asprintf(&result, "%s%s", function, dot) < 0)
		return NULL;
	return result;
}

struct heap_error *heap_unit_qualify(struct heap_unit_reader *reader, uint32_t scope,
				     const char *name, uint32_t *result)
{
	CLEANUP_FREE char *frame = coroutine_frame_name(name);

	if (frame)
		return heap_types_add_string(reader->strings->pool, frame, result);
	if (!scope || !name)
		return heap_unit_strings_add(reader->strings, name, result);

	size_t length = strlen(heap_types_string(reader->strings->pool, scope));
	size_t size = length + 2 + strlen(name) + 1;
	struct heap_error *error = NULL;

	// Names grow with each level; damaged ones must not do so without end.
	if (size > NAME_BYTES_MAX)
		return heap_unit_strings_add(reader->strings, name, result);
	error = heap_types_grow(&reader->text, 0, size, &reader->text_capacity, 1);
	if (error)
		return error;
	memcpy(reader->text, heap_types_string(reader->strings->pool, scope), length);
	memcpy(reader->text + length, "::", 2);
	strcpy(reader->text + length + 2, name);
	return heap_types_add_string(reader->strings->pool, reader->text, result);
}

const char *heap_unit_scope_text(const struct heap_dwarf_die *entry)
{
	bool is_namespace = entry->tag == DW_TAG_namespace || entry->tag == DW_TAG_module;

	return is_namespace && !entry->name ? "(anonymous namespace)" : entry->name;
}

static bool is_scope(uint16_t tag)
{
	return heap_unit_is_aggregate(tag) || tag == DW_TAG_namespace || tag == DW_TAG_module;
}

// The innermost scope that holds a place of a unit, as far as that was read.
static const struct heap_unit_scope *scope_of(const struct heap_unit_scope *scopes, size_t count,
					      uint64_t place)
{
	size_t at = heap_partition_point(i, 0, count, scopes[i].start < place);

	at = at ? at - 1 : 0;
	while (at && scopes[at].end <= place)
		at = scopes[at].parent;
	return &scopes[at];
}

HEAP_MUST_CHECK
static struct heap_error *search_name(struct heap_unit_reader *reader, uint64_t place, int depth,
				      uint32_t *result);

// The name that a DIE's children are qualified by.
HEAP_MUST_CHECK
static struct heap_error *scope_name(struct heap_unit_reader *reader,
				     const struct heap_dwarf_die *entry, uint32_t outer, int depth,
				     uint32_t *result)
{
	*result = outer;
	if (entry->tag == DW_TAG_subprogram)
		*result = 0;
	else if (is_scope(entry->tag) && heap_unit_scope_text(entry))
		return heap_unit_qualify(reader, outer, heap_unit_scope_text(entry), result);
	else if (is_scope(entry->tag) && entry->signature)
		return search_name(reader, entry->signature, depth + 1, result);
	return NULL;
}

// Adds the scope of a DIE with children, if the names in it are qualified by it.
//
// @param open  at the DIE's depth; [0] gets its scope, or the enclosing one, which is [-1]
HEAP_MUST_CHECK
static struct heap_error *open_scope(struct heap_unit_reader *reader,
				     struct heap_unit_scope_table *table,
				     const struct heap_dwarf_die *entry, int level, uint32_t *open)
{
	uint32_t outer = table->scopes.items[open[-1]].name, name;

	open[0] = open[-1];
	HEAP_TRY(scope_name(reader, entry, outer, level, &name));
	if (name == outer)
		return NULL;
	open[0] = (uint32_t)table->scopes.count;
	reader->elsewhere->held++;
	return heap_array_append(&table->scopes, (struct heap_unit_scope){ .start = entry->place,
									   .end = UINT64_MAX,
									   .parent = open[-1],
									   .name = name });
}

// Reads the scopes of a unit, from its first DIE to its last.
HEAP_MUST_CHECK
static struct heap_error *read_scopes(struct heap_unit_reader *reader,
				      const struct heap_dwarf_unit *unit, int level,
				      struct heap_unit_scope_table *table)
{
	struct heap_dwarf_dies *entries = unit == reader->unit ? &reader->entries : &reader->others;
	uint32_t open[64] = { 0 };
	unsigned depth = 0, limit = sizeof(open) / sizeof(*open);
	struct heap_dwarf_die entry;

	HEAP_TRY(heap_array_append(&table->scopes,
				   (struct heap_unit_scope){ .start = unit->start }));
	reader->elsewhere->held++;
	for (uint64_t next, at = unit->die; at < unit->end; at = next) {
		// A name may have been looked for in yet another unit.
		HEAP_TRY(turn_to(reader, entries, unit));
		HEAP_TRY(heap_dwarf_dies_read(entries, at, false, &entry, &next));
		if (entry.tag && entry.children && ++depth < limit)
			HEAP_TRY(open_scope(reader, table, &entry, level, &open[depth]));
		if (entry.tag || depth == 0)
			continue;
		if (depth < limit && open[depth] != open[depth - 1])
			table->scopes.items[open[depth]].end = next;
		depth--;
	}
	return NULL;
}

static void forget_scopes(struct heap_unit_scopes *scopes)
{
	for (size_t i = 0; scopes->tables && i < scopes->unit_count; i++)
		heap_array_deinit(&scopes->tables[i].scopes);
	scopes->held = 0;
}

struct heap_error *heap_unit_scopes_init(struct heap_unit_scopes *scopes, size_t unit_count)
{
	scopes->unit_count = unit_count;
	scopes->tables = calloc(unit_count + 1, sizeof(*scopes->tables));
	return scopes->tables ? NULL : heap_error_out_of_memory();
}

void heap_unit_scopes_deinit(struct heap_unit_scopes *scopes)
{
	forget_scopes(scopes);
	free(scopes->tables);
	scopes->tables = NULL;
}

// The scopes of any unit. Where its DIEs are damaged, those before.
HEAP_MUST_CHECK
static struct heap_error *scopes_of(struct heap_unit_reader *reader,
				    const struct heap_dwarf_unit *unit, int level,
				    struct heap_unit_scope_table **result)
{
	struct heap_unit_scopes *all = reader->elsewhere;
	struct heap_error *error;

	*result = &all->tables[unit - reader->units->units];
	// One that is being made has its first scopes, which is enough for the names in them.
	if ((*result)->scopes.count)
		return NULL;
	if (level == 0 && all->held > SCOPES_MAX)
		forget_scopes(all);
	error = read_scopes(reader, unit, level, *result);
	if (!error || heap_error_code(error) != HEAP_ERROR_FORMAT || !(*result)->scopes.count)
		return error;
	heap_error_destroy(error);
	return NULL;
}

// Finds the qualified name of a DIE by all scopes of its unit.
HEAP_MUST_CHECK
static struct heap_error *search_name(struct heap_unit_reader *reader, uint64_t place, int level,
				      uint32_t *result)
{
	const struct heap_dwarf_unit *unit = heap_dwarf_units_find(reader->units, place);
	struct heap_unit_scope_table *table;
	struct heap_dwarf_die entry;

	*result = 0;
	if (!unit || level > SIGNATURES_MAX)
		return NULL;
	HEAP_TRY(scopes_of(reader, unit, level, &table));
	HEAP_TRY(heap_unit_reader_entry(reader, place, &entry));
	return heap_unit_qualify(reader,
				 scope_of(table->scopes.items, table->scopes.count, place)->name,
				 entry.name, result);
}

struct heap_error *heap_unit_reader_name(struct heap_unit_reader *reader, uint64_t place,
					 uint32_t *result)
{
	bool was_read = place >= reader->unit->die && place < reader->position;
	struct heap_dwarf_die entry;

	if (!was_read)
		return search_name(reader, place, 0, result);
	HEAP_TRY(heap_unit_reader_entry(reader, place, &entry));
	return heap_unit_qualify(reader, scope_of(reader->scopes, reader->scope_count, place)->name,
				 entry.name, result);
}

struct heap_error *heap_unit_frame_name(struct heap_unit_reader *reader, uint64_t function,
					uint32_t *result)
{
	struct heap_dwarf_die entry = { .specification = function };
	CLEANUP_FREE char *frame = NULL;
	uint32_t name = 0;

	*result = 0;
	// Code refers to the abstract function, and that to its declaration.
	for (int i = 0; i < ORIGINS_MAX && entry.specification; i++) {
		function = entry.specification;
		HEAP_TRY(heap_unit_reader_entry(reader, function, &entry));
	}
	HEAP_TRY(heap_unit_reader_name(reader, function, &name));
	if (!name)
		return NULL;
	if (asprintf(&frame, "%s.Frame", heap_types_string(reader->strings->pool, name)) < 0)
		return heap_error_out_of_memory();
	return heap_types_add_string(reader->strings->pool, frame, result);
}
