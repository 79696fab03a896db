// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/lines.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/debug_code.h"
#include "lib/dwarf/dwarf_types_reader.h"

#include <string.h>

// The line table of a unit that was looked at.
struct unit {
	struct heap_debug_line *rows; // [count] by address
	size_t count;
};

struct heap_line_finder {
	struct heap_debug_units *units;
	struct heap_debug_code *code;
	struct unit **read; // [units->count]
};

struct heap_error *heap_line_finder_create(struct heap_dwarf_file *file,
					   struct heap_line_finder **result)
{
	CLEANUP_FREE struct heap_line_finder *finder = calloc(1, sizeof(*finder));
	struct heap_error *error = finder ? NULL : heap_error_out_of_memory();

	if (!error)
		error = heap_dwarf_debug_units(file, &finder->units);
	if (!error)
		error = heap_dwarf_code(file, &finder->code);
	if (error)
		return error;
	finder->read = calloc(finder->units->count + 1, sizeof(*finder->read));
	if (!finder->read)
		return heap_error_out_of_memory();
	*result = keep(finder);
	return NULL;
}

void heap_line_finder_destroy(struct heap_line_finder *finder)
{
	if (!finder)
		return;
	for (size_t i = 0; i < finder->units->count; i++) {
		if (finder->read[i])
			free(finder->read[i]->rows);
		free(finder->read[i]);
	}
	free(finder->read);
	free(finder);
}

HEAP_MUST_CHECK
static struct heap_error *read_unit(struct heap_line_finder *finder,
				    const struct heap_debug_unit *header,
				    const struct unit **result)
{
	struct unit **unit = &finder->read[header - finder->units->units];
	struct heap_debug_bases bases;
	struct heap_error *error = NULL;

	if (!*unit) {
		*unit = calloc(1, sizeof(**unit));
		error = *unit ? heap_debug_code_bases(finder->code, header, &bases)
			      : heap_error_out_of_memory();
		if (!error && bases.has_lines)
			error = heap_debug_lines_read(&finder->units->main, bases.lines,
						      &(*unit)->rows, &(*unit)->count);
	}
	*result = *unit;
	return error;
}

static const struct heap_debug_line *find_row(const struct unit *unit, uint64_t pc)
{
	size_t low = 0, high = unit->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->rows[middle].address <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && !unit->rows[low - 1].is_end ? &unit->rows[low - 1] : NULL;
}

static bool set_line(struct heap_line *line, char *function, const char *file, uint32_t number)
{
	*line = (struct heap_line){ function, strdup(file), number };
	return line->function && line->file;
}

HEAP_MUST_CHECK
static struct heap_error *add_line(struct heap_line_finder *finder,
				   const struct heap_code_unit *unit,
				   const struct heap_code_scope *scope, uint32_t file,
				   uint32_t number, struct heap_lines *lines)
{
	struct heap_code_entry entry = { .name = "", .linkage_name = "" };
	const char *name = "";
	struct heap_error *error = NULL;

	if (scope)
		error = heap_debug_code_describe(finder->code, scope->place, &entry);
	// A name that cannot be had leaves the line.
	if (error && heap_error_code(error) == HEAP_ERROR_FORMAT) {
		heap_error_destroy(error);
		error = NULL;
	}
	if (!error)
		error = heap_debug_code_file(finder->code, unit->skeleton, file, &name);
	if (error)
		return error;
	if (!set_line(&lines->lines[lines->count++], heap_code_entry_name(&entry), name, number))
		return heap_error_out_of_memory();
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *answer(struct heap_line_finder *finder, const struct heap_code_unit *unit,
				 uint64_t pc, struct heap_lines *lines)
{
	uint32_t scopes[HEAP_CODE_DEPTH];
	size_t count = heap_code_unit_find(unit, pc, scopes);
	const struct unit *table;
	struct heap_error *error = read_unit(finder, unit->skeleton, &table);
	const struct heap_debug_line *row = error ? NULL : find_row(table, pc);
	uint32_t file = row ? row->file : 0, line = row ? row->line : 0;

	if (error || (count == 0 && !row))
		return error;
	lines->lines = calloc(count + 1, sizeof(*lines->lines));
	if (!lines->lines)
		return heap_error_out_of_memory();
	// The innermost stands where pc is, each other one where the one inside it was called.
	for (size_t i = count; !error && i > 0; i--) {
		const struct heap_code_scope *scope = &unit->scopes[scopes[i - 1]];

		if (scope->kind == HEAP_CODE_BLOCK)
			continue;
		error = add_line(finder, unit, scope, file, line, lines);
		file = scope->call_file;
		line = scope->call_line;
	}
	if (!error && count == 0)
		error = add_line(finder, unit, NULL, file, line, lines);
	return error;
}

struct heap_error *heap_line_finder_find(struct heap_line_finder *finder, uint64_t pc,
					 struct heap_lines *result)
{
	struct heap_lines lines = { 0 };
	const struct heap_code_unit *unit;
	struct heap_error *error = heap_debug_code_unit(finder->code, pc, &unit);

	*result = lines;
	if (!error && unit)
		error = answer(finder, unit, pc, &lines);
	if (error)
		heap_lines_deinit(&lines);
	else
		*result = lines;
	return error;
}

void heap_lines_deinit(struct heap_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->lines[i].function);
		free(lines->lines[i].file);
	}
	free(lines->lines);
}
