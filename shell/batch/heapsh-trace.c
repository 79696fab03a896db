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
#include "shell/base/table.h"
#include "shell/base/format.h"
#include "shell/base/new_file.h"
#include "shell/base/options.h"
#include "shell/base/output.h"
#include "shell/trace/holders.h"
#include "shell/trace/oldest.h"
#include "shell/trace/page.h"
#include "shell/trace/pprof.h"
#include "shell/trace/samples.h"
#include "shell/trace/tree.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

enum {
	EXIT_NONE = 1, // no samples
	EXIT_TROUBLE = 2,
	MAX_FRAMES = 32,
	BAR = 40,
	ROWS = 20,
	DECADES = 10, // of lifetimes: below 10 µs, 100 µs... and alive
	PRUNING = 200,
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

// What the value of a filter must be.
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

// --- texts -------------------------------------------------------------------------

struct telling {
	const struct options *options;
	struct output *output;
	struct trace_samples samples;
	struct trace_holders holders; // with a snapshot
	const char *snapshot;         // its name; NULL: there is none
	char *beside;                 // the same, if it was found beside the trace
	uint64_t peak_us;
	char text[4][FORMAT_BYTES_MAX]; // in turn
	unsigned turn;
};

static const char *bytes_text(struct telling *telling, double bytes)
{
	return format_bytes((uint64_t)llround(bytes), telling->text[telling->turn++ % 4]);
}

static const char *time_text(struct telling *telling, uint64_t us)
{
	char *text = telling->text[telling->turn++ % 4];

	if (us < 1000)
		snprintf(text, FORMAT_BYTES_MAX, "%" PRIu64 " µs", us);
	else if (us < 1000000)
		snprintf(text, FORMAT_BYTES_MAX, "%.1f ms", (double)us / 1e3);
	else
		snprintf(text, FORMAT_BYTES_MAX, "%.2f s", (double)us / 1e6);
	return text;
}

static void tell_estimate(struct telling *telling, const char *key,
			  const struct trace_estimate *sum)
{
	output_open_object(telling->output, key);
	output_number(telling->output, "samples", sum->samples);
	output_real(telling->output, "objects", sum->objects);
	output_real(telling->output, "bytes", sum->bytes);
	output_real(telling->output, "error", trace_estimate_error(sum));
	output_close(telling->output);
}

static struct trace_estimate sum_at(const struct telling *telling, enum trace_moment moment,
				    uint64_t time_us)
{
	struct trace_estimate sum = { 0 };

	for (uint32_t i = 0; i < telling->samples.count; i++) {
		const struct trace_sample *sample = &telling->samples.samples[i];

		if (moment == TRACE_ALLOCATED || trace_is_live(sample, time_us))
			trace_estimate_add(&sum, &telling->samples, sample);
	}
	return sum;
}

// Which samples --by means.
static enum trace_moment moment_of(const struct telling *telling, uint64_t *time_us)
{
	const char *by = telling->options->by;

	*time_us = heap_trace_info(telling->samples.trace)->end_us;
	if (strcmp(by, "allocated") == 0)
		return TRACE_ALLOCATED;
	if (strcmp(by, "peak") == 0)
		*time_us = telling->peak_us;
	else if (strcmp(by, "end") != 0)
		heap_parse_time(by, by + strlen(by), time_us);
	return TRACE_AT;
}

// --- views -------------------------------------------------------------------------

static void tell_summary(struct telling *telling)
{
	const struct heap_trace_info *info = heap_trace_info(telling->samples.trace);
	struct trace_estimate allocated = sum_at(telling, TRACE_ALLOCATED, 0);
	struct trace_estimate peak = sum_at(telling, TRACE_AT, telling->peak_us);
	struct trace_estimate end = sum_at(telling, TRACE_AT, info->end_us);
	const time_t seconds = (time_t)(info->start_ns / 1000000000);
	char date[64] = "";
	struct tm local;

	if (localtime_r(&seconds, &local))
		strftime(date, sizeof(date), "%F %T", &local);
	output_text(telling->output, "%s (pid %" PRIu32 "), %s, for %s; 1 sample in %s%s\n",
		    info->program, info->pid, date, time_text(telling, info->end_us),
		    bytes_text(telling, (double)info->mean), info->ended ? "" : "; cut off");
	output_string(telling->output, "program", info->program);
	output_number(telling->output, "pid", info->pid);
	output_number(telling->output, "start_ns", info->start_ns);
	output_number(telling->output, "end_us", info->end_us);
	output_number(telling->output, "mean", info->mean);
	output_boolean(telling->output, "ended", info->ended);
	output_number(telling->output, "dropped", info->dropped);
	output_number(telling->output, "peak_us", telling->peak_us);
	output_text(telling->output, "allocated  %10s ±%s, %.0f objects (%" PRIu64 " samples)\n",
		    bytes_text(telling, allocated.bytes),
		    bytes_text(telling, trace_estimate_error(&allocated)), allocated.objects,
		    allocated.samples);
	tell_estimate(telling, "allocated", &allocated);
	output_text(telling->output, "peak       %10s ±%s at %s\n", bytes_text(telling, peak.bytes),
		    bytes_text(telling, trace_estimate_error(&peak)),
		    time_text(telling, telling->peak_us));
	tell_estimate(telling, "peak", &peak);
	output_text(telling->output, "at the end %10s ±%s\n", bytes_text(telling, end.bytes),
		    bytes_text(telling, trace_estimate_error(&end)));
	tell_estimate(telling, "end", &end);
	if (info->dropped > 0)
		output_text(telling->output, "%" PRIu64 " events are missing: sums are too low\n",
			    info->dropped);
}

static void tell_timeline(struct telling *telling)
{
	const struct heap_trace_info *info = heap_trace_info(telling->samples.trace);
	double most = sum_at(telling, TRACE_AT, telling->peak_us).bytes;

	output_text(telling->output, "%10s %12s\n", "time", "live");
	output_open_array(telling->output, "timeline");
	for (uint64_t i = 0; i <= ROWS; i++) {
		uint64_t time = (uint64_t)((double)info->end_us * (double)i / ROWS);
		struct trace_estimate sum = sum_at(telling, TRACE_AT, time);
		int length = most > 0 ? (int)(sum.bytes / most * BAR + 0.5) : 0;

		output_text(telling->output, "%10s %12s  %.*s\n", time_text(telling, time),
			    bytes_text(telling, sum.bytes), length,
			    "########################################");
		output_open_object(telling->output, NULL);
		output_number(telling->output, "time_us", time);
		tell_estimate(telling, "live", &sum);
		output_close(telling->output);
	}
	output_close(telling->output);
}

static void tell_lifetimes(struct telling *telling)
{
	struct trace_estimate sums[DECADES + 1] = { { 0 } };
	uint64_t limit = 10;

	for (uint32_t i = 0; i < telling->samples.count; i++) {
		const struct trace_sample *sample = &telling->samples.samples[i];
		int decade = 0;

		for (uint64_t bound = 10;
		     decade < DECADES - 1 && sample->died_us - sample->born_us >= bound;
		     bound *= 10)
			decade++;
		if (sample->died_us == TRACE_ALIVE)
			decade = DECADES;
		trace_estimate_add(&sums[decade], &telling->samples, sample);
	}
	output_text(telling->output, "%14s %12s %12s\n", "lifetime", "objects", "bytes");
	output_open_array(telling->output, "lifetimes");
	for (int i = 0; i <= DECADES; i++, limit *= 10) {
		bool is_last = i >= DECADES - 1;

		if (sums[i].samples == 0)
			continue;
		output_text(telling->output, "%3s %10s %12.0f %12s\n",
			    i == DECADES ? ""
			    : is_last    ? ">="
					 : "<",
			    i == DECADES ? "alive"
					 : time_text(telling, is_last ? limit / 10 : limit),
			    sums[i].objects, bytes_text(telling, sums[i].bytes));
		output_open_object(telling->output, NULL);
		if (!is_last)
			output_number(telling->output, "below_us", limit);
		output_boolean(telling->output, "alive", i == DECADES);
		tell_estimate(telling, "sum", &sums[i]);
		output_close(telling->output);
	}
	output_close(telling->output);
}

// The JSON keys of arrays of nodes, by depth; the last one repeats.
static const char *const call_keys[] = { "places", "calls", NULL };
static const char *const holder_keys[] = { "places", "types", "holders", NULL };

static void tell_nodes(struct telling *telling, const struct trace_tree *tree, uint32_t parent,
		       const char *indent, unsigned depth, const char *const *keys)
{
	double all = tree->nodes[0].sum.bytes;
	bool prunes = telling->options->view != VIEW_HOLDERS;
	uint64_t told = 0;

	output_open_array(telling->output, *keys);
	for (uint32_t i = tree->nodes[parent].child; i; i = tree->nodes[i].next) {
		const struct trace_node *node = &tree->nodes[i];
		char below[512];

		if (told++ == telling->options->limit ||
		    (depth && prunes && node->sum.bytes < all / PRUNING))
			break;
		table_row(telling->output, "%12s\t%10s\t%12.0f\t%5.1f\t%s%s",
			  bytes_text(telling, node->sum.bytes),
			  bytes_text(telling, trace_estimate_error(&node->sum)), node->sum.objects,
			  all > 0 ? 100 * node->sum.bytes / all : 0, indent, node->text);
		output_open_object(telling->output, NULL);
		output_string(telling->output, "place", node->text);
		tell_estimate(telling, "sum", &node->sum);
		snprintf(below, sizeof(below), "%s  ", indent);
		if (node->child && depth < 200)
			tell_nodes(telling, tree, i, below, depth + 1, keys[1] ? keys + 1 : keys);
		output_close(telling->output);
	}
	output_close(telling->output);
}

HEAP_MUST_CHECK
static struct heap_error *tell_tree(struct telling *telling, bool upwards, uint32_t depth)
{
	CLEANUP(trace_tree_deinit) struct trace_tree tree = { 0 };
	uint64_t time_us;
	enum trace_moment moment = moment_of(telling, &time_us);

	HEAP_TRY(trace_tree_init(&tree, &telling->samples, moment, time_us, upwards, depth));
	table_header(telling->output, "0231", "%12s\t%10s\t%12s\t%5s\t%s", "bytes", "±", "objects",
		     "%", upwards ? "site" : "call");
	tell_nodes(telling, &tree, 0, "", 0, call_keys);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *tell_holders(struct telling *telling)
{
	uint64_t time_us = trace_holders_time_us(&telling->holders);
	CLEANUP(trace_tree_deinit) struct trace_tree tree = { 0 };

	HEAP_TRY(trace_holders_tree(&telling->holders, &telling->samples, &tree));
	output_text(telling->output,
		    "%s, %s from the trace's beginning: %" PRIu32 " samples are there\n\n",
		    telling->options->snapshot, time_text(telling, time_us),
		    telling->samples.count);
	table_header(telling->output, "0231", "%12s\t%10s\t%12s\t%5s\t%s", "bytes", "±", "objects",
		     "%", "site, type, held by");
	output_string(telling->output, "snapshot", telling->options->snapshot);
	output_number(telling->output, "time_us", time_us);
	output_number(telling->output, "samples", telling->samples.count);
	tell_nodes(telling, &tree, 0, "", 0, holder_keys);
	return NULL;
}

// A line per way: "main;serve;grow 4096", for flame graphs.
static void tell_collapsed(struct telling *telling, const struct trace_tree *tree, uint32_t node,
			   const char *before)
{
	double bytes = tree->nodes[node].sum.bytes;
	CLEANUP_FREE char *way = NULL;

	if (node && asprintf(&way, "%s%s%.*s", before, *before ? ";" : "",
			     (int)strcspn(tree->nodes[node].text, ";"), tree->nodes[node].text) < 0)
		way = NULL;
	for (uint32_t i = tree->nodes[node].child; i; i = tree->nodes[i].next) {
		bytes -= tree->nodes[i].sum.bytes;
		tell_collapsed(telling, tree, i, way ? way : "");
	}
	if (way && llround(bytes) > 0)
		output_text(telling->output, "%s %lld\n", way, llround(bytes));
}

HEAP_MUST_CHECK
static struct heap_error *write_page(const struct telling *telling, const char *name)
{
	const char *path = telling->options->page;
	struct new_file file;

	if (path) {
		HEAP_TRY(new_file_open(&file, path));
		return new_file_close(&file, trace_page_write(file.stream, &telling->samples,
							      telling->peak_us, name));
	}
	HEAP_TRY(trace_page_write(stdout, &telling->samples, telling->peak_us, name));
	return fflush(stdout) != 0 || ferror(stdout) ? heap_standard_output_error() : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *tell(struct telling *telling)
{
	struct trace_tree tree;
	uint64_t time_us;
	enum trace_moment moment = moment_of(telling, &time_us);
	struct heap_error *error = NULL;

	switch (telling->options->view) {
	case VIEW_SUMMARY:
		tell_summary(telling);
		output_text(telling->output, "\n");
		tell_timeline(telling);
		output_text(telling->output, "\n");
		tell_lifetimes(telling);
		output_text(telling->output, "\n");
		return tell_tree(telling, true, 1);
	case VIEW_SITES:
		return tell_tree(telling, true, 1);
	case VIEW_TREE:
		return tell_tree(telling, false, UINT32_MAX);
	case VIEW_CALLERS:
		return tell_tree(telling, true, UINT32_MAX);
	case VIEW_TIMELINE:
		tell_timeline(telling);
		return NULL;
	case VIEW_LIFETIMES:
		tell_lifetimes(telling);
		return NULL;
	case VIEW_COLLAPSED:
		error = trace_tree_init(&tree, &telling->samples, moment, time_us, false,
					UINT32_MAX);
		if (!error)
			tell_collapsed(telling, &tree, 0, "");
		trace_tree_deinit(&tree);
		return error;
	case VIEW_PPROF:
		return trace_pprof_write(&telling->samples, time_us,
					 output_stream(telling->output));
	case VIEW_HOLDERS:
		return tell_holders(telling);
	case VIEW_OLDEST:
		return trace_oldest_print(&telling->holders, &telling->samples, telling->snapshot,
					  telling->options->limit);
	case VIEW_HTML:
		break;
	}
	return error;
}

// Opens the snapshot whose objects are meant, if there is one.
HEAP_MUST_CHECK
static struct heap_error *open_snapshot(struct telling *telling, const char *path)
{
	const struct options *options = telling->options;
	const struct heap_trace_info *info = heap_trace_info(telling->samples.trace);

	telling->snapshot = options->snapshot;
	if (options->snapshot)
		return trace_holders_open(&telling->holders, options->snapshot, info,
					  telling->output);
	if (options->view != VIEW_OLDEST)
		return NULL;
	HEAP_TRY(trace_oldest_open(&telling->holders, path, info, telling->output,
				   &telling->beside));
	telling->snapshot = telling->beside;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *run(struct telling *telling, const char *path)
{
	HEAP_TRY(trace_samples_load(&telling->samples, path));
	HEAP_TRY(trace_samples_filter(&telling->samples, &telling->options->filter));
	HEAP_TRY(open_snapshot(telling, path));
	if (telling->snapshot)
		trace_holders_filter(&telling->holders, &telling->samples);
	HEAP_TRY(trace_samples_peak(&telling->samples, &telling->peak_us));
	if (telling->options->view == VIEW_HTML)
		return write_page(telling, path);
	output_open_object(telling->output, NULL);
	HEAP_TRY(tell(telling));
	output_close(telling->output);
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
	telling.samples.shows_wrappers = options.wrappers;
	telling.output = output_create(
		stdout, options.json && options.view != VIEW_HTML ? OUTPUT_JSON : OUTPUT_TEXT,
		false);
	error = telling.output ? run(&telling, argv[optind]) : heap_error_out_of_memory();
	if (error)
		heap_print(stderr, "heapsh-trace: %s\n", heap_error_message(error));
	status = error ? EXIT_TROUBLE : telling.samples.count ? 0 : EXIT_NONE;
	heap_error_destroy(error);
	trace_holders_close(&telling.holders);
	free(telling.beside);
	trace_samples_deinit(&telling.samples);
	written = !telling.output || output_finish(telling.output);
	output_destroy(telling.output);
	return written ? status : EXIT_TROUBLE;
}
