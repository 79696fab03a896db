// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/debug_files.h"

#include "lib/dwarf/dwarf.h"

#include <stdlib.h>
#include <string.h>

enum {
	FORMATS_MAX = 16, // fields of a file in DWARF 5, which has five of them
};

struct table {
	const struct heap_debug_sections *sections;
	struct heap_debug_cursor cursor;
	unsigned offset_size;
};

static const char *without_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct heap_debug_files *files, const char *path)
{
	if (files->count == files->capacity) {
		size_t more = files->capacity ? files->capacity * 2 : 64;
		void *bigger = reallocarray(files->names, more, sizeof(*files->names));

		if (!bigger)
			return heap_error_out_of_memory();
		files->names = bigger;
		files->capacity = more;
	}
	files->names[files->count++] = without_directory(path);
	return NULL;
}

// DWARF 2 to 4: directories, then files, each list up to an empty name.
HEAP_MUST_CHECK
static struct heap_error *read_old(struct heap_debug_files *files, struct table *table)
{
	struct heap_debug_cursor *cursor = &table->cursor;
	struct heap_error *error = NULL;

	files->first = 1;
	while (*heap_debug_string(cursor))
		;
	while (!error) {
		const char *name = heap_debug_string(cursor);

		for (int i = 0; *name && i < 3; i++)
			heap_debug_unsigned(cursor);
		if (!*name || cursor->bad)
			break;
		error = add(files, name);
	}
	return error;
}

// A field of a directory or file; its text if it is one.
static const char *read_field(struct table *table, uint64_t form)
{
	struct heap_debug_cursor *cursor = &table->cursor;

	switch (form) {
	case DW_FORM_string:
		return heap_debug_string(cursor);
	case DW_FORM_line_strp:
		return heap_debug_string_at(table->sections->line_strings,
					    heap_debug_fixed(cursor, table->offset_size));
	case DW_FORM_strp:
		return heap_debug_string_at(table->sections->strings,
					    heap_debug_fixed(cursor, table->offset_size));
	case DW_FORM_udata:
		heap_debug_unsigned(cursor);
		break;
	case DW_FORM_data1:
		heap_debug_skip(cursor, 1);
		break;
	case DW_FORM_data2:
		heap_debug_skip(cursor, 2);
		break;
	case DW_FORM_data4:
		heap_debug_skip(cursor, 4);
		break;
	case DW_FORM_data8:
		heap_debug_skip(cursor, 8);
		break;
	case DW_FORM_data16:
		heap_debug_skip(cursor, 16);
		break;
	case DW_FORM_block:
		heap_debug_skip(cursor, heap_debug_unsigned(cursor));
		break;
	default:
		cursor->bad = true;
	}
	return NULL;
}

// DWARF 5: what fields there are, then how many entries. @param files  NULL: directories
HEAP_MUST_CHECK
static struct heap_error *read_list(struct heap_debug_files *files, struct table *table)
{
	struct heap_debug_cursor *cursor = &table->cursor;
	uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
	unsigned formats = heap_debug_fixed(cursor, 1);
	struct heap_error *error = NULL;

	if (formats > FORMATS_MAX) {
		cursor->bad = true;
		return NULL;
	}
	for (unsigned i = 0; i < formats; i++) {
		content[i] = heap_debug_unsigned(cursor);
		form[i] = heap_debug_unsigned(cursor);
	}

	uint64_t count = heap_debug_unsigned(cursor);

	for (uint64_t i = 0; !error && formats && i < count && !cursor->bad; i++) {
		const char *name = "";
		const uint8_t *start = cursor->at;

		for (unsigned j = 0; j < formats; j++) {
			const char *text = read_field(table, form[j]);

			if (text && content[j] == DW_LNCT_path)
				name = text;
		}
		if (files && !cursor->bad)
			error = add(files, name);
		// An entry of no bytes could be repeated for ever.
		if (cursor->at == start)
			break;
	}
	return error;
}

struct header {
	unsigned version, address_size;
	unsigned instruction_size, operations; // bytes; per instruction, of VLIW machines
	int line_base;
	unsigned line_range, opcodes;
	const uint8_t *lengths; // [opcodes - 1] how many operands
	uint64_t program;       // offset from the section's start
};

// Leaves the cursor at the directories. @return whether the header makes sense
static bool read_header(struct table *table, uint64_t lines, struct header *header)
{
	struct heap_debug_cursor *cursor = &table->cursor;
	struct heap_debug_bytes section = table->sections->lines;

	*cursor = heap_debug_cursor(section, lines, section.size);
	table->offset_size = 4;

	uint64_t length = heap_debug_fixed(cursor, 4);

	if (length == 0xffffffff) {
		table->offset_size = 8;
		length = heap_debug_fixed(cursor, 8);
	}
	if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at))
		return false;
	cursor->end = cursor->at + length;
	*header = (struct header){ .version = heap_debug_fixed(cursor, 2), .address_size = 8 };
	if (header->version < 2 || header->version > 5)
		return false;
	if (header->version == 5) {
		header->address_size = heap_debug_fixed(cursor, 1);
		heap_debug_skip(cursor, 1);
	}

	uint64_t size = heap_debug_fixed(cursor, table->offset_size);

	header->program = size <= (uint64_t)(cursor->end - cursor->at)
				  ? (uint64_t)(cursor->at - section.bytes) + size
				  : UINT64_MAX;
	header->instruction_size = heap_debug_fixed(cursor, 1);
	header->operations = header->version >= 4 ? heap_debug_fixed(cursor, 1) : 1;
	heap_debug_skip(cursor, 1);
	header->line_base = (int8_t)heap_debug_fixed(cursor, 1);
	header->line_range = heap_debug_fixed(cursor, 1);
	header->opcodes = heap_debug_fixed(cursor, 1);
	header->lengths = heap_debug_skip(cursor, header->opcodes ? header->opcodes - 1 : 0);
	return !cursor->bad;
}

struct heap_error *heap_debug_files_read(struct heap_debug_files *files,
					 const struct heap_debug_sections *sections, uint64_t lines)
{
	struct table table = { .sections = sections };
	struct header header;

	files->count = files->first = 0;
	if (!read_header(&table, lines, &header))
		return NULL;
	if (header.version < 5)
		return read_old(files, &table);

	struct heap_error *error = read_list(NULL, &table);

	return error ? error : read_list(files, &table);
}

void heap_debug_files_deinit(struct heap_debug_files *files)
{
	free(files->names);
	*files = (struct heap_debug_files){ 0 };
}

const char *heap_debug_files_name(const struct heap_debug_files *files, uint64_t number)
{
	if (number < files->first || number - files->first >= files->count)
		return "";
	return files->names[number - files->first];
}

// --- lines ---------------------------------------------------------------------------------

struct program {
	struct header header;
	struct heap_debug_cursor cursor;
	struct heap_debug_line row;
	unsigned operation; // within an instruction
	bool is_left_out;   // code that is not in the file
	struct heap_debug_line *rows;
	size_t count, capacity;
};

HEAP_MUST_CHECK
static struct heap_error *add_row(struct program *program)
{
	if (program->is_left_out)
		return NULL;
	if (program->count == program->capacity) {
		size_t more = program->capacity ? program->capacity * 2 : 256;
		void *bigger = reallocarray(program->rows, more, sizeof(*program->rows));

		if (!bigger)
			return heap_error_out_of_memory();
		program->rows = bigger;
		program->capacity = more;
	}
	program->rows[program->count++] = program->row;
	return NULL;
}

static void begin_sequence(struct program *program)
{
	program->row = (struct heap_debug_line){ .file = 1, .line = 1 };
	program->operation = 0;
	program->is_left_out = true;
}

static void set_address(struct program *program, uint64_t address)
{
	program->row.address = address;
	program->operation = 0;
	program->is_left_out = address <= 1 || address == UINT64_MAX;
}

static void advance(struct program *program, uint64_t by)
{
	const struct header *header = &program->header;

	if (header->operations > 1) {
		by += program->operation;
		program->operation = by % header->operations;
		by /= header->operations;
	}
	program->row.address += by * header->instruction_size;
}

HEAP_MUST_CHECK
static struct heap_error *run_extended(struct program *program)
{
	uint64_t length = heap_debug_unsigned(&program->cursor);
	const uint8_t *bytes = heap_debug_skip(&program->cursor, length);
	struct heap_debug_cursor operands = { bytes, bytes ? bytes + length : NULL, !bytes };
	struct heap_error *error = NULL;

	if (!bytes || !length)
		return NULL;
	switch (heap_debug_fixed(&operands, 1)) {
	case DW_LNE_end_sequence:
		program->row.is_end = true;
		error = add_row(program);
		begin_sequence(program);
		break;
	case DW_LNE_set_address:
		set_address(program, heap_debug_fixed(&operands, length <= 9 ? length - 1 : 8));
		break;
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *run_standard(struct program *program, uint8_t opcode)
{
	const struct header *header = &program->header;
	struct heap_debug_cursor *cursor = &program->cursor;

	switch (opcode) {
	case DW_LNS_copy:
		return add_row(program);
	case DW_LNS_advance_pc:
		advance(program, heap_debug_unsigned(cursor));
		break;
	case DW_LNS_advance_line:
		program->row.line += (uint32_t)heap_debug_signed(cursor);
		break;
	case DW_LNS_set_file:
		program->row.file = (uint32_t)heap_debug_unsigned(cursor);
		break;
	case DW_LNS_const_add_pc:
		advance(program, (255 - header->opcodes) / header->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		program->row.address += heap_debug_fixed(cursor, 2);
		program->operation = 0;
		break;
	default:
		for (unsigned i = 0; i < header->lengths[opcode - 1]; i++)
			heap_debug_unsigned(cursor);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct program *program)
{
	const struct header *header = &program->header;
	struct heap_debug_cursor *cursor = &program->cursor;
	struct heap_error *error = NULL;

	begin_sequence(program);
	while (!error && !cursor->bad && cursor->at < cursor->end) {
		uint8_t opcode = heap_debug_fixed(cursor, 1);

		if (opcode >= header->opcodes) {
			opcode -= header->opcodes;
			advance(program, opcode / header->line_range);
			program->row.line += header->line_base + opcode % header->line_range;
			error = add_row(program);
		} else if (opcode) {
			error = run_standard(program, opcode);
		} else {
			error = run_extended(program);
		}
	}
	return error;
}

static int compare_rows(const void *left, const void *right)
{
	const struct heap_debug_line *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	// Where one sequence ends another may begin: the beginning counts.
	if (a->is_end != b->is_end)
		return b->is_end - a->is_end;
	return (a > b) - (a < b);
}

static int compare_row_pointers(const void *left, const void *right)
{
	return compare_rows(*(const struct heap_debug_line *const *)left,
			    *(const struct heap_debug_line *const *)right);
}

// In the order of the program, which is that of addresses within each sequence; rows of one
// address stay in their order, for the last of them counts.
HEAP_MUST_CHECK
static struct heap_error *sort_rows(struct program *program)
{
	bool sorted = true;

	for (size_t i = 1; i < program->count; i++)
		sorted &= compare_rows(&program->rows[i - 1], &program->rows[i]) < 0;
	if (sorted)
		return NULL;

	struct heap_debug_line *copy = malloc(program->count * sizeof(*copy));
	struct heap_debug_line **order = malloc(program->count * sizeof(struct heap_debug_line *));

	for (size_t i = 0; copy && order && i < program->count; i++)
		order[i] = &program->rows[i];
	if (copy && order) {
		qsort(order, program->count, sizeof(*order), compare_row_pointers);
		for (size_t i = 0; i < program->count; i++)
			copy[i] = *order[i];
		free(program->rows);
		program->rows = copy;
		copy = NULL;
	}

	bool done = !copy && order;

	free(copy);
	free(order);
	return done ? NULL : heap_error_out_of_memory();
}

struct heap_error *heap_debug_lines_read(const struct heap_debug_sections *sections, uint64_t lines,
					 struct heap_debug_line **result, size_t *count)
{
	struct table table = { .sections = sections };
	struct program program = { 0 };
	struct heap_error *error = NULL;

	*result = NULL;
	*count = 0;
	if (!read_header(&table, lines, &program.header) || !program.header.line_range)
		return NULL;
	program.cursor = heap_debug_cursor(sections->lines, program.header.program,
					   table.cursor.end - sections->lines.bytes);
	error = run(&program);
	if (!error)
		error = sort_rows(&program);
	if (error) {
		free(program.rows);
		return error;
	}
	*result = program.rows;
	*count = program.count;
	return NULL;
}
