// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tables as comma-separated values (RFC 4180), a file per table in a directory.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/export/tables.h"
#include "shell/base/new_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_TABLES = 15,
};

// The tables are moved into place together, after the last has been written.
struct csv {
	char *directory;
	struct new_file files[MAX_TABLES];
	size_t count;
	FILE *file; // of the current table
};

HEAP_MUST_CHECK
static struct heap_error *begin(void *context, const struct export_table *table)
{
	struct csv *csv = context;
	const char *columns = table->columns, *separator = "";
	char name[32], kind;

	CLEANUP_FREE char *path = NULL;

	if (asprintf(&path, "%s/%s.csv", csv->directory, table->name) < 0) {
		path = NULL;
		return heap_error_out_of_memory();
	}
	HEAP_TRY(new_file_open(&csv->files[csv->count], path));
	csv->file = csv->files[csv->count++].stream;
	while (export_next_column(&columns, name, &kind)) {
		fprintf(csv->file, "%s%s", separator, name);
		separator = ",";
	}
	fputs("\r\n", csv->file);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *row(void *context, const struct export_value *values, size_t count)
{
	struct csv *csv = context;

	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			fputc(',', csv->file);
		if (values[i].kind == EXPORT_NUMBER)
			fprintf(csv->file, "%" PRIu64, values[i].number);
		else if (values[i].kind == EXPORT_TEXT)
			heap_escape_put(csv->file, HEAP_ESCAPE_CSV, values[i].text);
	}
	return fputs("\r\n", csv->file) == EOF
		       ? heap_error_create_system("%s", csv->files[csv->count - 1].path)
		       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *end(void *context)
{
	struct csv *csv = context;

	return new_file_finish(&csv->files[csv->count - 1]);
}

struct heap_error *export_csv(struct export *export)
{
	CLEANUP_FREE char *directory = strdup(export->path);
	struct csv csv = { .directory = directory };
	const struct export_sink sink = { 1, &csv, begin, row, end };
	struct heap_error *error;
	bool made;

	if (!directory)
		return heap_error_out_of_memory();
	error = new_file_begin_directory(directory, &made);
	if (error)
		return error;
	error = export_check_complete(export->session, directory,
				      export_write_tables(export->session, &sink));
	for (size_t i = 0; i < csv.count; i++)
		error = new_file_close(&csv.files[i], error);
	return new_file_end_directory(directory, made, error);
}
