// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_lines.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_line_table.h"
#include "lib/dwarf/dwarf_file_units.h"
#include "lib/dwarf/dwarf_wrappers.h"

#include <string.h>

struct heap_dwarf_line_finder {
	struct heap_dwarf_units *units;
	struct heap_dwarf_code *code;
	struct heap_dwarf_line_table **tables; // [units->count] NULL until they are read
};

struct heap_error *heap_dwarf_line_finder_create(struct heap_dwarf_file *file,
						 struct heap_dwarf_line_finder **result)
{
	CLEANUP_FREE struct heap_dwarf_line_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_dwarf_file_units(file, &finder->units));
	HEAP_TRY(heap_dwarf_file_code(file, &finder->code));
	finder->tables = calloc(finder->units->count + 1, sizeof(struct heap_dwarf_line_table *));
	if (!finder->tables)
		return heap_error_out_of_memory();
	*result = keep(finder);
	return NULL;
}

void heap_dwarf_line_finder_destroy(struct heap_dwarf_line_finder *finder)
{
	if (!finder)
		return;
	for (size_t i = 0; i < finder->units->count; i++) {
		if (finder->tables[i])
			heap_dwarf_line_table_deinit(finder->tables[i]);
		free(finder->tables[i]);
	}
	free(finder->tables);
	free(finder);
}

// @param unit  of the main file: line tables are not split
HEAP_MUST_CHECK
static struct heap_error *read_table(struct heap_dwarf_line_finder *finder,
				     const struct heap_dwarf_unit *unit,
				     const struct heap_dwarf_line_table **result)
{
	struct heap_dwarf_line_table **table = &finder->tables[unit - finder->units->units];
	const struct heap_dwarf_object *object;

	if (!*table) {
		*table = calloc(1, sizeof(**table));
		if (!*table)
			return heap_error_out_of_memory();
		HEAP_TRY(heap_dwarf_code_object(finder->code, unit, &object));
		if (object)
			HEAP_TRY(heap_dwarf_line_table_read(object, finder->units->main.lines,
							    unit->die & HEAP_DWARF_OFFSET_MASK,
							    *table));
	}
	*result = *table;
	return NULL;
}

// @param function, file  taken over
static bool set_line(struct heap_dwarf_line *line, char *function, char *file, uint32_t number)
{
	line->function = function;
	line->file = file;
	line->line = number;
	return line->function && line->file;
}

// Goes on without what cannot be read.
HEAP_MUST_CHECK
static struct heap_error *forgive_format(struct heap_error *error)
{
	if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
		heap_error_destroy(error);
		return NULL;
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *add_line(struct heap_dwarf_line_finder *finder,
				   const struct heap_dwarf_code_unit *unit,
				   const struct heap_dwarf_code_scope *scope, uint32_t file,
				   uint32_t number, struct heap_dwarf_lines *lines)
{
	struct heap_dwarf_description entry = { .name = "", .linkage_name = "" };
	struct heap_dwarf_line *line = &lines->lines[lines->count];
	char *path = NULL;

	// Without the name, the line is still known.
	if (scope)
		HEAP_TRY(forgive_format(
			heap_dwarf_code_describe(finder->code, scope->place, &entry)));
	if (scope && scope->kind == HEAP_DWARF_CODE_INLINED)
		HEAP_TRY(forgive_format(
			heap_dwarf_is_wrapper(finder->code, scope->place, &line->is_wrapper)));
	HEAP_TRY(heap_dwarf_code_path(finder->code, unit->skeleton, file, &path));
	lines->count++;
	return set_line(line, heap_dwarf_description_name(&entry), path, number)
		       ? NULL
		       : heap_error_out_of_memory();
}

HEAP_MUST_CHECK
static struct heap_error *answer(struct heap_dwarf_line_finder *finder,
				 const struct heap_dwarf_code_unit *unit, uint64_t pc,
				 struct heap_dwarf_lines *lines)
{
	uint32_t scopes[HEAP_DWARF_CODE_DEPTH];
	size_t count = heap_dwarf_code_unit_find(unit, pc, scopes);
	const struct heap_dwarf_line_table *table;

	HEAP_TRY(read_table(finder, unit->skeleton, &table));

	lines->is_complete = table->count > 0;

	const struct heap_dwarf_row *row = heap_dwarf_line_table_find(table, pc);
	uint32_t file = row ? row->file : 0, line = row ? row->line : 0;

	if (count == 0 && !row)
		return NULL;
	lines->lines = calloc(count + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return heap_error_out_of_memory();
	// The innermost stands where pc is, each other one where the one inside it was called.
	for (size_t i = count; i > 0; i--) {
		const struct heap_dwarf_code_scope *scope = &unit->scopes[scopes[i - 1]];

		if (scope->kind == HEAP_DWARF_CODE_BLOCK)
			continue;
		HEAP_TRY(add_line(finder, unit, scope, file, line, lines));
		file = scope->call_file;
		line = scope->call_line;
	}
	return count == 0 ? add_line(finder, unit, NULL, file, line, lines) : NULL;
}

struct heap_error *heap_dwarf_line_finder_find(struct heap_dwarf_line_finder *finder, uint64_t pc,
					       struct heap_dwarf_lines *result)
{
	CLEANUP(heap_dwarf_lines_deinit) struct heap_dwarf_lines lines = { .is_complete = true };
	const struct heap_dwarf_code_unit *unit;

	*result = lines;
	HEAP_TRY(heap_dwarf_code_find_unit(finder->code, pc, &unit));
	if (unit)
		HEAP_TRY(answer(finder, unit, pc, &lines));
	lines.is_complete &= heap_dwarf_code_is_complete(finder->code);
	*result = keep(lines);
	return NULL;
}

void heap_dwarf_lines_deinit(struct heap_dwarf_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->lines[i].function);
		free(lines->lines[i].file);
	}
	free(lines->lines);
}
