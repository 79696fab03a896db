// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/sql/result.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"

void sql_result_text(sqlite3_context *result, const char *text)
{
	if (text && *text)
		sqlite3_result_text(result, text, -1, SQLITE_TRANSIENT);
}

// Names outlive the statement, so SQLite need not copy them.
HEAP_MUST_CHECK
static struct heap_error *set_name(sqlite3_context *result, const struct sql_name *name)
{
	if (!name)
		return heap_error_out_of_memory();
	sqlite3_result_text(result, name->text, name->length, SQLITE_STATIC);
	return NULL;
}

struct heap_error *sql_result_type(sqlite3_context *result, struct sql_source *source,
				   heap_type_id type)
{
	return type == HEAP_NO_TYPE ? NULL : set_name(result, sql_type_name(source, type));
}

struct heap_error *sql_result_site(sqlite3_context *result, struct sql_source *source,
				   heap_site_id site)
{
	return set_name(result, sql_site_name(source, site));
}

struct heap_error *sql_result_address(sqlite3_context *result, struct sql_source *source,
				      heap_object_id object)
{
	HEAP_TRY(sql_load(source, HEAP_COLUMN_ADDRESS));
	sql_result_count(result, source->session->snapshot->address[object]);
	return NULL;
}

void sql_result_place(sqlite3_context *result, struct session *session,
		      const struct sql_place *place, int column)
{
	const struct heap_snapshot *snapshot = session->snapshot;

	switch (column) {
	case SQL_PLACE_FUNCTION:
		sql_result_string(result, snapshot, place->function);
		break;
	case SQL_PLACE_FILE:
		sql_result_string(result, snapshot, place->file);
		break;
	case SQL_PLACE_LINE:
		if (place->line > 0)
			sql_result_count(result, place->line);
		break;
	case SQL_PLACE_MODULE:
		if (place->module != HEAP_NO_INDEX)
			sql_result_text(result, describe_module(session, place->module));
		break;
	default:
		if (place->address > 0)
			sql_result_count(result, place->address);
	}
}
