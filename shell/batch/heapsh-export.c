// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-export: snapshots in the formats of other tools, a file each, or all in a database.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "shell/base/numbered.h"
#include "shell/export/export.h"
#include "shell/words/operand.h"
#include "shell/base/options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EXIT_TROUBLE = 2,
};

struct options {
	struct export_options export;
	const struct export_format *format;
	const char *output; // NULL: after the snapshot's name
	const char *object;
	bool quiet;
	bool conservative; // words of stacks count like variables
};

static void print_formats(FILE *stream)
{
	fputs("formats:", stream);
	for (size_t i = 0; i < export_format_count; i++)
		fprintf(stream, " %s", export_formats[i].name);
	fputs("\n", stream);
}

static const struct options_program program = {
	.name = "heapsh-export",
	.usage = "usage: heapsh-export [-q|--quiet] [-o|--output FILE] [--by sites|owners] "
		 "[--object OBJ]\n"
		 "           [--depth N] [--limit N] [--min SIZE] [--conservative] --format FORMAT "
		 "SNAPSHOT...\n",
	.print_rest = print_formats,
};

static bool parse_by(const char *text, enum export_by *result)
{
	*result = strcmp(text, "owners") == 0 ? EXPORT_BY_OWNERS : EXPORT_BY_SITES;
	return *result == EXPORT_BY_OWNERS || strcmp(text, "sites") == 0;
}

static bool parse_option(int option, struct options *options)
{
	switch (option) {
	case 'q':
		options->quiet = true;
		return true;
	case 'o':
		options->output = optarg;
		return true;
	case 'k':
		options->conservative = true;
		return true;
	case 'O':
		options->object = optarg;
		return true;
	case 'f':
		options->format = export_find(optarg);
		return options->format ||
		       options_complain(&program, "format", optarg, "one of the formats");
	case 'b':
		return parse_by(optarg, &options->export.by) ||
		       options_complain(&program, "by", optarg, "sites or owners");
	case 'd':
		return options_take_number(&program, "depth", 0, UINT64_MAX,
					   &options->export.depth);
	case 'l':
		return options_limit(&program, &options->export.limit);
	case 'm':
		return heap_parse_size(optarg, &options->export.min) ||
		       options_complain(&program, "min", optarg, "a size, like 64K");
	default:
		return false;
	}
}

// @return false: wrong, and said so
static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, 'f' },
		{ "by", required_argument, NULL, 'b' },
		{ "depth", required_argument, NULL, 'd' },
		{ "limit", required_argument, NULL, 'l' },
		{ "min", required_argument, NULL, 'm' },
		{ "object", required_argument, NULL, 'O' },
		{ "conservative", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = options_take(&program, argc, argv, "qo:", known, NULL)) != -1) {
		if (!parse_option(option, options))
			return false;
	}
	if (!options->format || optind == argc)
		return options_misused(&program);
	// One after the other they may well make sense: rows do.
	if (options->output && strcmp(options->output, "-") != 0 && argc - optind > 1 &&
	    options->format->target != EXPORT_TO_DATABASE) {
		fputs("heapsh-export: -o names one file, and there are several snapshots\n",
		      stderr);
		return false;
	}
	return true;
}

// "app-00.dot" of "/var/app-00.snap": in the working directory; malloc'd, or NULL.
static char *name_after(const char *snapshot, const struct export_format *format)
{
	const char *slash = strrchr(snapshot, '/');
	const char *name = slash ? slash + 1 : snapshot;
	size_t length = strlen(name);
	char *result;

	if (length > strlen(".snap") && strcmp(name + length - strlen(".snap"), ".snap") == 0)
		length -= strlen(".snap");
	return asprintf(&result, "%.*s.%s", (int)length, name, format->extension) < 0 ? NULL
										      : result;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct session *session, const struct options *options,
			      const char *path)
{
	struct export_options export = options->export;

	if (options->object)
		HEAP_TRY(operand_parse_object(session, options->object, &export.object));
	return export_run(session, options->format, &export, path);
}

HEAP_MUST_CHECK
static struct heap_error *export_one(const char *snapshot, const struct options *options,
				     const char *path)
{
	struct session session = { .errors = stderr, .quiet = options->quiet };
	struct heap_error *error = session_open(&session, snapshot);

	if (error)
		return error;
	progress_init(&session.progress,
		      !options->quiet && heap_terminal_is_able(STDERR_FILENO) ? stderr : NULL);
	session_set_conservative(&session, options->conservative);
	session_begin_command(&session, false);
	session.output = output_create(stdout, OUTPUT_TEXT, false);
	error = session.output ? run(&session, options, path) : heap_error_out_of_memory();
	progress_end(&session.progress);
	session_end_command(&session);
	if (!error && session.output && !output_finish(session.output))
		error = heap_standard_output_error();
	output_destroy(session.output);
	session_close(&session);
	return error;
}

int main(int argc, char **argv)
{
	struct options options = { .export = export_default_options() };
	char *path = NULL;
	int status = 0;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	numbered_sort(argv + optind, (size_t)(argc - optind));
	for (int i = optind; i < argc; i++) {
		struct heap_error *error;

		// A database takes all of them, and is named after the first.
		if (!path || options.format->target != EXPORT_TO_DATABASE) {
			free(path);
			path = options.output ? strdup(options.output)
					      : name_after(argv[i], options.format);
		}
		error = path ? export_one(argv[i], &options, path) : heap_error_out_of_memory();
		if (error) {
			heap_print(stderr, "heapsh-export: %s\n", heap_error_message(error));
			heap_error_destroy(error);
			status = EXIT_TROUBLE;
		} else if (!options.quiet && strcmp(path, "-") != 0) {
			heap_print(stdout, "%s\n", path);
		}
	}
	free(path);
	return status;
}
