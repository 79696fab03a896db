// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/sql/sql.h"

#include "lib/base/array.h"
#include "lib/base/escape.h"
#include "shell/sql/database.h"

#include <inttypes.h>
#include <string.h>

enum {
	MEASURED = 200, // rows that decide the widths of columns
	WIDEST = 100,   // width of a value up to which the next columns stay aligned
};

// Printed rows. Text is buffered until the widths of the columns are known.
struct rows {
	struct session *session;
	sqlite3_stmt *statement;
	int columns;
	size_t *widths;                  // [columns]
	bool *is_number;                 // [columns] true so far: aligned to the right
	struct HEAP_ARRAY(char *) cells; // [kept * columns]
	bool is_measured;
};

static void rows_deinit(struct rows *rows)
{
	for (size_t i = 0; i < rows->cells.count; i++)
		free(rows->cells.items[i]);
	heap_array_deinit(&rows->cells);
	free(rows->widths);
	free(rows->is_number);
}

static bool is_address(sqlite3_stmt *statement, int column)
{
	const char *type = sqlite3_column_decltype(statement, column);

	return type && strcmp(type, "ADDRESS") == 0;
}

// --- text ----------------------------------------------------------------------------

// @return malloc'd, escaped; NULL if memory is short
static char *format_cell(sqlite3_stmt *statement, int column)
{
	const char *text;
	char *result;

	if (sqlite3_column_type(statement, column) == SQLITE_INTEGER &&
	    is_address(statement, column))
		return asprintf(&result, "0x%" PRIx64,
				(uint64_t)sqlite3_column_int64(statement, column)) < 0
			       ? NULL
			       : result;
	text = (const char *)sqlite3_column_text(statement, column);
	return heap_escape(HEAP_ESCAPE_NAME, text ? text : "",
			   (size_t)sqlite3_column_bytes(statement, column));
}

static void print_line(const struct rows *rows, char *const *cells)
{
	struct output *output = rows->session->output;

	for (int i = 0; i < rows->columns; i++) {
		size_t width = heap_text_width(cells[i]);
		int padding = width < rows->widths[i] ? (int)(rows->widths[i] - width) : 0;

		if (rows->is_number[i])
			output_text(output, "%*s%s", padding, "", cells[i]);
		else
			output_text(output, "%s%*s", cells[i], i + 1 < rows->columns ? padding : 0,
				    "");
		output_text(output, i + 1 < rows->columns ? "  " : "\n");
	}
}

// Prints the titles and the buffered rows.
HEAP_MUST_CHECK
static struct heap_error *print_gathered(struct rows *rows)
{
	CLEANUP_FREE char **titles = calloc((size_t)rows->columns + 1, sizeof(*titles));

	if (!titles)
		return heap_error_out_of_memory();
	for (int i = 0; i < rows->columns; i++)
		titles[i] = (char *)sqlite3_column_name(rows->statement, i);
	for (int i = 0; i < rows->columns; i++) {
		size_t width = heap_text_width(titles[i]);

		rows->widths[i] = width > rows->widths[i] ? width : rows->widths[i];
	}
	print_line(rows, titles);
	for (size_t i = 0; i < rows->cells.count; i += (size_t)rows->columns)
		print_line(rows, rows->cells.items + i);
	for (size_t i = 0; i < rows->cells.count; i++)
		free(rows->cells.items[i]);
	rows->cells.count = 0;
	rows->is_measured = true;
	return NULL;
}

static void measure(struct rows *rows, int column, const char *cell)
{
	int type = sqlite3_column_type(rows->statement, column);
	size_t width = heap_text_width(cell);

	if (type != SQLITE_NULL && (type == SQLITE_TEXT || type == SQLITE_BLOB))
		rows->is_number[column] = false;
	if (width > WIDEST)
		width = WIDEST;
	if (width > rows->widths[column])
		rows->widths[column] = width;
}

HEAP_MUST_CHECK
static struct heap_error *add_text_row(struct rows *rows)
{
	for (int i = 0; i < rows->columns; i++) {
		char *cell = format_cell(rows->statement, i);

		if (!cell)
			return heap_error_out_of_memory();
		if (!rows->is_measured)
			measure(rows, i, cell);
		HEAP_TRY(heap_array_append(&rows->cells, cell));
	}
	if (rows->is_measured) {
		print_line(rows, rows->cells.items);
		for (size_t i = 0; i < rows->cells.count; i++)
			free(rows->cells.items[i]);
		rows->cells.count = 0;
		return NULL;
	}
	return rows->cells.count < (size_t)MEASURED * (size_t)rows->columns ? NULL
									    : print_gathered(rows);
}

// --- JSON ----------------------------------------------------------------------------

// Formats bytes as SQLite does: X'00ff'.
static void print_bytes(struct output *output, const char *key, const uint8_t *bytes, int size)
{
	CLEANUP_FREE char *text = malloc(2 * (size_t)size + 4);

	if (!text)
		return;
	strcpy(text, "X'");
	for (int i = 0; i < size; i++)
		sprintf(text + 2 + 2 * i, "%02x", bytes[i]);
	strcat(text, "'");
	output_string(output, key, text);
}

static void add_json_row(const struct rows *rows)
{
	struct output *output = rows->session->output;
	sqlite3_stmt *statement = rows->statement;

	output_open_object(output, NULL);
	for (int i = 0; i < rows->columns; i++) {
		const char *key = sqlite3_column_name(statement, i);
		sqlite3_int64 number = sqlite3_column_int64(statement, i);

		switch (sqlite3_column_type(statement, i)) {
		case SQLITE_INTEGER:
			if (is_address(statement, i))
				output_address(output, key, (uint64_t)number);
			else
				output_signed(output, key, number);
			break;
		case SQLITE_FLOAT:
			output_real(output, key, sqlite3_column_double(statement, i));
			break;
		case SQLITE_TEXT:
			output_string(output, key, (const char *)sqlite3_column_text(statement, i));
			break;
		case SQLITE_BLOB:
			print_bytes(output, key, sqlite3_column_blob(statement, i),
				    sqlite3_column_bytes(statement, i));
			break;
		default:
			output_null(output, key);
		}
	}
	output_close(output);
}

// --- running -------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *rows_init(struct rows *rows, struct session *session,
				    sqlite3_stmt *statement)
{
	int columns = sqlite3_column_count(statement);

	*rows = (struct rows){ .session = session, .statement = statement, .columns = columns };
	rows->widths = calloc((size_t)columns + 1, sizeof(*rows->widths));
	rows->is_number = malloc((size_t)columns + 1);
	if (!rows->widths || !rows->is_number)
		return heap_error_out_of_memory();
	memset(rows->is_number, true, (size_t)columns);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_rows(struct sql_database *database, struct rows *rows,
				     uint64_t *count)
{
	struct output *output = database->session->output;
	bool is_json = output_is_json(output);
	int status;

	output_open_array(output, NULL);
	while ((status = sqlite3_step(rows->statement)) == SQLITE_ROW) {
		++*count;
		if (is_json)
			add_json_row(rows);
		else
			HEAP_TRY(add_text_row(rows));
	}
	// Rows that came before an error are printed, too.
	if (!is_json && !rows->is_measured && *count > 0)
		HEAP_TRY(print_gathered(rows));
	return status == SQLITE_DONE ? NULL : sql_database_error(database);
}

static void finalize(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
}

HEAP_MUST_CHECK
static struct heap_error *run(struct sql_database *database, const char *query, uint64_t *count)
{
	CLEANUP(finalize) sqlite3_stmt *statement = NULL;
	CLEANUP(rows_deinit) struct rows rows = { 0 };
	const char *rest;

	if (sqlite3_prepare_v2(database->sqlite, query, -1, &statement, &rest) != SQLITE_OK)
		return sql_database_error(database);
	if (!statement)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "sql: the query is empty");
	if (rest[strspn(rest, " \t\n;")] != '\0')
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "sql: something follows the query: %s", rest);
	HEAP_TRY(rows_init(&rows, database->session, statement));
	return print_rows(database, &rows, count);
}

struct heap_error *sql_run(struct session *session, const char *query, uint64_t *rows)
{
	CLEANUP(sql_database_close) struct sql_database database = { 0 };

	*rows = 0;
	HEAP_TRY(sql_database_open(&database, session));
	return run(&database, query, rows);
}

void sql_print_tables(struct session *session)
{
	struct output *output = session->output;
	size_t count;
	const struct sql_table *const *tables = sql_tables(&count);

	output_open_array(output, NULL);
	for (size_t i = 0; i < count; i++) {
		const char *hidden = strstr(tables[i]->columns, ", snapshot INTEGER HIDDEN");
		int length = hidden ? (int)(hidden - tables[i]->columns)
				    : (int)strlen(tables[i]->columns);

		output_text(output, "%s(%.*s)\n", tables[i]->name, length, tables[i]->columns);
		output_open_object(output, NULL);
		output_string(output, "table", tables[i]->name);
		output_format(output, "columns", "%.*s", length, tables[i]->columns);
		output_close(output);
	}
}
