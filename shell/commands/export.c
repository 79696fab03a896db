// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * export: the snapshot in the formats of other tools.
 */
#include "shell/command.h"
#include "shell/export/export.h"
#include "shell/words/operand.h"

static enum command_status export_command_run(struct session *session, int argc, char **argv)
{
	struct export_options options = export_default_options();
	const struct export_format *format;
	struct heap_error *error = NULL;

	if (!export_parse_options(&argc, argv, &options) || argc < 3 || argc > 4)
		return COMMAND_USAGE;
	format = export_find(argv[1]);
	if (!format)
		return command_fail(session, heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not %s",
							       argv[1], export_names(session)));
	if (argc == 4)
		error = operand_parse_object(session, argv[3], &options.object);
	if (!error)
		error = export_run(session, format, &options, argv[2]);
	return error ? command_fail(session, error) : COMMAND_OK;
}

const struct command export_command = {
	.name = "export",
	.synopsis = "[--by sites|owners] [--depth N] [--limit N] [--min SIZE] FORMAT FILE [OBJ]",
	.summary = "the snapshot in the format of another tool",
	.details = "FORMAT: heapsnapshot (Chrome's DevTools, memlab), pprof, collapsed, speedscope "
		   "(bytes\n"
		   "along the calls that allocated them, or along their owners), perfetto, hprof, "
		   "dot, graphml\n"
		   "(graphs of N objects, around OBJ or from the roots), csv (a directory), sqlite "
		   "(a\n"
		   "database, which may hold other snapshots), rows (for ClickHouse). "
		   "heapsh-export(1)\n"
		   "tells more.\n\n"
		   "  export heapsnapshot /dev/null\n"
		   "  export --by owners collapsed -\n"
		   "  export --depth 2 dot - 0x5ed26d8",
	.run = export_command_run,
	.words = WORDS_FORMAT,
};
