// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-report: a series of snapshots of one process as a page for a browser.
 *
 * The page shows the heap and its holders in the last snapshot, the history of these in the others, and
 * with three snapshots or more, leak candidates.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "shell/base/format.h"
#include "shell/base/numbered.h"
#include "shell/base/options.h"
#include "shell/report/report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EXIT_TROUBLE = 2,
};

struct options {
	bool quiet;
	bool conservative; // words of stacks count like variables
	const char *output;
};

static const struct options_program program = {
	.name = "heapsh-report",
	.usage = "usage: heapsh-report [-q|--quiet] [--conservative] [-o|--output FILE] FILE...\n",
};

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "output", required_argument, NULL, 'o' },
		{ "conservative", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = options_take(&program, argc, argv, "qo:", known, NULL)) != -1) {
		switch (option) {
		case 'q':
			options->quiet = true;
			break;
		case 'o':
			options->output = optarg;
			break;
		case 'k':
			options->conservative = true;
			break;
		default:
			return false;
		}
	}
	if (optind < argc)
		return true;
	fputs("heapsh-report: no snapshot\n", stderr);
	return options_misused(&program);
}

static void report_progress(void *context, size_t number, const char *file)
{
	(void)context;
	heap_print(stderr, "[%zu]: %s\n", number, file);
}

HEAP_MUST_CHECK
static struct heap_error *run(struct session *session, char *const *files, size_t count,
			      const struct options *options)
{
	bool progress = !options->quiet && heap_terminal_is_able(STDERR_FILENO);
	char size[FORMAT_BYTES_MAX];
	uint64_t bytes = 0;

	progress_init(&session->progress, progress ? stderr : NULL);
	session_set_conservative(session, options->conservative);
	session_begin_command(session, false);
	HEAP_TRY(report_write_series(options->output, session, files, count,
				     progress ? report_progress : NULL, NULL, &bytes));
	if (!options->quiet)
		heap_print(stdout, "%s: %s\n", options->output, format_bytes(bytes, size));
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = { .output = "report.html" };
	struct session session = { .errors = stderr };
	struct heap_error *error;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	numbered_sort(argv + optind, (size_t)(argc - optind));
	session.output = output_create(stdout, OUTPUT_TEXT, false);
	error = session.output ? run(&session, argv + optind, (size_t)(argc - optind), &options)
			       : heap_error_out_of_memory();
	session_close(&session);
	output_destroy(session.output);
	if (!error)
		return 0;
	heap_print(stderr, "heapsh-report: %s\n", heap_error_message(error));
	heap_error_destroy(error);
	return EXIT_TROUBLE;
}
