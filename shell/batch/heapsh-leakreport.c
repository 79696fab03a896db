// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * heapsh-leakreport: what leaks, by a series of snapshots of one process.
 *
 *	LEAK[1] struct node at 0x5f01020        new in the second file, there in all that follow
 *	LEAK[2] struct node at 0x5f01040
 *
 * What is new in a file and is still there in the last may be a leak. What is new in the
 * last may be as well, but nothing is left to acquit it, so it is not told.
 */
#include "lib/cleanup.h"
#include "lib/series.h"
#include "shell/describe.h"
#include "shell/format.h"

#include <getopt.h>
#include <inttypes.h>
#include <string.h>

enum {
	EXIT_NONE = 1, // no candidates
	EXIT_TROUBLE = 2,
	FEWEST = 3,
};

struct options {
	bool quiet;
	bool json;
	bool second_only;
};

static const char usage[] =
	"usage: heapsh-leakreport [-q|--quiet] [--json] [-1] FILE FILE FILE...\n";

// Candidates of the latest snapshot.
struct leaks {
	heap_object_id *objects; // [count] by where they were first seen, by address
	size_t count;
};

struct group {
	heap_object_id example;
	uint64_t objects;
	uint64_t bytes;
};

static bool parse_options(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "quiet", no_argument, NULL, 'q' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "1q", known, NULL)) != -1) {
		switch (option) {
		case '1':
			options->second_only = true;
			break;
		case 'q':
			options->quiet = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case 'V':
			puts("heapsh-leakreport " HEAPSH_VERSION);
			exit(0);
		default:
			fputs(usage, stderr);
			return false;
		}
	}
	if (argc - optind >= FEWEST)
		return true;
	fprintf(stderr, "heapsh-leakreport: %d file%s; it takes %d to tell a leak\n%s",
		argc - optind, format_plural((uint64_t)(argc - optind)), FEWEST, usage);
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *read_series(struct heap_series *series, char *const *files, bool progress)
{
	for (uint32_t i = 0; files[i]; i++) {
		struct heap_snapshot *snapshot;

		if (progress) {
			CLEANUP_FREE char *name = format_name(files[i]);

			fprintf(stderr, "[%" PRIu32 "]: %s\n", i, name ? name : "");
		}

		struct heap_error *error = heap_snapshot_open(files[i], &snapshot);

		if (!error)
			error = heap_series_add(series, snapshot);
		if (error)
			return error;
	}
	return NULL;
}

// The candidates, sorted by counting: one pass for each number would take as long as the series.
HEAP_MUST_CHECK
static struct heap_error *find_leaks(const struct heap_series *series, bool second_only,
				     struct leaks *result)
{
	uint32_t objects = heap_series_latest(series)->object_count;
	uint32_t end = second_only ? 2 : heap_series_length(series) - 1;
	CLEANUP_FREE size_t *next = calloc((size_t)end + 1, sizeof(*next));
	CLEANUP_FREE heap_object_id *leaks = NULL;

	if (!next)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		uint32_t first = heap_series_first_seen(series, i);

		if (first > 0 && first < end)
			next[first + 1]++;
	}
	for (uint32_t i = 1; i <= end; i++)
		next[i] += next[i - 1];

	size_t count = next[end];

	leaks = malloc((count + 1) * sizeof(*leaks));
	if (!leaks)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		uint32_t first = heap_series_first_seen(series, i);

		if (first > 0 && first < end)
			leaks[next[first]++] = i;
	}
	*result = (struct leaks){ keep(leaks), count };
	return NULL;
}

static void print_leaks(struct session *session, const struct heap_series *series,
			const struct leaks *leaks)
{
	struct output *output = session->output;

	output_open_array(output, "leaks");
	for (size_t i = 0; i < leaks->count; i++) {
		heap_object_id object = leaks->objects[i];
		uint32_t first = heap_series_first_seen(series, object);

		output_text(output, "LEAK[%" PRIu32 "] %s\n", first,
			    describe_object(session, object));
		output_open_object(output, NULL);
		output_number(output, "first", first);
		describe_object_json(session, "object", object);
		output_string(output, "site",
			      describe_site(session, session->snapshot->site[object]));
		output_close(output);
		session_end_command(session); // a million descriptions need not stay
	}
	output_close(output);
}

// --- the summary -------------------------------------------------------------

// Objects of one type and site are alike; those without a type, of one size and site.
static int compare_kinds(const struct heap_snapshot *snapshot, heap_object_id a, heap_object_id b)
{
	uint64_t a_size = snapshot->type[a] == HEAP_NO_TYPE ? snapshot->size[a] : 0;
	uint64_t b_size = snapshot->type[b] == HEAP_NO_TYPE ? snapshot->size[b] : 0;

	if (snapshot->type[a] != snapshot->type[b])
		return snapshot->type[a] < snapshot->type[b] ? -1 : 1;
	if (snapshot->site[a] != snapshot->site[b])
		return snapshot->site[a] < snapshot->site[b] ? -1 : 1;
	return a_size < b_size ? -1 : a_size > b_size;
}

static int compare_objects(const void *left, const void *right, void *context)
{
	heap_object_id a = *(const heap_object_id *)left, b = *(const heap_object_id *)right;
	int order = compare_kinds(context, a, b);

	return order ? order : a < b ? -1 : a > b;
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

// @param leaks  sorted by kind afterwards
HEAP_MUST_CHECK
static struct heap_error *make_groups(struct heap_snapshot *snapshot, struct leaks *leaks,
				      struct group **result, size_t *result_count)
{
	struct group *groups = calloc(leaks->count + 1, sizeof(*groups));
	size_t count = 0;

	if (!groups)
		return heap_error_out_of_memory();
	qsort_r(leaks->objects, leaks->count, sizeof(*leaks->objects), compare_objects, snapshot);
	for (size_t i = 0; i < leaks->count; i++) {
		heap_object_id object = leaks->objects[i];

		if (i == 0 || compare_kinds(snapshot, leaks->objects[i - 1], object) != 0)
			groups[count++].example = object;
		groups[count - 1].objects++;
		groups[count - 1].bytes += snapshot->size[object];
	}
	qsort(groups, count, sizeof(*groups), compare_groups);
	*result = groups;
	*result_count = count;
	return NULL;
}

static const char *describe_kind(struct session *session, heap_object_id object)
{
	heap_type_id type = session->snapshot->type[object];

	return type == HEAP_NO_TYPE ? describe_type_of(session, object)
				    : describe_type(session, type);
}

static void print_summary(struct session *session, const struct group *groups, size_t count)
{
	struct output *output = session->output;
	uint64_t objects = 0, bytes = 0;

	if (count > 0)
		output_text(output, "\n%10s %12s  type, site\n", "objects", "bytes");
	output_open_array(output, "summary");
	for (size_t i = 0; i < count; i++) {
		const char *kind = describe_kind(session, groups[i].example);
		const char *site =
			describe_site(session, session->snapshot->site[groups[i].example]);

		output_text(output, "%10" PRIu64 " %12s  %s, %s\n", groups[i].objects,
			    describe_bytes(session, groups[i].bytes), kind, site);
		output_open_object(output, NULL);
		output_string(output, "type", kind);
		output_string(output, "site", site);
		output_number(output, "objects", groups[i].objects);
		output_number(output, "bytes", groups[i].bytes);
		output_close(output);
		objects += groups[i].objects;
		bytes += groups[i].bytes;
	}
	output_close(output);
	output_text(output, "Total: %" PRIu64 " object%s, %s\n", objects, format_plural(objects),
		    describe_bytes(session, bytes));
	output_number(output, "objects", objects);
	output_number(output, "bytes", bytes);
}

// --- together ----------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *report(struct session *session, const struct heap_series *series,
				 struct leaks *leaks)
{
	CLEANUP_FREE struct group *groups = NULL;
	size_t count;

	output_open_object(session->output, NULL);
	output_number(session->output, "files", heap_series_length(series));
	print_leaks(session, series, leaks);

	struct heap_error *error = make_groups(session->snapshot, leaks, &groups, &count);

	if (!error)
		print_summary(session, groups, count);
	session_end_command(session);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *run(const struct options *options, char *const *files,
			      struct session *session, struct heap_series *series, size_t *count)
{
	struct leaks leaks = { 0 };
	struct heap_error *error =
		read_series(series, files, !options->quiet && isatty(STDERR_FILENO));

	if (error)
		return error;
	session->snapshot = heap_series_latest(series);
	error = describe_load(session);
	if (!error)
		error = heap_snapshot_load(session->snapshot, HEAP_COLUMN_SITE);
	if (!error)
		error = find_leaks(series, options->second_only, &leaks);
	if (!error)
		error = report(session, series, &leaks);
	if (!error && !output_finish(session->output))
		error = heap_error_create_system("standard output");
	*count = leaks.count;
	free(leaks.objects);
	return error;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	struct session session = { .errors = stderr };
	struct heap_series *series = NULL;
	size_t count = 0;

	if (!parse_options(argc, argv, &options))
		return EXIT_TROUBLE;
	session.output = output_create(stdout, options.json ? OUTPUT_JSON : OUTPUT_TEXT, false);

	struct heap_error *error =
		session.output ? heap_series_create(&series) : heap_error_out_of_memory();

	if (!error)
		error = run(&options, argv + optind, &session, series, &count);
	heap_series_destroy(series);
	output_destroy(session.output);
	if (error) {
		fprintf(stderr, "heapsh-leakreport: %s\n", heap_error_message(error));
		heap_error_destroy(error);
		return EXIT_TROUBLE;
	}
	return count ? 0 : EXIT_NONE;
}
