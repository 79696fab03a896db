// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * report: the snapshot as a page for a browser.
 */
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/report/report.h"
#include "shell/series/series.h"

// Reports a series in a session of its own: this one stays where it is.
HEAP_MUST_CHECK
static struct heap_error *write_series(const char *path, struct session *session, uint64_t *bytes)
{
	struct session other = { .output = session->output, .errors = session->errors };
	struct heap_error *error;

	progress_init(&other.progress, session->progress.stream);
	session_begin_command(&other, false);
	error = report_write_series(path, &other, session->series->paths, session->series->count,
				    NULL, NULL, bytes);
	session_close(&other);
	return error;
}

static enum command_status report_run(struct session *session, int argc, char **argv)
{
	const char *path = "report.html";
	uint64_t bytes = 0;
	struct heap_error *error;

	if (command_option(&argc, argv, "--output", &path) < 0 ||
	    command_option(&argc, argv, "-o", &path) < 0 || argc != 1)
		return COMMAND_USAGE;
	if (session->series && session->series->count > 1)
		error = write_series(path, session, &bytes);
	else
		error = report_write_one(path, session, &bytes);
	if (error)
		return command_fail(session, error);
	output_text(session->output, "%s: %s\n", path, describe_bytes(session, bytes));
	output_open_object(session->output, NULL);
	output_string(session->output, "file", path);
	output_number(session->output, "bytes", bytes);
	return COMMAND_OK;
}

const struct command report_command = {
	.name = "report",
	.synopsis = "[-o|--output FILE]",
	.summary = "a page for a browser: what is in the heap, and what holds it",
	.details =
		"One file that needs nothing from elsewhere; report.html unless said otherwise.\n"
		"Of a series it shows what is in the last, what grows and what may leak.\n\n"
		"  report -o /tmp/report.html",
	.run = report_run,
};
