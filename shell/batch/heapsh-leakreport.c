// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-leakreport: what leaks, by a series of snapshots of one process.
 *
 *	LEAK[1] struct node at 0x5f01020        new in the second file, there in all that follow
 *	LEAK[2] struct node at 0x5f01040
 *
 * An object that is new in a file and is still there in the last one may be a leak. Objects that are new in
 * the last file are not reported: it is too early to tell. Groups of these objects follow, with their growth
 * over the whole series.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "shell/base/numbered.h"
#include "shell/print/describe.h"
#include "shell/print/memory_use.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/series/exit_note.h"
#include "shell/series/candidates.h"
#include "shell/series/candidates_html.h"
#include "shell/base/options.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	EXIT_NONE = 1, // no candidates
	EXIT_TROUBLE = 2,
	FEWEST = 3,
	SHORT_SUMMARY = 25, // groups by dominator that are told, which may be as many as candidates
	SHORT_LIST = 10,    // candidates that are told on a terminal
	MAX_WORDS = 64,     // of filters
};

struct options {
	bool quiet;
	bool json;
	bool html;
	bool summary_only;
	uint64_t limit;    // groups that are told
	bool conservative; // words of stacks count like variables
	struct candidates_options candidates;
	char *words[MAX_WORDS];
};

static const struct options_program program = {
	.name = "heapsh-leakreport",
	.usage = "usage: heapsh-leakreport [-q|--quiet] [--json|--html] [-1] [-s|--summary]\n"
		 "           [--by kind|type|site|backtrace|dominator] [--type NAME] [--site "
		 "PLACE]\n"
		 "           [--min N|SIZE] [--limit N] [--conservative] FILE FILE FILE...\n",
};

static bool add_filter(struct options *options, char *word, char *value)
{
	int count = options->candidates.filter_count;

	if (count + 2 > MAX_WORDS)
		return false;
	options->words[count] = word;
	options->words[count + 1] = value;
	options->candidates.filter_count = count + 2;
	return true;
}

// "10": objects; "64K": bytes.
static bool parse_min(const char *text, struct options *options)
{
	uint64_t size;

	if (!heap_parse_size(text, &size))
		return false;
	if (strspn(text, "0123456789") == strlen(text))
		options->candidates.min_objects = size;
	else
		options->candidates.min_bytes = size;
	return true;
}

static bool take_option(int option, struct options *options)
{
	static char type[] = "type", site[] = "site";

	switch (option) {
	case '1':
		options->candidates.second_only = true;
		return true;
	case 'q':
		options->quiet = true;
		return true;
	case 'k':
		options->conservative = true;
		return true;
	case 's':
		options->summary_only = true;
		return true;
	case 'j':
		options->json = true;
		return true;
	case 'H':
		options->html = true;
		return true;
	case 'b':
		options->candidates.by = candidates_parse(optarg);
		return options->candidates.by != CANDIDATES_WAYS ||
		       options_complain(&program, "by", optarg,
					"kind, type, site, backtrace or dominator");
	case 't':
		return add_filter(options, type, optarg);
	case 'p':
		return add_filter(options, site, optarg);
	case 'l':
		return options_limit(&program, &options->limit);
	case 'm':
		return parse_min(optarg, options) ||
		       options_complain(&program, "min", optarg,
					"a number of objects or a size, like 64K");
	default:
		return false;
	}
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },
		{ "html", no_argument, NULL, 'H' },
		{ "summary", no_argument, NULL, 's' },
		{ "by", required_argument, NULL, 'b' },
		{ "type", required_argument, NULL, 't' },
		{ "site", required_argument, NULL, 'p' },
		{ "min", required_argument, NULL, 'm' },
		{ "limit", required_argument, NULL, 'l' },
		{ "conservative", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = options_take(&program, argc, argv, "1qs", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	options->candidates.filter = options->words;
	if (options->limit == UINT64_MAX && !options->json &&
	    options->candidates.by == CANDIDATES_BY_DOMINATOR)
		options->limit = SHORT_SUMMARY;
	if (argc - optind >= FEWEST)
		return true;
	heap_print(stderr, "heapsh-leakreport: %d file%s; it takes %d to tell a leak\n",
		   argc - optind, format_plural((uint64_t)(argc - optind)), FEWEST);
	return options_misused(&program);
}

// --- reading -----------------------------------------------------------------

// The series as it has been read so far.
struct reading {
	struct heap_series *series;
	struct heap_census *census;
	struct tally tally;
	struct memory_use first; // of the first file
};

static void report_progress(uint32_t number, const char *file)
{
	heap_print(stderr, "[%" PRIu32 "]: %s\n", number, file);
}

HEAP_MUST_CHECK
static struct heap_error *read_file(struct reading *reading, struct session *session,
				    const char *file)
{
	struct heap_snapshot *snapshot;

	HEAP_TRY(heap_snapshot_open(file, &snapshot));
	HEAP_TRY(heap_series_add(reading->series, snapshot));
	session->snapshot = heap_series_latest(reading->series);
	if (heap_series_length(reading->series) == 1)
		reading->first = memory_use_of(session->snapshot);
	memset(session->mentions, 0, sizeof(session->mentions));

	struct heap_error *error = tally_snapshot(&reading->tally, session, reading->census);

	session_end_command(session);
	return error;
}

// --- the answer --------------------------------------------------------------

// @param limit  how many are told
static void print_leaks(struct session *session, const struct heap_series *series,
			const struct candidates *candidates, size_t limit)
{
	struct output *output = session->output;
	const void *mark = session_mark(session);

	output_open_array(output, "leaks");
	for (size_t i = 0; i < candidates->count && i < limit; i++) {
		heap_object_id object = candidates->objects[i];
		uint32_t first = heap_series_first_seen(series, object);

		output_text(output, "LEAK[%" PRIu32 "] %s\n", first,
			    describe_object(session, object));
		output_open_object(output, NULL);
		output_number(output, "first", first);
		describe_object_json(session, "object", object);
		if (session->snapshot->info.origin == HEAP_ORIGIN_LIBRARY)
			output_string(output, "site",
				      describe_site(session, session->snapshot->site[object]));
		output_close(output);
		session_release(session, mark); // a million descriptions need not stay
	}
	output_close(output);
	if (candidates->count > limit)
		output_text(output, "… %zu more (a pipe or a file gets all of them)\n",
			    candidates->count - limit);
}

// Further digits are rounding errors.
static double thousandths(double number)
{
	return round(number * 1000) / 1000;
}

static void print_trend(struct output *output, const struct candidate_group *group)
{
	output_open_object(output, "trend");
	output_string(output, "kind", heap_trend_name(candidates_trend(group)));
	output_string(output, "judgement", candidates_judgement(group));
	output_real(output, "objects_per_hour", thousandths(group->count_trend.rate));
	output_real(output, "objects_margin", thousandths(group->count_trend.margin));
	output_real(output, "bytes_per_hour", thousandths(group->bytes_trend.rate));
	output_real(output, "bytes_margin", thousandths(group->bytes_trend.margin));
	if (group->count_trend.kind == HEAP_TREND_SETTLED)
		output_number(output, "since", group->count_trend.since);
	output_number(output, "new_in_last", group->fresh);
	output_close(output);
}

static void print_history(struct output *output, const struct heap_census *census,
			  heap_kind_id kind)
{
	output_open_array(output, "history");
	for (size_t i = 0; i < heap_census_length(census); i++)
		output_number(output, NULL, heap_census_amount(census, kind, i).objects);
	output_close(output);
}

static void print_group(struct session *session, const struct heap_census *census,
			const struct candidate_group *group, enum candidates_by by)
{
	struct output *output = session->output;

	table_row(output, "%10" PRIu64 "\t%12s\t%s", group->objects,
		  describe_bytes(session, group->bytes), group->name);
	table_row(output, "%10s\t%12s\t%s", "", "", candidates_verdict(session, census, group));
	output_open_object(output, NULL);
	output_string(output, candidates_name(by), group->name);
	output_number(output, "objects", group->objects);
	output_number(output, "bytes", group->bytes);
	output_string(output, "growing", heap_census_name_of(census, group->kind));
	print_trend(output, group);
	print_history(output, census, group->kind);
	output_close(output);
}

static void print_summary(struct session *session, const struct heap_census *census,
			  const struct candidates *candidates, const struct options *options,
			  bool is_alone)
{
	enum candidates_by by = options->candidates.by;
	struct output *output = session->output;
	uint64_t objects = 0, bytes = 0;

	if (candidates->group_count > 0 && !is_alone)
		output_text(output, "\n");
	if (candidates->group_count > 0)
		table_header(output, "10", "%10s\t%12s\t%s", "objects", "bytes",
			     by == CANDIDATES_BY_KIND ? "type, site" : candidates_name(by));
	output_open_array(output, "summary");
	for (size_t i = 0; i < candidates->group_count; i++) {
		if (i < options->limit)
			print_group(session, census, &candidates->groups[i], by);
		objects += candidates->groups[i].objects;
		bytes += candidates->groups[i].bytes;
	}
	output_close(output);
	if (candidates->group_count > options->limit)
		output_text(output, "… %" PRIu64 " more\n",
			    candidates->group_count - options->limit);
	output_text(output, "Total: %" PRIu64 " object%s, %s\n", objects, format_plural(objects),
		    describe_bytes(session, bytes));
	output_number(output, "objects", objects);
	output_number(output, "bytes", bytes);
}

// --- together ----------------------------------------------------------------

static void report(struct session *session, const struct reading *reading,
		   const struct candidates *candidates, const struct options *options)
{
	if (options->html) {
		candidates_print_html(stdout, session, reading->census, candidates);
		return;
	}
	output_open_object(session->output, NULL);
	output_number(session->output, "files", heap_series_length(reading->series));
	describe_unknown_sites(session, options->candidates.by == CANDIDATES_BY_SITE ||
						options->candidates.by == CANDIDATES_BY_BACKTRACE);
	describe_unknown_births(session, NULL);
	// People want the summary, programs read line by line.
	if (output_rows(session->output) > 0 && !options->json) {
		print_summary(session, reading->census, candidates, options, true);
		if (!options->summary_only && candidates->count > 0) {
			output_text(session->output, "\n");
			print_leaks(session, reading->series, candidates, SHORT_LIST);
		}
		memory_use_print_growth(session, &reading->first);
		return;
	}
	if (!options->summary_only)
		print_leaks(session, reading->series, candidates, SIZE_MAX);
	print_summary(session, reading->census, candidates, options, options->summary_only);
	memory_use_print_growth(session, &reading->first);
}

HEAP_MUST_CHECK
static struct heap_error *run(struct reading *reading, struct session *session,
			      const struct options *options, char *const *files, size_t *count)
{
	bool progress = !options->quiet && heap_terminal_is_able(STDERR_FILENO);
	CLEANUP(candidates_deinit) struct candidates candidates = { 0 };

	for (uint32_t i = 0; files[i]; i++) {
		if (progress)
			report_progress(i, files[i]);
		HEAP_TRY(read_file(reading, session, files[i]));
		if (!files[i + 1] && exit_note_applies(session->snapshot) && !options->quiet)
			exit_note_print(program.name, files[i]);
	}
	HEAP_TRY(candidates_find(&candidates, &options->candidates, session, reading->series,
				 &reading->tally, reading->census));
	report(session, reading, &candidates, options);
	*count = candidates.group_count;
	if (!output_finish(session->output))
		return heap_standard_output_error();
	return NULL;
}

static enum tally_by tally_for(enum candidates_by by)
{
	return by == CANDIDATES_BY_TYPE   ? TALLY_TYPE
	       : by == CANDIDATES_BY_SITE ? TALLY_SITE
					  : TALLY_KIND;
}

int main(int argc, char **argv)
{
	struct options options = { .limit = UINT64_MAX };
	struct session session = { .errors = stderr };
	struct reading reading = { 0 };
	struct heap_error *error;
	size_t count = 0;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	numbered_sort(argv + optind, (size_t)(argc - optind));
	progress_init(&session.progress, NULL);
	reading.tally.by = tally_for(options.candidates.by);
	session_set_conservative(&session, options.conservative);
	session.output = output_create(stdout, options.json ? OUTPUT_JSON : OUTPUT_TEXT, false);
	error = session.output ? heap_series_create(&reading.series) : heap_error_out_of_memory();
	if (!error)
		error = heap_census_create(&reading.census);
	if (!error)
		error = run(&reading, &session, &options, argv + optind, &count);
	session_end_command(&session);
	session.snapshot = NULL; // the series'
	session_close(&session);
	tally_deinit(&reading.tally);
	heap_census_destroy(reading.census);
	heap_series_destroy(reading.series);
	output_destroy(session.output);
	if (error) {
		heap_print(stderr, "heapsh-leakreport: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_TROUBLE;
	}
	return count ? 0 : EXIT_NONE;
}
