// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/lines.h"

#include "lib/cleanup.h"
#include "lib/demangle.h"
#include "lib/dwarf_attributes.h"

#include <string.h>

enum {
	MAX_DEPTH = 64, // of entries in a function
};

struct row {
	uint64_t address;
	uint32_t file;
	uint32_t line;
	bool is_end; // of a sequence: nothing is at its address
};

// A range of code that belongs to a function, or to a copy of one that was inlined.
struct scope {
	uint64_t low, high;
	uint32_t depth;  // 0: a function of its own
	uint32_t end;    // scopes before this one, from the next on, are inside it
	uint64_t origin; // offset of the entry that has the name
	uint32_t call_file, call_line;
};

struct unit {
	struct unit *next;
	uint64_t offset;
	struct heap_dwarf_files files;
	struct row *rows; // [row_count] by address
	size_t row_count;
	struct scope *scopes; // [scope_count] in the order of the entries
	size_t scope_count, scope_capacity;
	bool short_of_memory;
};

struct heap_line_finder {
	struct heap_dwarf_file *file;
	struct unit *units;
};

struct heap_error *heap_line_finder_create(struct heap_dwarf_file *file,
					   struct heap_line_finder **result)
{
	struct heap_line_finder *finder = calloc(1, sizeof(*finder));

	if (!finder)
		return heap_error_out_of_memory();
	finder->file = file;
	*result = finder;
	return NULL;
}

static void destroy_unit(struct unit *unit)
{
	heap_dwarf_files_deinit(&unit->files);
	free(unit->rows);
	free(unit->scopes);
	free(unit);
}

void heap_line_finder_destroy(struct heap_line_finder *finder)
{
	if (!finder)
		return;
	while (finder->units) {
		struct unit *unit = finder->units;

		finder->units = unit->next;
		destroy_unit(unit);
	}
	free(finder);
}

// --- rows of the line table --------------------------------------------------

static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	// Where one sequence ends another may begin: the beginning counts.
	return (int)b->is_end - (int)a->is_end;
}

static bool read_row(Dwarf_Line line, struct row *row)
{
	Dwarf_Error error = NULL;
	Dwarf_Addr address;
	Dwarf_Unsigned number, file;
	Dwarf_Bool is_end;

	if (dwarf_lineaddr(line, &address, &error) != DW_DLV_OK ||
	    dwarf_lineno(line, &number, &error) != DW_DLV_OK ||
	    dwarf_line_srcfileno(line, &file, &error) != DW_DLV_OK ||
	    dwarf_lineendsequence(line, &is_end, &error) != DW_DLV_OK)
		return false;
	*row = (struct row){ address, (uint32_t)file, (uint32_t)number, is_end };
	return true;
}

static void read_rows(struct heap_dwarf_file *file, Dwarf_Die die, struct unit *unit)
{
	Dwarf_Error error = NULL;
	Dwarf_Unsigned version;
	Dwarf_Small table_count;
	Dwarf_Line_Context context;
	Dwarf_Line *lines;
	Dwarf_Signed count;
	int result = dwarf_srclines_b(die, &version, &table_count, &context, &error);

	if (result == DW_DLV_OK) {
		if (dwarf_srclines_from_linecontext(context, &lines, &count, &error) == DW_DLV_OK) {
			unit->rows = malloc((size_t)count * sizeof(*unit->rows) + 1);
			unit->short_of_memory = !unit->rows;
			for (Dwarf_Signed i = 0; unit->rows && i < count; i++) {
				if (read_row(lines[i], &unit->rows[unit->row_count]))
					unit->row_count++;
			}
		}
		dwarf_srclines_dealloc_b(context);
	}
	if (error)
		dwarf_dealloc_error(file->debug, error);
	if (unit->row_count > 0)
		qsort(unit->rows, unit->row_count, sizeof(*unit->rows), compare_rows);
}

// --- functions ---------------------------------------------------------------

struct collecting {
	struct heap_dwarf_file *file;
	struct unit *unit;
	Dwarf_Die unit_die;
	struct scope scope; // what each range of the entry becomes
};

static bool add_scope(void *context, uint64_t low, uint64_t high)
{
	struct collecting *collecting = context;
	struct unit *unit = collecting->unit;

	if (unit->scope_count == unit->scope_capacity) {
		size_t capacity = unit->scope_capacity ? unit->scope_capacity * 2 : 64;
		void *larger = realloc(unit->scopes, capacity * sizeof(*unit->scopes));

		if (!larger) {
			unit->short_of_memory = true;
			return false;
		}
		unit->scopes = larger;
		unit->scope_capacity = capacity;
	}
	unit->scopes[unit->scope_count] = collecting->scope;
	unit->scopes[unit->scope_count].low = low;
	unit->scopes[unit->scope_count].high = high;
	unit->scope_count++;
	return true;
}

static bool has_functions(Dwarf_Half tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_module:
	case DW_TAG_lexical_block:
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return true;
	default:
		return false;
	}
}

static void collect(struct collecting *collecting, Dwarf_Die die, uint32_t depth, int nesting);

static void collect_children(struct collecting *collecting, Dwarf_Die die, uint32_t depth,
			     int nesting)
{
	Dwarf_Die child = heap_dwarf_child(collecting->file, die);

	while (child) {
		collect(collecting, child, depth, nesting);

		Dwarf_Die next = heap_dwarf_sibling(collecting->file, child);

		dwarf_dealloc_die(child);
		child = next;
	}
}

static void collect(struct collecting *collecting, Dwarf_Die die, uint32_t depth, int nesting)
{
	struct heap_dwarf_file *file = collecting->file;
	Dwarf_Half tag = heap_dwarf_tag(file, die);
	size_t first = collecting->unit->scope_count;
	uint64_t number;

	if (!has_functions(tag) || nesting == MAX_DEPTH)
		return;
	if (tag == DW_TAG_subprogram)
		depth = 0;
	if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
		collecting->scope =
			(struct scope){ .depth = depth, .origin = heap_dwarf_offset(file, die) };
		if (heap_dwarf_unsigned(file, die, DW_AT_call_file, &number))
			collecting->scope.call_file = (uint32_t)number;
		if (heap_dwarf_unsigned(file, die, DW_AT_call_line, &number))
			collecting->scope.call_line = (uint32_t)number;
		heap_dwarf_visit_ranges(file, collecting->unit_die, die, add_scope, collecting);
		depth++;
	}

	size_t own = collecting->unit->scope_count;

	// Abstract instances have no code, and nothing inside them has.
	if (own > first || (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine))
		collect_children(collecting, die, depth, nesting + 1);
	for (size_t i = first; i < own; i++)
		collecting->unit->scopes[i].end = (uint32_t)collecting->unit->scope_count;
}

HEAP_MUST_CHECK
static struct heap_error *read_unit(struct heap_line_finder *finder, Dwarf_Die die, uint64_t offset,
				    struct unit **result)
{
	struct unit *unit = calloc(1, sizeof(*unit));
	struct collecting collecting = { .file = finder->file, .unit = unit, .unit_die = die };

	if (!unit)
		return heap_error_out_of_memory();
	unit->offset = offset;
	heap_dwarf_files_read(finder->file, die, &unit->files);
	read_rows(finder->file, die, unit);
	collect_children(&collecting, die, 0, 0);
	if (unit->short_of_memory) {
		destroy_unit(unit);
		return heap_error_out_of_memory();
	}
	unit->next = finder->units;
	finder->units = unit;
	*result = unit;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_unit(struct heap_line_finder *finder, uint64_t pc,
				    struct unit **result)
{
	CLEANUP_DIE Dwarf_Die die = NULL;
	struct heap_error *error = heap_dwarf_find_unit(finder->file, pc, &die);

	*result = NULL;
	if (error || !die)
		return error;

	uint64_t offset = heap_dwarf_offset(finder->file, die);

	for (struct unit *unit = finder->units; unit; unit = unit->next) {
		if (unit->offset == offset) {
			*result = unit;
			return NULL;
		}
	}
	return read_unit(finder, die, offset, result);
}

// --- answers -----------------------------------------------------------------

static const struct row *find_row(const struct unit *unit, uint64_t pc)
{
	size_t low = 0, high = unit->row_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->rows[middle].address <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && !unit->rows[low - 1].is_end ? &unit->rows[low - 1] : NULL;
}

// The scopes that hold pc, outermost first. @return how many
static size_t find_scopes(const struct unit *unit, uint64_t pc, const struct scope **found,
			  size_t max)
{
	size_t count = 0;

	for (size_t i = 0; i < unit->scope_count && count < max;) {
		const struct scope *scope = &unit->scopes[i];

		if (pc < scope->low || pc >= scope->high) {
			// Its other ranges stand next to it; what is inside it, after them.
			i++;
			continue;
		}
		if (count == 0 || scope->depth > found[count - 1]->depth)
			found[count++] = scope;
		i++;
		if (count > 0 && i >= found[0]->end)
			break;
	}
	return count;
}

// The name of the function that an entry is, or is a copy of.
static char *function_name(struct heap_dwarf_file *file, uint64_t offset)
{
	CLEANUP_DIE Dwarf_Die die = heap_dwarf_at(file, offset);

	if (!die)
		return strdup("");

	const char *linkage = heap_dwarf_linkage_name(file, die);

	return *linkage ? heap_demangle(linkage) : strdup(heap_dwarf_name(file, die));
}

static bool set_line(struct heap_line *line, char *function, const char *file, uint32_t number)
{
	*line = (struct heap_line){ function, strdup(file), number };
	return line->function && line->file;
}

HEAP_MUST_CHECK
static struct heap_error *answer(struct heap_line_finder *finder, const struct unit *unit,
				 uint64_t pc, struct heap_lines *result)
{
	const struct scope *scopes[MAX_DEPTH];
	size_t count = find_scopes(unit, pc, scopes, MAX_DEPTH);
	const struct row *row = find_row(unit, pc);
	uint32_t file = row ? row->file : 0, line = row ? row->line : 0;
	struct heap_lines lines = { 0 };

	if (count == 0 && !row)
		return NULL;
	lines.lines = calloc(count + 1, sizeof(*lines.lines));
	if (!lines.lines)
		return heap_error_out_of_memory();
	// The innermost stands where pc is, each other one where the one inside it was called.
	for (size_t i = count; i > 0; i--) {
		if (!set_line(&lines.lines[lines.count++],
			      function_name(finder->file, scopes[i - 1]->origin),
			      heap_dwarf_files_name(&unit->files, file), line)) {
			heap_lines_deinit(&lines);
			return heap_error_out_of_memory();
		}
		file = scopes[i - 1]->call_file;
		line = scopes[i - 1]->call_line;
	}
	if (count == 0 && !set_line(&lines.lines[lines.count++], strdup(""),
				    heap_dwarf_files_name(&unit->files, file), line)) {
		heap_lines_deinit(&lines);
		return heap_error_out_of_memory();
	}
	*result = lines;
	return NULL;
}

struct heap_error *heap_line_finder_find(struct heap_line_finder *finder, uint64_t pc,
					 struct heap_lines *result)
{
	struct unit *unit;
	struct heap_error *error = find_unit(finder, pc, &unit);

	*result = (struct heap_lines){ 0 };
	if (error || !unit)
		return error;
	return answer(finder, unit, pc, result);
}

void heap_lines_deinit(struct heap_lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		free(lines->lines[i].function);
		free(lines->lines[i].file);
	}
	free(lines->lines);
}
