// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SQL_VIRTUAL_TABLE_H
#define SQL_VIRTUAL_TABLE_H

/**
 * Virtual tables of SQLite (https://www.sqlite.org/vtab.html) over snapshots.
 *
 *	where type = 'struct node' and size > 64
 *	      └─ rate(): can the table answer that, and how well? ─▶ select(): the rows that remain
 *
 * A cursor visits the rows [at, end), or those that an order lists, and skips the ones that accepts()
 * rejects. Every table but `snapshots` has a hidden last column `snapshot`, the number of the snapshot that
 * is read: the current one, unless a query says `snapshot = N`.
 */

#include "shell/sql/result.h"

#include <sqlite3.h>

struct sql_table;

/** A database for one query. */
struct sql_database {
	struct session *session;
	sqlite3 *sqlite;
	struct sql_source *sources; /**< [source_count] those without a session are not open */
	uint32_t source_count;
	uint32_t current;
	struct heap_error *error;    /**< the first of the query; SQLite keeps only its message */
	bool is_declaring;           /**< a table declares its columns to SQLite, by CREATE TABLE */
	struct sql_cursor *progress; /**< of the outermost table, or NULL */
};

struct sql_cursor {
	sqlite3_vtab_cursor base;
	struct sql_database *database;
	const struct sql_table *table;
	struct sql_source *source;
	uint64_t at, end;
	const uint32_t *order; /**< rows in another order; NULL: by number */
	bool backwards;
	/* Read by accepts() of a table. */
	uint8_t *types, *sites; /**< [types], [sites] 1: passes; or NULL */
	uint64_t least, most;   /**< a size */
	uint64_t first, last;   /**< with an order: rows from first to before last */
	uint32_t owner;         /**< the object or thread of the row that was read last */
	char *buffer;
	size_t capacity;
};

/** A condition that select() gets. */
struct sql_term {
	int column;
	uint8_t op; /**< SQLITE_INDEX_CONSTRAINT_... */
	sqlite3_value *value;
};

/** How well a table answers a condition. */
enum sql_rating {
	SQL_NO,     /**< not at all */
	SQL_SOME,   /**< it skips some rows, and SQLite tests the others again */
	SQL_EXACT,  /**< by a pass over the rows, which is cheap */
	SQL_LOOKUP, /**< it finds the rows, without a pass; SQLite tests them again */
};

enum {
	SQL_UNSORTED = -1,
	SQL_NO_SNAPSHOT = -2, /**< not -1, which is SQLite's number of the row id */
};

struct sql_table {
	const char *name;
	const char *columns; /**< of CREATE TABLE; a type ADDRESS is shown in hex */
	int snapshot;        /**< number of the hidden column, or SQL_NO_SNAPSHOT */
	int sorted;          /**< the column that rows can come sorted by, or SQL_UNSORTED */
	uint64_t (*count)(const struct sql_source *source);
	/** May be NULL: no condition helps. @param op  SQLITE_INDEX_CONSTRAINT_... */
	enum sql_rating (*rate)(int column, uint8_t op);
	/** Narrows a cursor over all rows; may be NULL. @param sorted  rows shall come sorted */
	struct heap_error *(*select)(struct sql_cursor *cursor, const struct sql_term *terms,
				     size_t count, bool sorted);
	/** May be NULL: all pass. */
	bool (*accepts)(struct sql_cursor *cursor, uint64_t row);
	/** Sets a value; leaves it NULL if there is none. */
	struct heap_error *(*column)(struct sql_cursor *cursor, uint64_t row, int column,
				     sqlite3_context *result);
};

extern const struct sql_table sql_objects, sql_edges, sql_root_edges, sql_strings, sql_roots,
	sql_types, sql_sites, sql_threads, sql_frames, sql_snapshots;

/** Makes a table known to the database. @return an SQLite status */
int sql_table_register(struct sql_database *database, const struct sql_table *table);

/** The row that a cursor is at. */
static inline uint64_t sql_row(const struct sql_cursor *cursor)
{
	uint64_t at = cursor->backwards ? cursor->end - 1 - cursor->at : cursor->at;

	return cursor->order ? cursor->order[at] : at;
}

/** Leaves a cursor without rows. */
static inline void sql_select_none(struct sql_cursor *cursor)
{
	cursor->at = cursor->end = 0;
}

/**
 * Marks the ids whose name passes a term: =, LIKE, GLOB, IS NULL, IS NOT NULL. Terms of the same ids
 * are combined.
 *
 * @param name   of an id; NULL: it has none
 * @param flags  [count] made if it is NULL
 */
HEAP_MUST_CHECK
struct heap_error *sql_mark_names(struct sql_source *source, const struct sql_term *term,
				  size_t count,
				  const struct sql_name *(*name)(struct sql_source *, uint32_t),
				  uint8_t **flags);

/** @return SQL_EXACT for a condition that sql_mark_names() takes */
enum sql_rating sql_rate_name(uint8_t op);

/** Opens a snapshot of the series. @param result  NULL: there is none of that number */
HEAP_MUST_CHECK
struct heap_error *sql_open_source(struct sql_database *database, int64_t number,
				   struct sql_source **result);

#endif
