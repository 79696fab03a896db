// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_info.h"

#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_cache_file.h"

#include <stdlib.h>
#include <string.h>

// The file has a section per field of each array. Its name has the version, so that old and new programs do
// not throw away each other's.

#define TEXT(number) #number
#define TEXT_OF(macro) TEXT(macro)
#define KIND TEXT_OF(HEAP_DWARF_INFO_VERSION)

enum {
	TAG_VERSION = HEAP_TAG('d', 'b', 'g', 'c'),
	TAG_BUILD_ID = HEAP_TAG('d', 'b', 'i', 'd'),
	TAG_STRINGS = HEAP_TAG('d', 's', 't', 'r'),
};

// --- what is stored ------------------------------------------------------------------------

struct column {
	uint32_t tag;
	uint8_t encoding;
	uint8_t width; // of the field: 1, 4 or 8 bytes
	uint16_t offset;
};

#define COLUMN(letter, number, encoding, structure, field) \
	{ \
		HEAP_TAG('d', letter, '0', '0' + number), HEAP_ENCODING_##encoding, \
			sizeof(((struct structure *)0)->field), offsetof(struct structure, field) \
	}

static const struct column type_columns[] = {
	COLUMN('t', 0, VARINT, heap_type, kind),        COLUMN('t', 1, VARINT, heap_type, flags),
	COLUMN('t', 2, DELTA, heap_type, name),         COLUMN('t', 3, VARINT, heap_type, size),
	COLUMN('t', 4, DELTA, heap_type, target),       COLUMN('t', 5, VARINT, heap_type, count),
	COLUMN('t', 6, DELTA, heap_type, first_member), COLUMN('t', 7, VARINT, heap_type, members),
	COLUMN('t', 8, DELTA, heap_type, file),         COLUMN('t', 9, DELTA, heap_type, line),
};

static const struct column member_columns[] = {
	COLUMN('m', 0, DELTA, heap_member, name),
	COLUMN('m', 1, DELTA, heap_member, type),
	COLUMN('m', 2, DELTA, heap_member, offset),
	COLUMN('m', 3, VARINT, heap_member, flags),
	COLUMN('m', 4, VARINT, heap_member, bit_offset),
	COLUMN('m', 5, VARINT, heap_member, bit_size),
};

static const struct column enumerator_columns[] = {
	COLUMN('e', 0, DELTA, heap_enumerator, name),
	COLUMN('e', 1, DELTA, heap_enumerator, value),
};

static const struct column variable_columns[] = {
	COLUMN('v', 0, DELTA, heap_dwarf_variable, name),
	COLUMN('v', 1, DELTA, heap_dwarf_variable, type),
	COLUMN('v', 2, DELTA, heap_dwarf_variable, address),
	COLUMN('v', 3, DELTA, heap_dwarf_variable, file),
	COLUMN('v', 4, DELTA, heap_dwarf_variable, line),
	COLUMN('v', 5, VARINT, heap_dwarf_variable, flags),
};

struct table {
	const struct column *columns; // [column_count]
	size_t column_count;
	size_t row_size;
	size_t rows, count; // offsets in struct heap_dwarf_info: of the array, of its length
};

#define TABLE(columns, structure, rows, count) \
	{ \
		columns, sizeof(columns) / sizeof(*columns), sizeof(struct structure), \
			offsetof(struct heap_dwarf_info, rows), \
			offsetof(struct heap_dwarf_info, count) \
	}

static const struct table tables[] = {
	TABLE(type_columns, heap_type, types.types, types.count),
	TABLE(member_columns, heap_member, types.members, types.member_count),
	TABLE(enumerator_columns, heap_enumerator, types.enumerators, types.enumerator_count),
	TABLE(variable_columns, heap_dwarf_variable, variables, variable_count),
};

enum {
	TABLES = sizeof(tables) / sizeof(*tables),
};

// Pointers to different structures: copied, for none of them is a pointer to bytes.
static uint8_t *get_rows(const struct heap_dwarf_info *debug, const struct table *table)
{
	uint8_t *rows;

	memcpy(&rows, (const char *)debug + table->rows, sizeof(rows));
	return rows;
}

static void set_rows(struct heap_dwarf_info *debug, const struct table *table, uint8_t *rows,
		     uint32_t count)
{
	memcpy((char *)debug + table->rows, &rows, sizeof(rows));
	memcpy((char *)debug + table->count, &count, sizeof(count));
}

static uint32_t get_count(const struct heap_dwarf_info *debug, const struct table *table)
{
	uint32_t count;

	memcpy(&count, (const char *)debug + table->count, sizeof(count));
	return count;
}

static uint64_t get(const uint8_t *field, uint8_t width)
{
	uint64_t value = 0;

	// The machine is little endian, as are the files that it reads.
	memcpy(&value, field, width);
	return value;
}

static bool fits(uint64_t value, uint8_t width)
{
	return width == sizeof(value) || value >> 8 * width == 0;
}

// --- reading -------------------------------------------------------------------------------

// Reads some elements of a column into rows that are there.
HEAP_MUST_CHECK
static struct heap_error *read_part(const struct heap_file *file,
				    const struct heap_section *section, const struct column *column,
				    uint64_t first, uint64_t count, uint8_t *rows, size_t row_size,
				    uint64_t *values)
{
	HEAP_TRY(heap_file_read_u64(file, section, first, count, values));
	for (uint64_t i = 0; i < count; i++) {
		if (!fits(values[i], column->width))
			return heap_dwarf_cache_damaged("a number is too large");
		memcpy(rows + (first + i) * row_size + column->offset, &values[i], column->width);
	}
	return NULL;
}

// Rows are allocated while the first column is read: a count alone is not to be trusted.
HEAP_MUST_CHECK
static struct heap_error *read_column(const struct heap_file *file, const struct table *table,
				      const struct column *column, struct heap_dwarf_info *debug,
				      uint64_t *values)
{
	const struct heap_section *section;

	HEAP_TRY(heap_dwarf_cache_find(file, column->tag, column->encoding, &section));
	if (column != table->columns && section->count != get_count(debug, table))
		return heap_dwarf_cache_damaged("sections have different lengths");
	for (uint64_t first = 0; first < section->count; first += HEAP_BLOCK_ELEMENTS) {
		uint64_t part = section->count - first < HEAP_BLOCK_ELEMENTS
					? section->count - first
					: HEAP_BLOCK_ELEMENTS;

		if (column == table->columns) {
			uint8_t *more =
				reallocarray(get_rows(debug, table), first + part, table->row_size);

			if (!more)
				return heap_error_out_of_memory();
			memset(more + first * table->row_size, 0, part * table->row_size);
			set_rows(debug, table, more, first + part);
		}
		HEAP_TRY(read_part(file, section, column, first, part, get_rows(debug, table),
				   table->row_size, values));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_tables(const struct heap_file *file, struct heap_dwarf_info *debug)
{
	CLEANUP_FREE uint64_t *values = calloc(HEAP_BLOCK_ELEMENTS, sizeof(*values));

	if (!values)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < TABLES; i++)
		for (size_t j = 0; j < tables[i].column_count; j++)
			HEAP_TRY(read_column(file, &tables[i], &tables[i].columns[j], debug,
					     values));
	debug->types.type_capacity = debug->types.count;
	debug->types.member_capacity = debug->types.member_count;
	debug->types.enumerator_capacity = debug->types.enumerator_count;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_version(const struct heap_file *file, const char *build_id,
				       struct heap_dwarf_info *debug)
{
	const struct heap_section *section;
	uint64_t values[5];
	CLEANUP_FREE char *stored = NULL;
	uint32_t size;

	HEAP_TRY(heap_dwarf_cache_find(file, TAG_VERSION, HEAP_ENCODING_VARINT, &section));
	if (section->count != sizeof(values) / sizeof(*values))
		return heap_dwarf_cache_damaged("its version is missing");
	HEAP_TRY(heap_file_read_u64(file, section, 0, section->count, values));
	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_BUILD_ID, &stored, &size));
	if (values[0] != HEAP_DWARF_INFO_VERSION)
		return heap_dwarf_cache_damaged("it is of another version");
	if (build_id && (size != strlen(build_id) || memcmp(stored, build_id, size) != 0))
		return heap_dwarf_cache_damaged("it is of another build");
	debug->units = values[1];
	debug->dies = values[2];
	debug->unreadable_units = values[3];
	debug->incomplete = values[4];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check(const struct heap_dwarf_info *debug)
{
	const struct heap_types *types = &debug->types;
	const struct heap_dwarf_variable *last = NULL;

	if (!types->string_size || types->strings[0] || types->strings[types->string_size - 1])
		return heap_dwarf_cache_damaged("strings do not end");
	if (!types->count)
		return heap_dwarf_cache_damaged("it has no types");
	for (uint32_t i = 0; i < debug->variable_count; i++) {
		const struct heap_dwarf_variable *variable = &debug->variables[i];
		int local = variable->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL;

		if (variable->name >= types->string_size || variable->file >= types->string_size ||
		    variable->type >= types->count ||
		    variable->flags &
			    ~(HEAP_DWARF_VARIABLE_THREAD_LOCAL | HEAP_DWARF_VARIABLE_STATIC))
			return heap_dwarf_cache_damaged("a variable is out of range");
		if (last && ((last->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) > local ||
			     ((last->flags & HEAP_DWARF_VARIABLE_THREAD_LOCAL) == local &&
			      last->address > variable->address)))
			return heap_dwarf_cache_damaged("variables are out of order");
		last = variable;
	}
	return heap_types_check(types);
}

HEAP_MUST_CHECK
static struct heap_error *load(const struct heap_file *file, const char *build_id,
			       struct heap_dwarf_info *result)
{
	CLEANUP(heap_dwarf_info_deinit) struct heap_dwarf_info debug = { 0 };

	HEAP_TRY(read_version(file, build_id, &debug));
	HEAP_TRY(heap_dwarf_cache_read_bytes(file, TAG_STRINGS, &debug.types.strings,
					     &debug.types.string_size));
	HEAP_TRY(read_tables(file, &debug));
	debug.types.string_capacity = debug.types.string_size;
	HEAP_TRY(check(&debug));
	*result = keep(debug);
	return NULL;
}

struct heap_error *heap_dwarf_info_load_memory(const uint8_t *bytes, size_t size,
					       const char *build_id, struct heap_dwarf_info *result)
{
	struct heap_file *file;
	struct heap_error *error = heap_file_open_memory(bytes, size, &file);

	if (error)
		return error;
	error = load(file, build_id, result);
	heap_file_close(file);
	return error;
}

struct loading {
	const char *build_id;
	struct heap_dwarf_info *result;
};

HEAP_MUST_CHECK
static struct heap_error *load_file(void *context, const struct heap_file *file)
{
	const struct loading *loading = context;

	return load(file, loading->build_id, loading->result);
}

struct heap_error *heap_dwarf_info_load(const char *directory, const char *build_id,
					const struct heap_dwarf_source *source,
					struct heap_dwarf_info *result)
{
	const struct heap_dwarf_cache_name name = { directory, build_id, KIND, source };
	struct loading loading = { build_id, result };

	return heap_dwarf_cache_load(&name, load_file, &loading);
}

// --- writing -------------------------------------------------------------------------------

static void write_table(struct heap_file_writer *writer, const struct table *table,
			const uint8_t *rows, uint32_t count)
{
	for (size_t j = 0; j < table->column_count; j++) {
		const struct column *column = &table->columns[j];
		const uint8_t *field = rows + column->offset;

		heap_file_writer_begin(writer, column->tag, column->encoding, 1);
		for (uint32_t i = 0; i < count; i++, field += table->row_size)
			heap_file_writer_put(writer, get(field, column->width));
		heap_file_writer_end(writer);
	}
}

struct storing {
	const char *build_id;
	const struct heap_dwarf_info *debug;
};

HEAP_MUST_CHECK
static struct heap_error *write_cache(void *context, struct heap_file_writer *writer)
{
	const struct storing *storing = context;
	const struct heap_dwarf_info *debug = storing->debug;

	heap_file_writer_begin(writer, TAG_VERSION, HEAP_ENCODING_VARINT, 1);
	heap_file_writer_put(writer, HEAP_DWARF_INFO_VERSION);
	heap_file_writer_put(writer, debug->units);
	heap_file_writer_put(writer, debug->dies);
	heap_file_writer_put(writer, debug->unreadable_units);
	heap_file_writer_put(writer, debug->incomplete);
	heap_file_writer_end(writer);
	heap_dwarf_cache_write_bytes(writer, TAG_BUILD_ID, storing->build_id,
				     strlen(storing->build_id));
	heap_dwarf_cache_write_bytes(writer, TAG_STRINGS, debug->types.strings,
				     debug->types.string_size);
	for (size_t i = 0; i < TABLES; i++)
		write_table(writer, &tables[i], get_rows(debug, &tables[i]),
			    get_count(debug, &tables[i]));
	return NULL;
}

struct heap_error *heap_dwarf_info_store(const char *directory, const char *build_id,
					 const struct heap_dwarf_source *source,
					 const struct heap_dwarf_info *debug)
{
	const struct heap_dwarf_cache_name name = { directory, build_id, KIND, source };
	struct storing storing = { build_id, debug };

	return heap_dwarf_cache_store(&name, write_cache, &storing);
}
