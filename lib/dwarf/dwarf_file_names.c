// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_file_names.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/path.h"
#include "lib/dwarf/dwarf_constants.h"

#include <stdio.h>
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

HEAP_MUST_CHECK
static struct heap_error *add(struct heap_dwarf_file_names *files, const char *name,
			      uint64_t directory)
{
	HEAP_TRY(heap_reserve(files->names, files->capacity, files->count + 1));
	files->names[files->count++] = (struct heap_dwarf_file_name){ name, directory };
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_directory(struct heap_dwarf_file_names *files, const char *name)
{
	HEAP_TRY(heap_reserve(files->directories, files->directory_capacity,
			      files->directory_count + 1));
	files->directories[files->directory_count++] = name;
	return NULL;
}

// DWARF 2 to 4: directories, then files, each list up to an empty name.
HEAP_MUST_CHECK
static struct heap_error *read_old(struct heap_dwarf_file_names *files, struct table *table)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;

	files->first = files->first_directory = 1;
	for (const char *name; *(name = heap_dwarf_string(cursor));)
		HEAP_TRY(add_directory(files, name));
	while (true) {
		const char *name = heap_dwarf_string(cursor);
		uint64_t directory = *name ? heap_dwarf_unsigned(cursor) : 0;

		// The time of the last change, and the size.
		for (int i = 0; *name && i < 2; i++)
			heap_dwarf_unsigned(cursor);
		if (!*name || cursor->bad)
			break;
		HEAP_TRY(add(files, name, directory));
	}
	return NULL;
}

// A field of a directory or file; its text or number, if it is one.
static const char *read_field(struct table *table, uint64_t form, uint64_t *number)
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
		*number = heap_dwarf_unsigned(cursor);
		break;
	case DW_FORM_data1:
		*number = heap_dwarf_fixed(cursor, 1);
		break;
	case DW_FORM_data2:
		*number = heap_dwarf_fixed(cursor, 2);
		break;
	case DW_FORM_data4:
		*number = heap_dwarf_fixed(cursor, 4);
		break;
	case DW_FORM_data8:
		*number = heap_dwarf_fixed(cursor, 8);
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

// The fields of a list's entries.
struct fields {
	unsigned count;
	uint64_t content[FORMATS_MAX], form[FORMATS_MAX];
};

static void read_fields(struct table *table, struct fields *fields)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;

	fields->count = heap_dwarf_fixed(cursor, 1);
	if (fields->count > FORMATS_MAX) {
		fields->count = 0;
		cursor->bad = true;
	}
	for (unsigned i = 0; i < fields->count; i++) {
		fields->content[i] = heap_dwarf_unsigned(cursor);
		fields->form[i] = heap_dwarf_unsigned(cursor);
	}
}

static struct heap_dwarf_file_name read_entry(struct table *table, const struct fields *fields)
{
	struct heap_dwarf_file_name entry = { .name = "" };

	for (unsigned i = 0; i < fields->count; i++) {
		uint64_t number = 0;
		const char *text = read_field(table, fields->form[i], &number);

		if (text && fields->content[i] == DW_LNCT_path)
			entry.name = text;
		if (fields->content[i] == DW_LNCT_directory_index)
			entry.directory = number;
	}
	return entry;
}

// DWARF 5: the fields of an entry, then the number of entries, and these.
HEAP_MUST_CHECK
static struct heap_error *read_list(struct heap_dwarf_file_names *files, struct table *table,
				    bool is_directories)
{
	struct heap_dwarf_cursor *cursor = &table->cursor;
	struct fields fields;
	uint64_t count;

	read_fields(table, &fields);
	count = heap_dwarf_unsigned(cursor);
	for (uint64_t i = 0; fields.count && i < count && !cursor->bad; i++) {
		const uint8_t *start = cursor->at;
		struct heap_dwarf_file_name entry = read_entry(table, &fields);

		if (!cursor->bad)
			HEAP_TRY(is_directories ? add_directory(files, entry.name)
						: add(files, entry.name, entry.directory));
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
	files->directory_count = files->first_directory = 0;
	if (!version)
		return NULL;
	if (version < 5)
		return read_old(files, &table);
	HEAP_TRY(read_list(files, &table, true));
	return read_list(files, &table, false);
}

void heap_dwarf_file_names_deinit(struct heap_dwarf_file_names *files)
{
	free(files->names);
	free(files->directories);
	*files = (struct heap_dwarf_file_names){ 0 };
}

// @return NULL if there is none such
static const struct heap_dwarf_file_name *find(const struct heap_dwarf_file_names *files,
					       uint64_t number)
{
	if (number < files->first || number - files->first >= files->count)
		return NULL;
	return &files->names[number - files->first];
}

const char *heap_dwarf_file_names_name(const struct heap_dwarf_file_names *files, uint64_t number)
{
	const struct heap_dwarf_file_name *file = find(files, number);

	return file ? heap_base_name(file->name) : "";
}

// --- paths -----------------------------------------------------------------------------------

static const char *directory_of(const struct heap_dwarf_file_names *files, uint64_t number)
{
	if (number < files->first_directory ||
	    number - files->first_directory >= files->directory_count)
		return "";
	return files->directories[number - files->first_directory];
}

// The end of a path without its last component; its start if that is none, or "..".
static char *last_component(char *path, char *end)
{
	char *slash = end;

	while (slash > path && slash[-1] != '/')
		slash--;
	return end - slash == 2 && strncmp(slash, "..", 2) == 0 ? end : slash;
}

// Takes ., .. and empty components out, in place.
static void clean(char *path)
{
	char *to = path + (*path == '/'), *const start = to;
	const char *const end = path + strlen(path);
	bool is_absolute = *path == '/';

	for (const char *at = path; at < end;) {
		size_t length = strcspn(at, "/");
		const char *next = at + length + 1;
		char *parent = to > start ? last_component(start, to - 1) : to;

		bool is_up = length == 2 && strncmp(at, "..", 2) == 0;

		if (is_up && parent < to - (to > start)) {
			to = parent;
		} else if (length > 0 && !(length == 1 && *at == '.') && !(is_up && is_absolute)) {
			memmove(to, at, length);
			to += length;
			*to++ = '/';
		}
		at = next;
	}
	*(to > start ? to - 1 : to) = '\0';
}

char *heap_dwarf_file_names_path(const struct heap_dwarf_file_names *files, uint64_t number,
				 const char *directory)
{
	const struct heap_dwarf_file_name *file = find(files, number);
	const char *inner;
	char *path;

	if (!file || !*file->name)
		return strdup("");
	inner = directory_of(files, file->directory);
	if (*file->name == '/')
		inner = "";
	if (*file->name == '/' || *inner == '/')
		directory = "";
	if (asprintf(&path, "%s%s%s%s%s", directory, *directory ? "/" : "", inner,
		     *inner ? "/" : "", file->name) < 0)
		return NULL;
	clean(path);
	return path;
}
