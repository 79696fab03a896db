// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SQL_DATABASE_H
#define SQL_DATABASE_H

/** An SQLite database in memory that contains only the tables of snapshots. */

#include "shell/sql/virtual_table.h"

/** Every table. @param count  gets their number */
const struct sql_table *const *sql_tables(size_t *count);

/** Opens a database of the session's snapshots. Call sql_database_close() also on failure. */
HEAP_MUST_CHECK
struct heap_error *sql_database_open(struct sql_database *database, struct session *session);

void sql_database_close(struct sql_database *database);

/** The error of a table, or of the latest call of SQLite. */
HEAP_MUST_CHECK
struct heap_error *sql_database_error(struct sql_database *database);

#endif
