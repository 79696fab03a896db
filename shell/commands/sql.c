// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * sql: a query in SQL.
 */
#include "shell/command.h"
#include "shell/sql/sql.h"

static enum command_status sql_run_command(struct session *session, int argc, char **argv)
{
	struct heap_error *error;
	uint64_t rows;

	if (argc == 1) {
		sql_print_tables(session);
		return COMMAND_OK;
	}
	error = sql_run(session, command_join(session, argc - 1, argv + 1), &rows);
	if (error)
		return command_fail(session, error);
	return rows > 0 ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command sql_command = {
	.name = "sql",
	.synopsis = "[QUERY...]",
	.summary = "a query in SQL over objects, edges, roots, types and sites",
	.nothing = "No rows.",
	.details =
		"QUERY is a SELECT of SQLite. Without one, the tables and their columns are "
		"listed;\n"
		"heapsh-sql(7) describes them, and answers ten questions. At the prompt the "
		"query\n"
		"needs no quotes, but double quotes if a | or > follows it. Columns that it does\n"
		"not mention are neither loaded nor computed. In a series, `snapshot = N` "
		"selects\n"
		"the snapshot of a table.\n"
		"\n"
		"  sql select type, count(*), sum(retained) from objects group by 1 order by 3 "
		"desc\n"
		"  sql \"select * from roots where retained > 1000000\" | less",
	.run = sql_run_command,
};
