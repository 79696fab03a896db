// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-evolution: how memory has evolved along a series of snapshots, by who has it.
 */
#include "lib/base/cleanup.h"
#include "lib/base/escape.h"
#include "lib/base/standard_streams.h"
#include "lib/base/terminal.h"
#include "lib/series/trend.h"
#include "shell/base/numbered.h"
#include "shell/series/exit_note.h"
#include "shell/series/chart.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/options.h"
#include "shell/tables/tally.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	EXIT_TROUBLE = 2,
	DEFAULT_TOP = 8,
	MAX_TOP = 25,
	DEFAULT_WIDTH = 80,
	MARGIN = 13, // of the text chart: amounts and the axis
	HEIGHT = 16,
	MOST_WIDTH = 1000,
};

enum form {
	FORM_TEXT,
	FORM_SVG,
	FORM_PNG,
	FORM_CSV,
	FORM_JSON,
};

enum measure {
	MEASURE_BYTES,
	MEASURE_OBJECTS,
	MEASURE_RETAINED,
};

static const char *const measures[] = { "bytes", "objects", "retained bytes" };

struct options {
	enum form form;
	enum measure measure;
	enum tally_by by;
	bool by_root;
	bool by_number; // x: not time
	bool colours;
	bool quiet;
	bool conservative; // words of stacks count like variables
	uint64_t top;
	uint64_t width;
};

static const struct options_program program = {
	.name = "heapsh-evolution",
	.usage = "usage: heapsh-evolution [-q|--quiet] [--by type|site|module|kind|root]\n"
		 "           [--objects|--retained] [--conservative] [--top N] [--x time|number] "
		 "[--width "
		 "N]\n"
		 "           [--svg|--png|--csv|--json] [--color=auto|always|never] FILE...\n",
};

static bool parse_by(const char *word, struct options *options)
{
	options->by_root = strcmp(word, "root") == 0;
	options->by = options->by_root ? TALLY_KIND : tally_parse(word);
	return options->by != TALLY_WAYS ||
	       options_complain(&program, "by", word, "kind, type, site, module or root");
}

static bool parse_x(const char *word, struct options *options)
{
	options->by_number = strcmp(word, "number") == 0;
	return options->by_number || strcmp(word, "time") == 0 ||
	       options_complain(&program, "x", word, "time or number");
}

static bool parse_colour(const char *word, struct options *options)
{
	if (strcmp(word, "always") == 0)
		options->colours = true;
	else if (strcmp(word, "never") == 0)
		options->colours = false;
	else
		return strcmp(word, "auto") == 0 ||
		       options_complain(&program, "color", word, "auto, always or never");
	return true;
}

static bool take_option(int option, struct options *options)
{
	switch (option) {
	case 'q':
		options->quiet = true;
		return true;
	case 's':
		options->form = FORM_SVG;
		return true;
	case 'p':
		options->form = FORM_PNG;
		return true;
	case 'c':
		options->form = FORM_CSV;
		return true;
	case 'j':
		options->form = FORM_JSON;
		return true;
	case 'o':
		options->measure = MEASURE_OBJECTS;
		return true;
	case 'k':
		options->conservative = true;
		return true;
	case 'r':
		options->measure = MEASURE_RETAINED;
		return true;
	case 'b':
		return parse_by(optarg, options);
	case 't':
		return options_take_number(&program, "top", 1, MAX_TOP, &options->top);
	case 'w':
		return options_take_number(&program, "width", 2 * MARGIN, MOST_WIDTH,
					   &options->width);
	case 'x':
		return parse_x(optarg, options);
	case 'C':
		return parse_colour(optarg, options);
	default:
		return false;
	}
}

static unsigned terminal_width(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 2 * MARGIN)
		return size.ws_col;
	return DEFAULT_WIDTH;
}

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "svg", no_argument, NULL, 's' },
		{ "png", no_argument, NULL, 'p' },
		{ "csv", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "objects", no_argument, NULL, 'o' },
		{ "retained", no_argument, NULL, 'r' },
		{ "conservative", no_argument, NULL, 'k' },
		{ "by", required_argument, NULL, 'b' },
		{ "top", required_argument, NULL, 't' },
		{ "x", required_argument, NULL, 'x' },
		{ "width", required_argument, NULL, 'w' },
		{ "color", required_argument, NULL, 'C' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	const char *no_colour = getenv("NO_COLOR");
	int option;

	options->colours = heap_terminal_is_able(STDOUT_FILENO) && !(no_colour && *no_colour);
	options->width = terminal_width();
	while ((option = options_take(&program, argc, argv, "q", known, NULL)) != -1) {
		if (!take_option(option, options))
			return false;
	}
	if (options->by_root)
		options->measure = MEASURE_RETAINED; // a root has no other
	if (optind < argc)
		return true;
	return options_misused(&program);
}

// --- reading -------------------------------------------------------------------------

// The data of the series that has been read.
struct reading {
	struct heap_census *census;
	struct tally tally;
	struct output *output; // descriptions ask it about colours
	char *program;
	bool lacks_sites;  // of one of the snapshots
	bool ends_in_exit; // the last one was taken at exit
	bool is_mixed;     // of several programs, which has been said
};

// A program that was started again is one series; two programs are a mistake, as by *.snap.
HEAP_MUST_CHECK
static struct heap_error *compare_programs(struct reading *reading, const char *file,
					   const char *name, bool is_quiet)
{
	if (!reading->program) {
		reading->program = strdup(name);
		return reading->program ? NULL : heap_error_out_of_memory();
	}
	if (is_quiet || reading->is_mixed || strcmp(reading->program, name) == 0)
		return NULL;
	reading->is_mixed = true;
	heap_print(stderr, "%s: %s: of another program than the first: %s, not %s\n", program.name,
		   file, name, reading->program);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count(struct reading *reading, struct session *session,
				const struct options *options)
{
	if (options->by_root)
		return tally_roots(session, reading->census);
	if (options->measure == MEASURE_RETAINED)
		return tally_retained(&reading->tally, session, reading->census);
	return tally_snapshot(&reading->tally, session, reading->census);
}

HEAP_MUST_CHECK
static struct heap_error *read_file(struct reading *reading, const struct options *options,
				    const char *file)
{
	CLEANUP(session_close)
	struct session session = { .errors = stderr, .output = reading->output };

	HEAP_TRY(session_open(&session, file));
	session_set_conservative(&session, options->conservative);
	HEAP_TRY(count(reading, &session, options));
	reading->lacks_sites |= session.snapshot->info.origin != HEAP_ORIGIN_LIBRARY;
	HEAP_TRY(compare_programs(reading, file, session.snapshot->info.program, options->quiet));
	reading->ends_in_exit = exit_note_applies(session.snapshot);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *read_all(struct reading *reading, const struct options *options,
				   char *const *files)
{
	bool progress = !options->quiet && heap_terminal_is_able(STDERR_FILENO);

	for (size_t i = 0; files[i]; i++) {
		if (progress)
			heap_print(stderr, "[%zu]: %s\n", i, files[i]);
		HEAP_TRY(read_file(reading, options, files[i]));
		if (!files[i + 1] && i > 0 && reading->ends_in_exit && !options->quiet)
			exit_note_print(program.name, files[i]);
	}
	return NULL;
}

// --- choosing ------------------------------------------------------------------------

// The largest kinds, and all others together.
struct evolution {
	struct chart chart;
	struct chart_band *bands;
	uint64_t *values; // [bands][points]
	double *positions;
	uint64_t others; // how many kinds that are
	char title[512], first[64], last[64], others_name[64];
};

struct ranked {
	heap_kind_id kind;
	uint64_t most;
};

static uint64_t amount_of(const struct heap_census *census, const struct options *options,
			  heap_kind_id kind, size_t point)
{
	struct heap_amount amount = heap_census_amount(census, kind, point);

	return options->measure == MEASURE_OBJECTS ? amount.objects : amount.bytes;
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->most != b->most)
		return a->most > b->most ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

// By the most that they ever had: what was large for a while is there too.
HEAP_MUST_CHECK
static struct heap_error *rank_kinds(const struct heap_census *census,
				     const struct options *options, struct ranked **result)
{
	heap_kind_id kinds = heap_census_kinds(census);
	struct ranked *ranked = calloc((size_t)kinds + 1, sizeof(*ranked));

	if (!ranked)
		return heap_error_out_of_memory();
	for (heap_kind_id i = 0; i < kinds; i++) {
		ranked[i].kind = i;
		for (size_t j = 0; j < heap_census_length(census); j++) {
			uint64_t amount = amount_of(census, options, i, j);

			ranked[i].most = amount > ranked[i].most ? amount : ranked[i].most;
		}
	}
	qsort(ranked, kinds, sizeof(*ranked), compare_ranked);
	*result = ranked;
	return NULL;
}

static void fill_bands(struct evolution *evolution, const struct heap_census *census,
		       const struct options *options, const struct ranked *ranked)
{
	size_t points = heap_census_length(census);
	heap_kind_id kinds = heap_census_kinds(census);
	size_t shown = kinds < options->top ? kinds : options->top;

	for (heap_kind_id i = 0; i < kinds; i++) {
		size_t band = i < shown ? i : shown;
		uint64_t *values = evolution->values + band * points;

		for (size_t j = 0; j < points; j++)
			values[j] += amount_of(census, options, ranked[i].kind, j);
		evolution->bands[band] = (struct chart_band){
			i < shown ? heap_census_name_of(census, ranked[i].kind)
				  : evolution->others_name,
			values,
		};
	}
	evolution->others = kinds - shown;
	snprintf(evolution->others_name, sizeof(evolution->others_name), "%" PRIu64 " others",
		 evolution->others);
	evolution->chart.band_count = shown + (evolution->others > 0);
}

// Snapshots without an order in time stand side by side.
static void place_points(struct evolution *evolution, const struct heap_census *census,
			 const struct options *options, struct session *session)
{
	const uint64_t *times = heap_census_times(census);
	size_t points = heap_census_length(census);
	bool by_number = options->by_number;

	for (size_t i = 1; i < points; i++)
		by_number |= times[i] <= times[i - 1];
	for (size_t i = 0; i < points; i++)
		evolution->positions[i] =
			by_number ? (double)i : (double)(times[i] - times[0]) / 1e9;
	strcpy(evolution->first, by_number ? "[0]" : "0 s");
	if (by_number)
		snprintf(evolution->last, sizeof(evolution->last), "[%zu]", points - 1);
	else
		snprintf(evolution->last, sizeof(evolution->last), "%s",
			 describe_duration(session, times[points - 1] - times[0]));
}

static void evolution_deinit(struct evolution *evolution)
{
	free(evolution->bands);
	free(evolution->values);
	free(evolution->positions);
}

HEAP_MUST_CHECK
static struct heap_error *evolution_init(struct evolution *evolution, const struct reading *reading,
					 const struct options *options, struct session *session)
{
	const struct heap_census *census = reading->census;
	size_t points = heap_census_length(census), bands = options->top + 1;
	CLEANUP_FREE struct ranked *ranked = NULL;

	HEAP_TRY(rank_kinds(census, options, &ranked));
	evolution->bands = calloc(bands, sizeof(*evolution->bands));
	evolution->values = calloc(bands * points, sizeof(*evolution->values));
	evolution->positions = calloc(points, sizeof(*evolution->positions));
	if (!evolution->bands || !evolution->values || !evolution->positions)
		return heap_error_out_of_memory();
	fill_bands(evolution, census, options, ranked);
	place_points(evolution, census, options, session);
	snprintf(evolution->title, sizeof(evolution->title), "%.200s: %s by %s%s", reading->program,
		 measures[options->measure],
		 options->by_root            ? "root"
		 : options->by == TALLY_KIND ? "type and site"
		 : options->by == TALLY_TYPE ? "type"
		 : options->by == TALLY_SITE ? "site"
					     : "module",
		 !options->by_root && options->by != TALLY_TYPE && reading->lacks_sites
			 ? " (sites are not known)"
			 : "");
	evolution->chart.title = evolution->title;
	evolution->chart.of_bytes = options->measure != MEASURE_OBJECTS;
	evolution->chart.positions = evolution->positions;
	evolution->chart.first = evolution->first;
	evolution->chart.last = evolution->last;
	evolution->chart.points = points;
	evolution->chart.bands = evolution->bands;
	return NULL;
}

// --- telling -------------------------------------------------------------------------

static void print_csv(const struct evolution *evolution, const struct heap_census *census,
		      char *const *files)
{
	const struct chart *chart = &evolution->chart;

	fputs("file,time", stdout);
	for (size_t i = 0; i < chart->band_count; i++) {
		putchar(',');
		heap_escape_put(stdout, HEAP_ESCAPE_CSV, chart->bands[i].name);
	}
	fputs("\r\n", stdout);
	for (size_t i = 0; i < chart->points; i++) {
		heap_escape_put(stdout, HEAP_ESCAPE_CSV, files[i]);
		printf(",%.3f", (double)heap_census_times(census)[i] / 1e9);
		for (size_t j = 0; j < chart->band_count; j++)
			printf(",%" PRIu64, chart->bands[j].values[i]);
		fputs("\r\n", stdout);
	}
}

static void print_band_json(struct output *output, const struct chart *chart, size_t band,
			    const struct heap_census *census)
{
	const uint64_t *values = chart->bands[band].values;

	output_open_object(output, NULL);
	output_string(output, "name", chart->bands[band].name);
	output_open_array(output, "values");
	for (size_t i = 0; i < chart->points; i++)
		output_number(output, NULL, values[i]);
	output_close(output);
	if (chart->points >= 3)
		output_string(output, "trend",
			      heap_trend_name(heap_trend_of(heap_census_times(census), values,
							    chart->points)
						      .kind));
	output_close(output);
}

static void print_json(struct output *output, const struct evolution *evolution,
		       const struct heap_census *census, const struct options *options,
		       char *const *files)
{
	const struct chart *chart = &evolution->chart;

	output_open_object(output, NULL);
	output_string(output, "measure", measures[options->measure]);
	output_open_array(output, "snapshots");
	for (size_t i = 0; i < chart->points; i++) {
		output_open_object(output, NULL);
		output_string(output, "file", files[i]);
		output_number(output, "time_ns", heap_census_times(census)[i]);
		output_close(output);
	}
	output_close(output);
	output_open_array(output, "bands");
	for (size_t i = 0; i < chart->band_count; i++)
		print_band_json(output, chart, i, census);
	output_close(output);
}

// By librsvg's program, which draws SVG as browsers do.
HEAP_MUST_CHECK
static struct heap_error *print_png(const struct chart *chart)
{
	FILE *converter;
	int status;

	fflush(stdout);
	signal(SIGPIPE, SIG_IGN);
	converter = popen("exec rsvg-convert --format=png --zoom=2", "w");
	if (!converter)
		return heap_error_create_system("rsvg-convert");
	chart_print_svg(chart, converter);
	status = pclose(converter);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return NULL;
	return heap_error_create(
		HEAP_ERROR_ARGUMENT,
		WIFEXITED(status) && WEXITSTATUS(status) == 127
			? "--png: there is no rsvg-convert (of librsvg); --svg needs none"
			: "--png: rsvg-convert has failed");
}

HEAP_MUST_CHECK
static struct heap_error *print(const struct evolution *evolution, const struct reading *reading,
				const struct options *options, char *const *files,
				struct output *output)
{
	switch (options->form) {
	case FORM_SVG:
		chart_print_svg(&evolution->chart, stdout);
		return NULL;
	case FORM_PNG:
		return print_png(&evolution->chart);
	case FORM_CSV:
		print_csv(evolution, reading->census, files);
		return NULL;
	case FORM_JSON:
		print_json(output, evolution, reading->census, options, files);
		return NULL;
	default:
		heap_print(stdout, "%s\n", evolution->title);
		chart_print_text(&evolution->chart, stdout, (unsigned)options->width - MARGIN,
				 HEIGHT, options->colours);
		return NULL;
	}
}

HEAP_MUST_CHECK
static struct heap_error *run(struct reading *reading, const struct options *options,
			      char *const *files, struct output *output)
{
	CLEANUP(session_close) struct session session = { .errors = stderr }; // for texts alone
	CLEANUP(evolution_deinit) struct evolution evolution = { 0 };

	reading->tally.by = options->by;
	reading->output = output;
	HEAP_TRY(heap_census_create(&reading->census));
	HEAP_TRY(read_all(reading, options, files));
	HEAP_TRY(evolution_init(&evolution, reading, options, &session));
	HEAP_TRY(print(&evolution, reading, options, files, output));
	return output_finish(output) ? NULL : heap_standard_output_error();
}

int main(int argc, char **argv)
{
	struct options options = { .by = TALLY_TYPE, .top = DEFAULT_TOP };
	struct reading reading = { 0 };
	struct heap_error *error;
	struct output *output;

	heap_standard_streams_init(program.name, EXIT_TROUBLE);
	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	numbered_sort(argv + optind, (size_t)(argc - optind));
	output =
		output_create(stdout, options.form == FORM_JSON ? OUTPUT_JSON : OUTPUT_TEXT, false);
	error = output ? run(&reading, &options, argv + optind, output)
		       : heap_error_out_of_memory();
	output_destroy(output);
	tally_deinit(&reading.tally);
	heap_census_destroy(reading.census);
	free(reading.program);
	if (error) {
		heap_print(stderr, "heapsh-evolution: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_TROUBLE;
	}
	return 0;
}
