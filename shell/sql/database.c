// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/sql/database.h"

#include "lib/base/cleanup.h"
#include "shell/series/series.h"

#include <stdlib.h>
#include <string.h>

enum {
	STEPS = 10000, // SQLite instructions between two checks for ^C
};

static const struct sql_table *const tables[] = {
	&sql_objects, &sql_edges,   &sql_roots,   &sql_root_edges, &sql_types,
	&sql_sites,   &sql_strings, &sql_threads, &sql_frames,     &sql_snapshots,
};

const struct sql_table *const *sql_tables(size_t *count)
{
	*count = sizeof(tables) / sizeof(tables[0]);
	return tables;
}

// --- what a query may do -------------------------------------------------------------

static bool is_harmless_pragma(const char *name)
{
	return name && (sqlite3_stricmp(name, "table_info") == 0 ||
			sqlite3_stricmp(name, "table_xinfo") == 0);
}

// Makes the database read-only: no ATTACH, no writing, no other files, no extensions.
static int authorize(void *context, int action, const char *first, const char *second,
		     const char *name, const char *trigger)
{
	const struct sql_database *database = context;

	(void)name, (void)trigger;
	if (database->is_declaring)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		return second && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
										: SQLITE_OK;
	case SQLITE_PRAGMA:
		return is_harmless_pragma(first) ? SQLITE_OK : SQLITE_DENY;
	default:
		return SQLITE_DENY;
	}
}

// Reports the progress of the outermost table. @return true to stop
static int look_around(void *context)
{
	struct sql_database *database = context;
	const struct sql_cursor *cursor = database->progress;
	struct heap_progress *progress = &database->session->progress.progress;
	double share = cursor && cursor->end > 0 ? (double)cursor->at / (double)cursor->end : 0;

	if (session_must_stop(database->session))
		return 1;
	return progress->report && !progress->report(progress->context, "sql", share);
}

// --- opening -------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *make_sources(struct sql_database *database)
{
	struct session *session = database->session;
	size_t count = session->series ? session->series->count : 1;

	database->sources = calloc(count, sizeof(*database->sources));
	if (!database->sources)
		return heap_error_out_of_memory();
	database->source_count = (uint32_t)count;
	database->current = session->series ? (uint32_t)session->series->current : 0;
	for (uint32_t i = 0; i < count; i++)
		database->sources[i].number = i;
	database->sources[database->current].session = session;
	return NULL;
}

struct heap_error *sql_database_error(struct sql_database *database)
{
	struct heap_error *error = database->error;
	int code = sqlite3_errcode(database->sqlite);

	database->error = NULL;
	if (error)
		return error;
	if (code == SQLITE_INTERRUPT)
		return heap_error_create(HEAP_ERROR_INTERRUPTED, "interrupted");
	if (code == SQLITE_NOMEM)
		return heap_error_out_of_memory();
	if (code == SQLITE_AUTH)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "sql: a snapshot can only be read, by SELECT");
	return heap_error_create(HEAP_ERROR_ARGUMENT, "sql: %s", sqlite3_errmsg(database->sqlite));
}

struct heap_error *sql_database_open(struct sql_database *database, struct session *session)
{
	*database = (struct sql_database){ .session = session };
	HEAP_TRY(make_sources(database));
	if (sqlite3_open_v2(":memory:", &database->sqlite,
			    SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
		return sql_database_error(database);
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (sql_table_register(database, tables[i]) != SQLITE_OK)
			return sql_database_error(database);
	}
	sqlite3_set_authorizer(database->sqlite, authorize, database);
	sqlite3_progress_handler(database->sqlite, STEPS, look_around, database);
	return NULL;
}

void sql_database_close(struct sql_database *database)
{
	sqlite3_close(database->sqlite);
	for (uint32_t i = 0; i < database->source_count; i++)
		sql_source_deinit(&database->sources[i]);
	free(database->sources);
	heap_error_destroy(database->error);
}
