// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-trace: what a program has allocated over time, by a trace (HEAPSNAP_TRACE).
 *
 *	app (pid 4242), 2026-11-20 19:00:01, for 61.2 s; 1 sample in 512.0 KiB
 *	allocated  1.3 GiB ±31.0 MiB …
 *	peak       98.1 MiB ±9.9 MiB at 40.1 s
 *
 * Sums are estimates from a sample; behind ± is what they may be wrong by: two standard
 * deviations, so that 19 of 20 are that good.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/query/filter.h"
#include "shell/base/new_file.h"
#include "shell/base/options.h"
#include "shell/base/output.h"
#include "shell/trace/oldest.h"
#include "shell/trace/page.h"
#include "shell/trace/pprof.h"
#include "shell/trace/views.h"

#include <stdlib.h>
#include <string.h>

enum {
	EXIT_NONE = 1, // no samples
	EXIT_TROUBLE = 2,
	MAX_FRAMES = 32,
};

enum view {
	VIEW_SUMMARY,
	VIEW_SITES,
	VIEW_TREE,
	VIEW_CALLERS,
	VIEW_TIMELINE,
	VIEW_LIFETIMES,
	VIEW_COLLAPSED,
	VIEW_PPROF,
	VIEW_HTML,
	VIEW_HOLDERS,
	VIEW_OLDEST,
};

struct options {
	bool json;
	enum view view;
	const char *page;     // where it goes; NULL: to standard output
	bool wrappers;        // shown
	const char *snapshot; // whose objects are meant; NULL: all
	const char *by;       // allocated, peak, end, or a time
	uint64_t limit;
	struct trace_filter filter;
	const char *with[MAX_FRAMES], *without[MAX_FRAMES];
};

static const struct options_program program = {
	.name = "heapsh-trace",
	.usage = "usage: heapsh-trace [--json] [--sites | --tree | --callers | --timeline | "
		 "--lifetimes |\n"
		 "           --collapsed | --pprof | --html | --holders | --oldest] [-o|--output "
		 "PAGE]\n"
		 "           [--by allocated|peak|end|TIME] [--limit N] [--wrappers]\n"
		 "           [--snapshot SNAPSHOT] [FILTER...] FILE\n"
		 "filters: --between TIME,TIME  --live TIME,TIME  --at TIME  --longer TIME  "
		 "--shorter TIME\n"
		 "         --size [<>=]SIZE  --site PLACE  --frame PLACE  --not-frame PLACE  "
		 "--thread ID\n",
};

// --- options -----------------------------------------------------------------------

static bool parse_one_time(const char *text, bool *has, uint64_t *result)
{
	*has = true;
	return heap_parse_time(text, text + strlen(text), result);
}

static bool parse_range(const char *text, bool *has, uint64_t range[2])
{
	*has = true;
	return heap_parse_times(text, range);
}

static bool parse_size(const char *text, struct trace_filter *filter)
{
	char sign = strchr("<>=", *text) && *text ? *text++ : '=';
	uint64_t size;

	if (!heap_parse_size(text, &size))
		return false;
	filter->size_min = sign == '>' ? size + 1 : sign == '=' ? size : 0;
	filter->size_max = sign == '<' ? size - (size > 0) : sign == '=' ? size : 0;
	return true;
}

static bool add_frame(const char **list, unsigned *count, const char *text)
{
	if (*count == MAX_FRAMES)
		return false;
	list[(*count)++] = text;
	return true;
}

static bool take_filter(int option, struct options *options)
{
	struct trace_filter *filter = &options->filter;
	uint64_t number;

	switch (option) {
	case 'b':
		return parse_range(optarg, &filter->has_between, filter->between);
	case 'l':
		return parse_range(optarg, &filter->has_live, filter->live);
	case 'a':
		if (!parse_one_time(optarg, &filter->has_live, &filter->live[0]))
			return false;
		filter->live[1] = filter->live[0];
		return true;
	case '>':
		return parse_one_time(optarg, &filter->has_longer, &filter->longer_us);
	case '<':
		return parse_one_time(optarg, &filter->has_shorter, &filter->shorter_us);
	case 's':
		return parse_size(optarg, filter);
	case 'S':
		filter->site = optarg;
		return true;
	case 'f':
		return add_frame(options->with, &filter->with_count, optarg);
	case 'F':
		return add_frame(options->without, &filter->without_count, optarg);
	case 't':
		filter->has_thread = true;
		if (!options_number(optarg, 0, UINT32_MAX, &number))
			return false;
		filter->thread = (uint32_t)number;
		return true;
	default:
		return false;
	}
}

// Says which values a filter takes.
static const char *filter_value(int option)
{
	switch (option) {
	case 'b':
	case 'l':
		return "two times, like 1.5s,2m";
	case 's':
		return "a size, like 64K or >1M";
	case 't':
		return "the number of a thread";
	case 'f':
	case 'F':
		return "taken: there are too many of them";
	default:
		return "a time, like 1.5s";
	}
}

static bool is_moment(const char *text)
{
	uint64_t time;

	return strcmp(text, "allocated") == 0 || strcmp(text, "peak") == 0 ||
	       strcmp(text, "end") == 0 || heap_parse_time(text, text + strlen(text), &time);
}

static const struct option known[] = {
	{ "json", no_argument, NULL, 'j' },
	{ "sites", no_argument, NULL, 256 + VIEW_SITES },
	{ "tree", no_argument, NULL, 256 + VIEW_TREE },
	{ "callers", no_argument, NULL, 256 + VIEW_CALLERS },
	{ "timeline", no_argument, NULL, 256 + VIEW_TIMELINE },
	{ "lifetimes", no_argument, NULL, 256 + VIEW_LIFETIMES },
	{ "collapsed", no_argument, NULL, 256 + VIEW_COLLAPSED },
	{ "pprof", no_argument, NULL, 256 + VIEW_PPROF },
	{ "html", no_argument, NULL, 256 + VIEW_HTML },
	{ "holders", no_argument, NULL, 256 + VIEW_HOLDERS },
	{ "oldest", no_argument, NULL, 256 + VIEW_OLDEST },
	{ "snapshot", required_argument, NULL, 'p' },
	{ "wrappers", no_argument, NULL, 'w' },
	{ "output", required_argument, NULL, 'o' },
	{ "by", required_argument, NULL, 'y' },
	{ "limit", required_argument, NULL, 'n' },
	{ "between", required_argument, NULL, 'b' },
	{ "live", required_argument, NULL, 'l' },
	{ "at", required_argument, NULL, 'a' },
	{ "longer", required_argument, NULL, '>' },
	{ "shorter", required_argument, NULL, '<' },
	{ "size", required_argument, NULL, 's' },
	{ "site", required_argument, NULL, 'S' },
	{ "frame", required_argument, NULL, 'f' },
	{ "not-frame", required_argument, NULL, 'F' },
	{ "thread", required_argument, NULL, 't' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static bool take_option(int option, int index, struct options *options)
{
	if (option >= 256) {
		options->view = (enum view)(option - 256);
		return true;
	}
	switch (option) {
	case 'j':
		options->json = true;
		return true;
	case 'o':
		options->page = optarg;
		return true;
	case 'w':
		options->wrappers = true;
		return true;
	case 'p':
		options->snapshot = optarg;
		return true;
	case 'y':
		options->by = optarg;
		return is_moment(optarg) ||
		       options_complain(&program, "by", optarg,
					"allocated, peak, end or a time, like 1.5s");
	case 'n':
		return options_limit(&program, &options->limit);
	case '?':
		return false;
	default:
		return take_filter(option, options) ||
		       options_complain(&program, known[index].name, optarg, filter_value(option));
	}
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	int option, index = 0;

	while ((option = options_take(&program, argc, argv, "o:", known, &index)) != -1) {
		if (!take_option(option, index, options))
			return false;
	}
	options->filter.with = options->with;
	options->filter.without = options->without;
	if (options->snapshot && options->view == VIEW_SUMMARY)
		options->view = VIEW_HOLDERS;
	if (argc - optind == 1 && (options->view == VIEW_HTML || !options->page) &&
	    (options->view != VIEW_HOLDERS || options->snapshot))
		return true;
	return options_misused(&program);
}

// --- reading and printing ------------------------------------------------------------------

struct telling {
	const struct options *options;
	struct trace_views views;
	char *beside; // the snapshot's name, if it was found beside the trace
};

HEAP_MUST_CHECK
static struct heap_error *write_page(const struct telling *telling, const char *name)
{
	const char *path = telling->options->page;
	struct new_file file;

	if (path) {
		HEAP_TRY(new_file_open(&file, path));
		return new_file_close(&file, trace_page_write(file.stream, &telling->views.samples,
							      telling->views.peak_us, name));
	}
	HEAP_TRY(trace_page_write(stdout, &telling->views.samples, telling->views.peak_us, name));
	return fflush(stdout) != 0 || ferror(stdout) ? heap_standard_output_error() : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *tell_summary(struct trace_views *views)
{
	trace_views_summary(views);
	output_text(views->output, "\n");
	trace_views_timeline(views);
	output_text(views->output, "\n");
	trace_views_lifetimes(views);
	output_text(views->output, "\n");
	return trace_views_tree(views, true, 1);
}

HEAP_MUST_CHECK
static struct heap_error *tell(struct trace_views *views, enum view view)
{
	uint64_t time_us;

	switch (view) {
	case VIEW_SUMMARY:
		return tell_summary(views);
	case VIEW_SITES:
		return trace_views_tree(views, true, 1);
	case VIEW_TREE:
		return trace_views_tree(views, false, UINT32_MAX);
	case VIEW_CALLERS:
		return trace_views_tree(views, true, UINT32_MAX);
	case VIEW_TIMELINE:
		trace_views_timeline(views);
		return NULL;
	case VIEW_LIFETIMES:
		trace_views_lifetimes(views);
		return NULL;
	case VIEW_COLLAPSED:
		return trace_views_collapsed(views);
	case VIEW_PPROF:
		trace_views_moment(views, &time_us);
		return trace_pprof_write(&views->samples, time_us, output_stream(views->output));
	case VIEW_HOLDERS:
		return trace_views_holders(views);
	case VIEW_OLDEST:
		return trace_oldest_print(&views->holders, &views->samples, views->snapshot,
					  views->limit);
	case VIEW_HTML:
		break;
	}
	return NULL;
}

// Opens the snapshot whose objects are meant, if there is one.
HEAP_MUST_CHECK
static struct heap_error *open_snapshot(struct telling *telling, const char *path)
{
	const struct options *options = telling->options;
	const struct heap_trace_info *info = heap_trace_info(telling->views.samples.trace);

	telling->views.snapshot = options->snapshot;
	if (options->snapshot)
		return trace_holders_open(&telling->views.holders, options->snapshot, info,
					  telling->views.output);
	if (options->view != VIEW_OLDEST)
		return NULL;
	HEAP_TRY(trace_oldest_open(&telling->views.holders, path, info, telling->views.output,
				   &telling->beside));
	telling->views.snapshot = telling->beside;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct telling *telling, const char *path)
{
	HEAP_TRY(trace_samples_load(&telling->views.samples, path));
	HEAP_TRY(trace_samples_filter(&telling->views.samples, &telling->options->filter));
	HEAP_TRY(open_snapshot(telling, path));
	if (telling->views.snapshot)
		trace_holders_filter(&telling->views.holders, &telling->views.samples);
	HEAP_TRY(trace_samples_peak(&telling->views.samples, &telling->views.peak_us));
	if (telling->options->view == VIEW_HTML)
		return write_page(telling, path);
	output_open_object(telling->views.output, NULL);
	HEAP_TRY(tell(&telling->views, telling->options->view));
	output_close(telling->views.output);
	return NULL;
}

int main(int argc, char **argv)
{
	struct options options = { .by = "allocated", .limit = 20 };
	struct telling telling = { .options = &options };
	struct heap_error *error;
	bool written;
	int status;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	telling.views.by = options.by;
	telling.views.limit = options.limit;
	telling.views.samples.shows_wrappers = options.wrappers;
	telling.views.output = output_create(
		stdout, options.json && options.view != VIEW_HTML ? OUTPUT_JSON : OUTPUT_TEXT,
		false);
	error = telling.views.output ? run(&telling, argv[optind]) : heap_error_out_of_memory();
	if (error)
		heap_print(stderr, "heapsh-trace: %s\n", heap_error_message(error));
	status = error ? EXIT_TROUBLE : telling.views.samples.count ? 0 : EXIT_NONE;
	heap_error_destroy(error);
	trace_holders_close(&telling.views.holders);
	free(telling.beside);
	trace_samples_deinit(&telling.views.samples);
	written = !telling.views.output || output_finish(telling.views.output);
	output_destroy(telling.views.output);
	return written ? status : EXIT_TROUBLE;
}
