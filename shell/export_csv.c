// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tables as comma-separated values (RFC 4180), a file per table in a directory.
 */
#include "lib/escape.h"
#include "shell/export_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct csv {
	const char *directory;
	char *path; // of the table that is being written
	FILE *file;
};

HEAP_MUST_CHECK
static struct heap_error *begin(void *context, const struct export_table *table)
{
	struct csv *csv = context;
	const char *columns = table->columns, *separator = "";
	char name[32], kind;

	if (asprintf(&csv->path, "%s/%s.csv", csv->directory, table->name) < 0) {
		csv->path = NULL;
		return heap_error_out_of_memory();
	}
	csv->file = fopen(csv->path, "we");
	if (!csv->file)
		return heap_error_create_system("%s", csv->path);
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
	return fputs("\r\n", csv->file) == EOF ? heap_error_create_system("%s", csv->path) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *end(void *context)
{
	struct csv *csv = context;
	bool failed = fclose(csv->file) != 0;

	csv->file = NULL;
	if (failed)
		return heap_error_create_system("%s", csv->path);
	free(csv->path);
	csv->path = NULL;
	return NULL;
}

struct heap_error *export_csv(struct export *export)
{
	struct csv csv = { .directory = export->path };
	const struct export_sink sink = { 1, &csv, begin, row, end };
	struct heap_error *error;

	if (mkdir(csv.directory, 0777) != 0 && errno != EEXIST)
		return heap_error_create_system("%s", csv.directory);
	error = export_write_tables(export->session, &sink);
	if (csv.file)
		fclose(csv.file);
	free(csv.path);
	return error;
}
