// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_line_table.h"

#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "lib/dwarf/dwarf_library.h"

#include <string.h>

// --- from libdwarf ---------------------------------------------------------------------------

static bool read_row(const struct heap_dwarf_object *object, Dwarf_Line line,
		     struct heap_dwarf_row *row)
{
	Dwarf_Error error = NULL;
	Dwarf_Addr address;
	Dwarf_Unsigned number, file;
	Dwarf_Bool is_end;

	if (!heap_dwarf_object_succeeded(object, dwarf_lineaddr(line, &address, &error), error) ||
	    !heap_dwarf_object_succeeded(object, dwarf_lineno(line, &number, &error), error) ||
	    !heap_dwarf_object_succeeded(object, dwarf_line_srcfileno(line, &file, &error),
					 error) ||
	    !heap_dwarf_object_succeeded(object, dwarf_lineendsequence(line, &is_end, &error),
					 error))
		return false;
	*row = (struct heap_dwarf_row){ address, (uint32_t)file, (uint32_t)number, is_end };
	return true;
}

// Linkers set the address of code that they leave out to 0, lld to 1 or the highest one.
static bool is_left_out(uint64_t start)
{
	return start <= 1 || start == UINT64_MAX;
}

// A program that is read for one thing: whether its sequences set a file before their rows.
struct program {
	struct heap_dwarf_cursor cursor;
	uint8_t opcode_base;
	const uint8_t *lengths; // [opcode_base - 1] operands of the standard opcodes
	bool has_file, is_end;
};

// Only of DWARF 5; all others begin with file 1 (section 6.2.4 has the header).
static void begin_program(struct program *program, struct heap_dwarf_bytes section, uint64_t table)
{
	struct heap_dwarf_cursor *cursor = &program->cursor;
	unsigned offset_size = 4;

	*program = (struct program){ .cursor = heap_dwarf_cursor(section, table, section.size) };
	if (heap_dwarf_fixed(cursor, 4) == 0xffffffff) {
		offset_size = 8;
		heap_dwarf_skip(cursor, 8);
	}
	program->cursor.bad |= heap_dwarf_fixed(cursor, 2) != 5;
	heap_dwarf_skip(cursor, 2);

	struct heap_dwarf_cursor start = *cursor;

	heap_dwarf_skip(&start, heap_dwarf_fixed(&start, offset_size));
	heap_dwarf_skip(cursor, offset_size + 5);
	program->opcode_base = heap_dwarf_fixed(cursor, 1);
	program->lengths = heap_dwarf_skip(cursor, program->opcode_base - 1u);
	start.bad |= cursor->bad;
	*cursor = start;
}

// Reads on to the next row. @return false if its sequence has set no file
static bool next_has_file(struct program *program)
{
	struct heap_dwarf_cursor *cursor = &program->cursor;

	program->has_file &= !program->is_end;
	program->is_end = false;
	while (!cursor->bad) {
		uint8_t opcode = heap_dwarf_fixed(cursor, 1);
		uint64_t length;

		if (opcode >= program->opcode_base || opcode == DW_LNS_copy)
			break;
		switch (opcode) {
		case 0:
			length = heap_dwarf_unsigned(cursor);
			if (cursor->at < cursor->end && *cursor->at == DW_LNE_end_sequence)
				program->is_end = true;
			heap_dwarf_skip(cursor, length);
			if (program->is_end)
				return program->has_file;
			break;
		case DW_LNS_fixed_advance_pc:
			heap_dwarf_skip(cursor, 2);
			break;
		case DW_LNS_set_file:
			program->has_file = true;
			// fall through
		default:
			for (unsigned i = 0; i < program->lengths[opcode - 1]; i++)
				heap_dwarf_unsigned(cursor);
		}
	}
	return program->has_file || cursor->bad;
}

HEAP_MUST_CHECK
static struct heap_error *read_rows(const struct heap_dwarf_object *object, struct program *program,
				    Dwarf_Line *lines, Dwarf_Signed count,
				    struct heap_dwarf_line_table *table)
{
	bool is_start = true, left_out = false;

	if (count <= 0)
		return NULL;
	table->rows = calloc((size_t)count, sizeof(*table->rows));
	if (!table->rows)
		return heap_error_out_of_memory();
	for (Dwarf_Signed i = 0; i < count; i++) {
		struct heap_dwarf_row row;

		if (!read_row(object, lines[i], &row))
			break;
		if (HEAP_DWARF_FILE_IS_0_AT_FIRST && !next_has_file(program))
			row.file = 1;
		if (is_start)
			left_out = is_left_out(row.address);
		is_start = row.is_end;
		if (!left_out)
			table->rows[table->count++] = row;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_table(const struct heap_dwarf_object *object,
				     struct heap_dwarf_bytes section, Dwarf_Die unit,
				     struct heap_dwarf_line_table *table)
{
	Dwarf_Error error = NULL;
	Dwarf_Unsigned version, offset;
	struct program program;
	Dwarf_Small tables;
	Dwarf_Line_Context context;
	Dwarf_Line *lines;
	Dwarf_Signed count;
	struct heap_error *failure = NULL;

	if (!heap_dwarf_object_succeeded(
		    object, dwarf_srclines_b(unit, &version, &tables, &context, &error), error))
		return NULL;
	// A header without a program is a list of files.
	if (tables == 1 &&
	    heap_dwarf_object_succeeded(
		    object, dwarf_srclines_table_offset(context, &offset, &error), error) &&
	    heap_dwarf_object_succeeded(
		    object, dwarf_srclines_from_linecontext(context, &lines, &count, &error),
		    error)) {
		begin_program(&program, section, offset);
		failure = read_rows(object, &program, lines, count, table);
	}
	dwarf_srclines_dealloc_b(context);
	return failure;
}

// --- in order --------------------------------------------------------------------------------

// Rows of one address stay in the order of the program, for the last of them counts. Where one
// sequence ends another may begin, and the beginning counts.
static int compare_rows(const void *left, const void *right)
{
	const struct heap_dwarf_row *a = *(const struct heap_dwarf_row *const *)left;
	const struct heap_dwarf_row *b = *(const struct heap_dwarf_row *const *)right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->is_end != b->is_end)
		return b->is_end - a->is_end;
	return (a > b) - (a < b);
}

static bool is_sorted(const struct heap_dwarf_line_table *table)
{
	for (size_t i = 1; i < table->count; i++) {
		const struct heap_dwarf_row *before = &table->rows[i - 1], *row = &table->rows[i];

		if (compare_rows(&before, &row) > 0)
			return false;
	}
	return true;
}

// Addresses rise within each sequence, but sequences come in any order.
HEAP_MUST_CHECK
static struct heap_error *sort_rows(struct heap_dwarf_line_table *table)
{
	CLEANUP_FREE struct heap_dwarf_row *sorted = NULL;
	CLEANUP_FREE struct heap_dwarf_row **order = NULL;

	if (is_sorted(table))
		return NULL;
	sorted = calloc(table->count, sizeof(*sorted));
	order = calloc(table->count, sizeof(struct heap_dwarf_row *));
	if (!sorted || !order)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < table->count; i++)
		order[i] = &table->rows[i];
	qsort(order, table->count, sizeof(*order), compare_rows);
	for (size_t i = 0; i < table->count; i++)
		sorted[i] = *order[i];
	free(table->rows);
	table->rows = keep(sorted);
	return NULL;
}

struct heap_error *heap_dwarf_line_table_read(const struct heap_dwarf_object *object,
					      struct heap_dwarf_bytes lines, uint64_t unit_die,
					      struct heap_dwarf_line_table *result)
{
	struct heap_dwarf_line_table table = { 0 };
	Dwarf_Error error = NULL;
	Dwarf_Die unit;
	struct heap_error *failure = NULL;

	*result = table;
	if (!heap_dwarf_object_succeeded(
		    object, dwarf_offdie_b(object->debug, unit_die, true, &unit, &error), error))
		return NULL;
	failure = read_table(object, lines, unit, &table);
	dwarf_dealloc_die(unit);
	if (!failure)
		failure = sort_rows(&table);
	if (failure)
		heap_dwarf_line_table_deinit(&table);
	*result = table;
	return failure;
}

void heap_dwarf_line_table_deinit(struct heap_dwarf_line_table *table)
{
	free(table->rows);
	*table = (struct heap_dwarf_line_table){ 0 };
}

const struct heap_dwarf_row *heap_dwarf_line_table_find(const struct heap_dwarf_line_table *table,
							uint64_t pc)
{
	size_t next = heap_partition_point(i, 0, table->count, table->rows[i].address <= pc);

	return next > 0 && !table->rows[next - 1].is_end ? &table->rows[next - 1] : NULL;
}
