// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef EXPORT_TABLES_H
#define EXPORT_TABLES_H

/**
 * A snapshot as tables, for CSV and SQLite; heapsh-export(1) documents them.
 *
 *	snapshots ◀─ types ◀─ members        objects ─▶ types, sites
 *	          ◀─ sites                   edges ─▶ objects, objects
 *	          ◀─ roots                   root_edges ─▶ roots, objects
 *
 * Each row, except those of snapshots, begins with its snapshot's number. Numbers of objects, types
 * and so on count from 0 within a snapshot; type 0 is none.
 */

#include "shell/export/export.h"

#include <stdarg.h>

enum {
	EXPORT_COLUMNS_MAX = 16,
};

struct export_table {
	const char *name;
	/** a name and a letter each: n number, s text, r real: "id n, name s" */
	const char *columns;
	const char *key; /**< of the primary key, "snapshot, id"; NULL: none */
};

/** One value of a row. */
struct export_value {
	enum {
		EXPORT_NUMBER,
		EXPORT_TEXT,
		EXPORT_NULL
	} kind;
	uint64_t number;
	const char *text;
};

/** Where rows go. */
struct export_sink {
	uint64_t snapshot; /**< the number of the one that is written */
	void *context;
	struct heap_error *(*begin)(void *context, const struct export_table *table);
	/** @param values  [count], the snapshot's number among them */
	struct heap_error *(*row)(void *context, const struct export_value *values, size_t count);
	struct heap_error *(*end)(void *context);
};

extern const struct export_table export_tables[];
extern const size_t export_table_count;

/** Writes all tables. */
HEAP_MUST_CHECK
struct heap_error *export_write_tables(struct session *session, const struct export_sink *sink);

/** The next column of a table's list: its name and letter. @return false at the end */
bool export_next_column(const char **columns, char name[32], char *kind);

#endif
