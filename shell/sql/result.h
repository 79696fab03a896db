// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SQL_RESULT_H
#define SQL_RESULT_H

/** Sets the value of a column. A value that is unknown stays NULL. */

#include "shell/sql/source.h"

#include <sqlite3.h>

/** Copies a text; an empty one is unknown. */
void sql_result_text(sqlite3_context *result, const char *text);

/** Copies a string of a snapshot's string table. */
static inline void sql_result_string(sqlite3_context *result, const struct heap_snapshot *snapshot,
				     uint32_t string)
{
	sql_result_text(result, heap_snapshot_string(snapshot, string));
}

static inline void sql_result_count(sqlite3_context *result, uint64_t number)
{
	sqlite3_result_int64(result, (sqlite3_int64)number);
}

/** The name of a type; HEAP_NO_TYPE has none. */
HEAP_MUST_CHECK
struct heap_error *sql_result_type(sqlite3_context *result, struct sql_source *source,
				   heap_type_id type);

/** The name of a site. */
HEAP_MUST_CHECK
struct heap_error *sql_result_site(sqlite3_context *result, struct sql_source *source,
				   heap_site_id site);

/** The address of an object. */
HEAP_MUST_CHECK
struct heap_error *sql_result_address(sqlite3_context *result, struct sql_source *source,
				      heap_object_id object);

/** A place in the program: of a site, a frame or a root. The strings are of the snapshot's table. */
struct sql_place {
	uint32_t function;
	uint32_t file;
	uint32_t line;    /**< 0: unknown */
	uint32_t module;  /**< or HEAP_NO_INDEX */
	uint64_t address; /**< 0: unknown */
};

/** The columns of a place, in the order in which sites and frames have them. */
enum sql_place_column {
	SQL_PLACE_FUNCTION,
	SQL_PLACE_FILE,
	SQL_PLACE_LINE,
	SQL_PLACE_MODULE,
	SQL_PLACE_ADDRESS,
	SQL_PLACE_COLUMNS,
};

/** @param column  enum sql_place_column */
void sql_result_place(sqlite3_context *result, struct session *session,
		      const struct sql_place *place, int column);

#endif
