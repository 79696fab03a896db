// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tables in a database of SQLite, which may hold those of other snapshots already. A snapshot
 * is added as a whole or not at all.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "shell/export/tables.h"
#include "shell/base/new_file.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct database {
	const char *path;
	sqlite3 *sqlite;
	sqlite3_stmt *insert;
};

HEAP_MUST_CHECK
static struct heap_error *fail(const struct database *database)
{
	return heap_error_create(HEAP_ERROR_SYSTEM, "%s: %s", database->path,
				 sqlite3_errmsg(database->sqlite));
}

HEAP_MUST_CHECK
static struct heap_error *execute(const struct database *database, const char *statement)
{
	return sqlite3_exec(database->sqlite, statement, NULL, NULL, NULL) == SQLITE_OK
		       ? NULL
		       : fail(database);
}

static void add_column_definitions(sqlite3_str *text, const char *columns)
{
	const char *separator = "";
	char name[32], kind;

	while (export_next_column(&columns, name, &kind)) {
		sqlite3_str_appendf(text, "%s\"%w\" %s", separator, name,
				    kind == 's' ? "TEXT" : "INTEGER");
		separator = ", ";
	}
}

HEAP_MUST_CHECK
static struct heap_error *create_table(const struct database *database,
				       const struct export_table *table)
{
	sqlite3_str *text = sqlite3_str_new(database->sqlite);
	struct heap_error *error;
	char *statement;

	sqlite3_str_appendf(text, "CREATE TABLE IF NOT EXISTS %s (", table->name);
	add_column_definitions(text, table->columns);
	if (table->key)
		sqlite3_str_appendf(text, ", PRIMARY KEY (%s)) WITHOUT ROWID", table->key);
	else
		sqlite3_str_appendall(text, ")");
	statement = sqlite3_str_finish(text);
	error = statement ? execute(database, statement) : heap_error_out_of_memory();
	sqlite3_free(statement);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *begin(void *context, const struct export_table *table)
{
	struct database *database = context;
	const char *columns = table->columns;
	char text[256], name[32], kind;
	size_t length =
		(size_t)snprintf(text, sizeof(text), "INSERT INTO %s VALUES (", table->name);

	for (int i = 0; export_next_column(&columns, name, &kind); i++)
		length +=
			(size_t)snprintf(text + length, sizeof(text) - length, "%s?", i ? "," : "");
	snprintf(text + length, sizeof(text) - length, ")");
	return sqlite3_prepare_v2(database->sqlite, text, -1, &database->insert, NULL) == SQLITE_OK
		       ? NULL
		       : fail(database);
}

// Binds a name in printable form, since sqlite3 prints it to a terminal.
static void bind_name(sqlite3_stmt *insert, int column, const char *text)
{
	char *name = heap_escape(HEAP_ESCAPE_NAME, text, strlen(text));

	if (name)
		sqlite3_bind_text(insert, column, name, -1, free);
}

HEAP_MUST_CHECK
static struct heap_error *row(void *context, const struct export_value *values, size_t count)
{
	struct database *database = context;
	sqlite3_stmt *insert = database->insert;

	for (size_t i = 0; i < count; i++) {
		int column = (int)i + 1;

		if (values[i].kind == EXPORT_NUMBER)
			sqlite3_bind_int64(insert, column, (sqlite3_int64)values[i].number);
		else if (values[i].kind == EXPORT_TEXT)
			bind_name(insert, column, values[i].text);
		else
			sqlite3_bind_null(insert, column);
	}
	if (sqlite3_step(insert) != SQLITE_DONE)
		return fail(database);
	sqlite3_reset(insert);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *end(void *context)
{
	struct database *database = context;
	int status = sqlite3_finalize(database->insert);

	database->insert = NULL;
	return status == SQLITE_OK ? NULL : fail(database);
}

// Reads a number by a statement that may have one parameter. @return false if there is none
static bool ask(const struct database *database, const char *statement, const char *parameter,
		uint64_t *result)
{
	sqlite3_stmt *query;
	bool found;

	if (sqlite3_prepare_v2(database->sqlite, statement, -1, &query, NULL) != SQLITE_OK)
		return false;
	if (parameter)
		bind_name(query, 1, parameter);
	found = sqlite3_step(query) == SQLITE_ROW;
	if (found)
		*result = (uint64_t)sqlite3_column_int64(query, 0);
	sqlite3_finalize(query);
	return found;
}

// @param number  gets the number that the snapshot will have
HEAP_MUST_CHECK
static struct heap_error *prepare(struct database *database, const struct heap_snapshot *snapshot,
				  uint64_t *number)
{
	uint64_t present;

	HEAP_TRY(execute(database, "BEGIN IMMEDIATE"));

	for (size_t i = 0; i < export_table_count; i++)
		HEAP_TRY(create_table(database, &export_tables[i]));
	if (ask(database, "SELECT id FROM snapshots WHERE uuid = ?", snapshot->info.id, &present))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: the snapshot is there already, as number %llu",
					 database->path, (unsigned long long)present);
	if (!ask(database, "SELECT coalesce(max(id), 0) + 1 FROM snapshots", NULL, number))
		return fail(database);
	return NULL;
}

static const char indexes[] =
	"CREATE INDEX IF NOT EXISTS edges_by_source ON edges (snapshot, source);"
	"CREATE INDEX IF NOT EXISTS edges_by_target ON edges (snapshot, target);"
	"CREATE INDEX IF NOT EXISTS root_edges_by_root ON root_edges (snapshot, root);"
	"CREATE INDEX IF NOT EXISTS root_edges_by_target ON root_edges (snapshot, target);"
	"CREATE INDEX IF NOT EXISTS objects_by_type ON objects (snapshot, type)";

HEAP_MUST_CHECK
static struct heap_error *fill(struct database *database, struct session *session)
{
	struct export_sink sink = { 0, database, begin, row, end };

	HEAP_TRY(prepare(database, session->snapshot, &sink.snapshot));
	HEAP_TRY(export_write_tables(session, &sink));
	HEAP_TRY(execute(database, indexes));
	HEAP_TRY(export_check_complete(session, database->path, NULL));
	return execute(database, "COMMIT");
}

// @param is_new  a failure need not restore anything
HEAP_MUST_CHECK
static struct heap_error *write_database(struct database *database, struct session *session,
					 const char *name, bool is_new)
{
	struct heap_error *error = NULL;

	// Only one thread uses the connection, which needs no mutex.
	if (sqlite3_open_v2(name, &database->sqlite,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL) != SQLITE_OK)
		error = fail(database);
	// A signal would leave a journal behind.
	if (!error && is_new)
		error = execute(database, "PRAGMA journal_mode = OFF");
	if (!error)
		error = fill(database, session);
	sqlite3_finalize(database->insert);
	// Closing rolls back what has not been committed.
	if (sqlite3_close(database->sqlite) != SQLITE_OK && !error)
		error = fail(database);
	return error;
}

struct heap_error *export_sqlite(struct export *export)
{
	struct database database = { .path = export->path };
	struct new_file file;

	// Adds a snapshot to an existing database, in one transaction.
	if (access(export->path, F_OK) == 0)
		return write_database(&database, export->session, export->path, false);
	HEAP_TRY(new_file_reserve(&file, export->path));
	return new_file_close(&file,
			      write_database(&database, export->session, file.written, true));
}
