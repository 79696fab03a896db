// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh: the shell over a heap snapshot.
 */
#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "lib/snapshot/declarations.h"
#include "shell/base/command_lines.h"
#include "shell/base/numbered.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/interactive.h"
#include "shell/base/options.h"
#include "shell/series/follow_screen.h"
#include "shell/series/series.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	EXIT_NOTHING = 1,
	EXIT_USAGE = 2,
};

struct options {
	bool quiet;
	bool json;
	bool colours;
	bool follow;
	const char *view_option; // an option of --follow alone, or NULL
	struct follow_view view;
	struct HEAP_ARRAY(char *) debug_files; // ends with NULL, unless there are none
};

static const char usage[] =
	"usage: heapsh [-q|--quiet] [--json] [--color=auto|always|never] [--memory SIZE]\n"
	"              [--debug FILE]... FILE... [COMMAND ARG...]\n"
	"       heapsh --follow [--by kind|type|site] [--sort growth|last|bytes|objects|name]\n"
	"              [OPTION]... PATTERN...\n";

static bool parse_colour(const char *when, bool *colours)
{
	if (strcmp(when, "always") == 0)
		*colours = true;
	else if (strcmp(when, "never") == 0)
		*colours = false;
	else
		return strcmp(when, "auto") == 0;
	return true;
}

// How much memory columns may take before they are put into temporary files.
static bool set_memory(const char *text)
{
	uint64_t bytes;

	if (heap_parse_size(text, &bytes)) {
		heap_column_limit(bytes);
		return true;
	}
	heap_print(stderr, "heapsh: --memory %s: not a size such as 512M or 4G\n", text);
	return false;
}

// A NULL follows the last file.
static bool add_debug_file(struct options *options, char *path)
{
	struct heap_error *error = heap_array_reserve(&options->debug_files, 2);

	if (error) {
		heap_error_destroy(error);
		fputs("heapsh: out of memory\n", stderr);
		return false;
	}
	options->debug_files.items[options->debug_files.count++] = path;
	options->debug_files.items[options->debug_files.count] = NULL;
	return true;
}

static void release_options(struct options *options)
{
	heap_array_deinit(&options->debug_files);
}

// How --follow counts and sorts.
static bool take_view(int option, const char *word, struct follow_view *view)
{
	if (option == 'b')
		view->way = follow_way_parse(word);
	else
		view->order = follow_order_parse(word);
	if (view->way < FOLLOW_WAYS && view->order < FOLLOW_ORDERS)
		return true;
	heap_print(stderr, "heapsh: --%s %s: not %s\n", option == 'b' ? "by" : "sort", word,
		   option == 'b' ? "kind, type or site" : "growth, last, bytes, objects or name");
	return false;
}

static const struct options_program program = { .name = "heapsh", .usage = usage };

static bool take_option(int option, struct options *options)
{
	switch (option) {
	case 'q':
		options->quiet = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'c':
		if (parse_colour(optarg, &options->colours))
			return true;
		heap_print(stderr, "heapsh: --color=%s: not auto, always or never\n", optarg);
		return false;
	case 'm':
		return set_memory(optarg);
	case 'd':
		return add_debug_file(options, optarg);
	case 'f':
		options->follow = true;
		return true;
	case 'b':
	case 's':
		options->view_option = option == 'b' ? "by" : "sort";
		return take_view(option, optarg, &options->view);
	default:
		return false;
	}
}

// Takes the options up to the first word that is none.
static bool take_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },
		{ "color", required_argument, NULL, 'c' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ "memory", required_argument, NULL, 'm' },
		{ "debug", required_argument, NULL, 'd' },
		{ "follow", no_argument, NULL, 'f' },
		{ "by", required_argument, NULL, 'b' },
		{ "sort", required_argument, NULL, 's' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	// The command's own options are not ours: stop at a file, or at the command.
	while ((option = options_take(&program, argc, argv, "+qhV", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	if (options->view_option && !options->follow) {
		heap_print(stderr, "heapsh: --%s goes with --follow\n", options->view_option);
		return options_misused(&program);
	}
	return true;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	const char *no_colour = getenv("NO_COLOR");

	options->colours = heap_terminal_is_able(STDOUT_FILENO) && !(no_colour && *no_colour);
	return take_options(argc, argv, options) && (optind < argc || options_misused(&program));
}

// Options may stand between the files and the command, too.
static bool parse_late_options(int argc, char **argv, struct options *options)
{
	if (!take_options(argc, argv, options))
		return false;
	if (!options->follow)
		return true;
	fputs("heapsh: --follow goes before the files\n", stderr);
	return options_misused(&program);
}

// How many objects have a type, in per cent.
static double typed_share(const struct heap_snapshot *snapshot)
{
	uint32_t typed = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		typed += snapshot->type[i] != HEAP_NO_TYPE;
	return snapshot->object_count ? 100.0 * typed / snapshot->object_count : 100;
}

static enum command_status print_banner(struct session *session)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_info *info = &snapshot->info;
	struct heap_error *error =
		heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE);
	time_t seconds = (time_t)(info->time_ns / UINT64_C(1000000000));
	char when[32] = "";
	char bytes[FORMAT_BYTES_MAX];
	struct tm local;

	if (error)
		return command_fail(session, error);
	if (localtime_r(&seconds, &local))
		strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
	output_text(session->output, "Heap snapshot of %s (pid %" PRIu64 "), %s, from %s\n",
		    describe_name(session, info->program), info->pid, when,
		    describe_name(session, info->maker));
	output_text(session->output, "Heap contains %" PRIu32 " object%s, %s",
		    snapshot->object_count, format_plural(snapshot->object_count),
		    format_bytes(heap_snapshot_bytes(snapshot), bytes));
	if (snapshot->object_count == 0)
		output_text(session->output, "\n");
	else if (info->untyped)
		output_text(session->output, "; captured without their types\n");
	else
		output_text(session->output, "; %.1f %% of them typed%s\n", typed_share(snapshot),
			    info->late_ns ? ", for want of time" : "");
	if (*info->other_malloc)
		output_text(session->output, "The program's malloc is %s\n",
			    describe_other_malloc(session));
	if (snapshot->declarations)
		output_text(session->output,
			    "%zu type%s declared in %s.types hold%s; `istype` lists them\n",
			    snapshot->declarations->count,
			    snapshot->declarations->count == 1 ? "" : "s",
			    describe_name(session, snapshot->path),
			    snapshot->declarations->count == 1 ? "s" : "");
	session_end_command(session);
	return COMMAND_OK;
}

static int exit_status(enum command_status status)
{
	switch (status) {
	case COMMAND_OK:
		return 0;
	case COMMAND_MISUSED:
	case COMMAND_USAGE:
		return EXIT_USAGE;
	default:
		return EXIT_NOTHING;
	}
}

// Commands from standard input, a line each. @return the status of the last
static enum command_status run_script(struct session *session)
{
	CLEANUP(command_lines_deinit) struct command_lines lines = { .file = stdin };
	enum command_status status = COMMAND_OK;

	while (!session->quit && !output_is_broken(session->output)) {
		bool is_there;
		struct heap_error *error = command_lines_next(&lines, &is_there);

		if (error)
			return command_fail(session, heap_error_within(error, "standard input"));
		if (!is_there)
			break;
		status = command_run_line(session, lines.text.items);
	}
	return status;
}

static int run(struct session *session, int argc, char **argv)
{
	if (argc > 0) {
		if (!session->quiet && !output_is_json(session->output) &&
		    print_banner(session) != COMMAND_OK)
			return EXIT_USAGE;
		// One argument with spaces in it is a line: heapsh FILE 'count | head'.
		if (argc == 1 && strpbrk(argv[0], " |>"))
			return exit_status(command_run_line(session, argv[0]));
		return exit_status(command_run(session, argc, argv));
	}
	if (!session->quiet && !output_is_json(session->output) &&
	    print_banner(session) != COMMAND_OK)
		return EXIT_USAGE;
	if (isatty(STDIN_FILENO))
		return interactive_run(session);
	return exit_status(run_script(session));
}

// The first is a file; so are those behind it that there are, but for the names of commands.
static int count_files(int argc, char **argv)
{
	int count = 1;

	while (count < argc && !command_find(argv[count]) && access(argv[count], F_OK) == 0)
		count++;
	return count;
}

// A word behind the files that is no command is one more file, which is missing, if it looks like it.
static bool looks_like_file(const char *word)
{
	size_t length = strlen(word);

	return !command_find(word) && !strpbrk(word, " |>") &&
	       (strchr(word, '/') || (length > 5 && strcmp(word + length - 5, ".snap") == 0));
}

// How far work has come is shown where its answer will be.
static void wipe_progress(void *context)
{
	struct session *session = context;

	progress_end(&session->progress);
}

static void fill_session(struct session *session, const struct options *options)
{
	session->debug_files = options->debug_files.items;
	session->quiet = options->quiet;
	session->colours = options->colours;
	progress_init(&session->progress, heap_terminal_is_able(STDERR_FILENO) ? stderr : NULL);
	session->output =
		output_create(stdout, options->json ? OUTPUT_JSON : OUTPUT_TEXT, options->colours);
}

// @return the status to exit with
static int follow(struct options *options, char **patterns, int count)
{
	struct session session = { .errors = stderr };
	struct heap_error *error;

	fill_session(&session, options);
	options->view.colours = options->colours;
	error = session.output ? follow_run(&session, patterns, (size_t)count, &options->view)
			       : heap_error_out_of_memory();
	output_destroy(session.output);
	session_close(&session);
	if (!error)
		return 0;
	heap_print(stderr, "heapsh: %s\n", heap_error_message(error));
	heap_error_destroy(error);
	return EXIT_NOTHING;
}

int main(int argc, char **argv)
{
	CLEANUP(release_options) struct options options = { 0 };
	struct session session = { .errors = stderr };

	heap_standard_streams_init(program.name, EXIT_NOTHING);
	if (!parse_options(argc, argv, &options))
		return EXIT_USAGE;
	if (options.follow)
		return follow(&options, argv + optind, argc - optind);

	char **paths = argv + optind;
	int files = count_files(argc - optind, paths);

	optind += files;
	if (files > 0 && !parse_late_options(argc, argv, &options))
		return EXIT_USAGE;
	if (optind < argc && looks_like_file(argv[optind])) {
		heap_print(stderr, "heapsh: %s: %s, and no command\n", argv[optind],
			   strerror(ENOENT));
		return EXIT_USAGE;
	}

	session.debug_files = options.debug_files.items;
	numbered_sort(paths, (size_t)files);

	struct heap_error *error = series_open(&session, paths, (size_t)files);

	if (error) {
		heap_print(stderr, "heapsh: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_USAGE;
	}
	fill_session(&session, &options);
	if (!session.output) {
		fputs("heapsh: out of memory\n", stderr);
		return EXIT_USAGE;
	}
	output_set_prepare(session.output, wipe_progress, &session);
	int status = run(&session, argc - optind, argv + optind);
	output_destroy(session.output);
	series_close(&session);
	session_close(&session);
	return status;
}
