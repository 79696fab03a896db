// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SQL_H
#define SQL_H

/** Queries in SQL over the snapshot of a session, and over those that were opened with it. */

#include "shell/base/session.h"

/**
 * Runs one statement, and prints its rows to the session's output.
 *
 * @param rows  gets their number
 * @return NULL; HEAP_ERROR_ARGUMENT: the query is wrong, or no query; HEAP_ERROR_INTERRUPTED; errors of
 *         what it loads and computes
 */
HEAP_MUST_CHECK
struct heap_error *sql_run(struct session *session, const char *query, uint64_t *rows);

/** Prints the tables and their columns. */
void sql_print_tables(struct session *session);

#endif
