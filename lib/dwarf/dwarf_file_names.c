// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_file_names.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdlib.h>
#include <string.h>

enum {
	FORMATS_MAX = 16, // fields of a file in DWARF 5, which has five of them
};

struct table {
	const struct heap_dwarf_sections *sections;
	struct heap_dwarf_cursor cursor;
	unsigned offset_size;
};

static const char *without_directory(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

HEAP_MUST_CHECK
static struct heap_error *add(struct heap_dwarf_file_names *files, const char *path)
{
	HEAP_TRY(heap_reserve(files->names, files->capacity, files->count + 1));
	files->names[files->count++] = without_directory(path);
	return NULL;
}

// DWARF 2 to 4: directories, then files, each list up to an empty name.
HEAP_MUST_CHECK
static struct heap_error *read_old(struct heap_dwarf_file_names *files, struct table *table)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;

	files->first = 1;
	while (*heap_dwarf_string(cursor))
		;
	while (true) {
		const char *name = heap_dwarf_string(cursor);

		for (int i = 0; *name && i < 3; i++)
			heap_dwarf_unsigned(cursor);
		if (!*name || cursor->bad)
			break;
		HEAP_TRY(add(files, name));
	}
	return NULL;
}

// A field of a directory or file; its text if it is one.
static const char *read_field(struct table *table, uint64_t form)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;

	switch (form) {
	case DW_FORM_string:
		return heap_dwarf_string(cursor);
	case DW_FORM_line_strp:
		return heap_dwarf_string_at(table->sections->line_strings,
					    heap_dwarf_fixed(cursor, table->offset_size));
	case DW_FORM_strp:
		return heap_dwarf_string_at(table->sections->strings,
					    heap_dwarf_fixed(cursor, table->offset_size));
	case DW_FORM_udata:
		heap_dwarf_unsigned(cursor);
		break;
	case DW_FORM_data1:
		heap_dwarf_skip(cursor, 1);
		break;
	case DW_FORM_data2:
		heap_dwarf_skip(cursor, 2);
		break;
	case DW_FORM_data4:
		heap_dwarf_skip(cursor, 4);
		break;
	case DW_FORM_data8:
		heap_dwarf_skip(cursor, 8);
		break;
	case DW_FORM_data16:
		heap_dwarf_skip(cursor, 16);
		break;
	case DW_FORM_block:
		heap_dwarf_skip(cursor, heap_dwarf_unsigned(cursor));
		break;
	default:
		cursor->bad = true;
	}
	return NULL;
}

// DWARF 5: what fields there are, then how many entries. @param files  NULL: directories
HEAP_MUST_CHECK
static struct heap_error *read_list(struct heap_dwarf_file_names *files, struct table *table)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;
	uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
	unsigned formats = heap_dwarf_fixed(cursor, 1);

	if (formats > FORMATS_MAX) {
		cursor->bad = true;
		return NULL;
	}
	for (unsigned i = 0; i < formats; i++) {
		content[i] = heap_dwarf_unsigned(cursor);
		form[i] = heap_dwarf_unsigned(cursor);
	}

	uint64_t count = heap_dwarf_unsigned(cursor);

	for (uint64_t i = 0; formats && i < count && !cursor->bad; i++) {
		const char *name = "";
		const uint8_t *start = cursor->at;

		for (unsigned j = 0; j < formats; j++) {
			const char *text = read_field(table, form[j]);

			if (text && content[j] == DW_LNCT_path)
				name = text;
		}
		if (files && !cursor->bad)
			HEAP_TRY(add(files, name));
		// An entry of no bytes could be repeated for ever.
		if (cursor->at == start)
			break;
	}
	return NULL;
}

// Leaves the cursor at the directories. @return the version; 0 if the header makes no sense
static unsigned read_header(struct table *table, uint64_t lines)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;
	struct heap_dwarf_bytes section = table->sections->lines;

	*cursor = heap_dwarf_cursor(section, lines, section.size);
	table->offset_size = 4;

	uint64_t length = heap_dwarf_fixed(cursor, 4);

	if (length == 0xffffffff) {
		table->offset_size = 8;
		length = heap_dwarf_fixed(cursor, 8);
	}
	if (cursor->bad || length > (uint64_t)(cursor->end - cursor->at))
		return 0;
	cursor->end = cursor->at + length;

	unsigned version = heap_dwarf_fixed(cursor, 2);

	if (version < 2 || version > 5)
		return 0;
	if (version == 5)
		heap_dwarf_skip(cursor, 2); // sizes of addresses and segment selectors
	heap_dwarf_skip(cursor, table->offset_size);
	// Instruction length, operations per instruction, default_is_stmt, line base and range.
	heap_dwarf_skip(cursor, version >= 4 ? 5 : 4);

	unsigned opcodes = heap_dwarf_fixed(cursor, 1);

	heap_dwarf_skip(cursor, opcodes ? opcodes - 1 : 0);
	return cursor->bad ? 0 : version;
}

struct heap_error *heap_dwarf_file_names_read(struct heap_dwarf_file_names *files,
					      const struct heap_dwarf_sections *sections,
					      uint64_t lines)
{
	struct table table = { .sections = sections };
	unsigned version = read_header(&table, lines);

	files->count = files->first = 0;
	if (!version)
		return NULL;
	if (version < 5)
		return read_old(files, &table);
	HEAP_TRY(read_list(NULL, &table));
	return read_list(files, &table);
}

void heap_dwarf_file_names_deinit(struct heap_dwarf_file_names *files)
{
	free(files->names);
	*files = (struct heap_dwarf_file_names){ 0 };
}

const char *heap_dwarf_file_names_name(const struct heap_dwarf_file_names *files, uint64_t number)
{
	if (number < files->first || number - files->first >= files->count)
		return "";
	return files->names[number - files->first];
}
