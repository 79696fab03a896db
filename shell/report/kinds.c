// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/report/kinds.h"

#include "lib/base/cleanup.h"
#include "shell/report/text.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_KINDS = 400,      // rows of a histogram
	MAX_EXEMPLIFIED = 80, // rows with examples
	MAX_EXAMPLES = 3,     // examples per row
	MAX_LINES = 40,       // of the evolution
};

// A kind and its sort key.
struct ranked {
	heap_kind_id kind;
	uint64_t bytes;
	uint64_t objects;
	uint64_t retained;
	heap_object_id examples[MAX_EXAMPLES]; // those that retain most, largest first
};

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static struct ranked *make_ranked(const struct heap_census *census)
{
	heap_kind_id kinds = heap_census_kinds(census);
	struct ranked *ranked = calloc((size_t)kinds + 1, sizeof(*ranked));

	for (heap_kind_id i = 0; ranked && i < kinds; i++) {
		ranked[i].kind = i;
		for (int j = 0; j < MAX_EXAMPLES; j++)
			ranked[i].examples[j] = HEAP_NO_OBJECT;
	}
	return ranked;
}

// --- evolution --------------------------------------------------------------------

static void write_amounts(struct output *output, const char *key,
			  const struct report_series *series, const struct heap_census *census,
			  heap_kind_id kind, bool bytes)
{
	output_open_array(output, key);
	for (size_t i = 0; i < report_series_points(series); i++) {
		struct heap_amount amount =
			heap_census_amount(census, kind, report_series_snapshot(series, i));

		output_number(output, NULL, bytes ? amount.bytes : amount.objects);
	}
	output_close(output);
}

// The kinds with the highest peak.
HEAP_MUST_CHECK
static struct heap_error *write_evolution(struct session *session, const char *key,
					  const struct report_series *series,
					  const struct heap_census *census, bool with_objects)
{
	struct output *output = session->output;
	heap_kind_id kinds = heap_census_kinds(census);
	CLEANUP_FREE struct ranked *ranked = make_ranked(census);

	if (!ranked)
		return heap_error_out_of_memory();
	for (heap_kind_id i = 0; i < kinds; i++) {
		for (size_t j = 0; j < heap_census_length(census); j++) {
			uint64_t bytes = heap_census_amount(census, i, j).bytes;

			ranked[i].bytes = bytes > ranked[i].bytes ? bytes : ranked[i].bytes;
		}
	}
	qsort(ranked, kinds, sizeof(*ranked), compare_ranked);
	output_open_array(output, key);
	for (heap_kind_id i = 0; i < kinds && i < MAX_LINES; i++) {
		output_open_object(output, NULL);
		output_string(output, "name",
			      report_name(session, heap_census_name_of(census, ranked[i].kind)));
		write_amounts(output, "bytes", series, census, ranked[i].kind, true);
		if (with_objects)
			write_amounts(output, "objects", series, census, ranked[i].kind, false);
		output_close(output);
	}
	output_close(output);
	return NULL;
}

// --- histograms -------------------------------------------------------------------

// Insertion into a short list.
static void offer_example(struct ranked *ranked, heap_object_id object,
			  const struct session *session)
{
	uint64_t retained = session_retained(session, object);
	heap_object_id *examples = ranked->examples;
	int at = MAX_EXAMPLES - 1;

	if (examples[at] != HEAP_NO_OBJECT && session_retained(session, examples[at]) >= retained)
		return;
	for (; at > 0 && (examples[at - 1] == HEAP_NO_OBJECT ||
			  session_retained(session, examples[at - 1]) < retained);
	     at--)
		examples[at] = examples[at - 1];
	examples[at] = object;
}

HEAP_MUST_CHECK
static struct heap_error *find_examples(struct ranked *ranked, struct session *session,
					struct tally *tally, struct heap_census *census)
{
	for (heap_object_id i = 0; i < session->snapshot->object_count; i++) {
		heap_kind_id kind;
		struct heap_error *error = tally_kind(tally, session, census, i, &kind);

		if (error)
			return error;
		offer_example(&ranked[kind], i, session);
	}
	return NULL;
}

static void write_kind(struct session *session, const struct heap_census *census,
		       const struct ranked *ranked, struct report_details *details,
		       bool with_examples)
{
	struct output *output = session->output;

	output_open_object(output, NULL);
	output_string(output, "name",
		      report_name(session, heap_census_name_of(census, ranked->kind)));
	output_number(output, "objects", ranked->objects);
	output_number(output, "bytes", ranked->bytes);
	output_number(output, "retained", ranked->retained);
	output_open_array(output, "examples");
	for (int i = 0; with_examples && i < MAX_EXAMPLES; i++) {
		int number = report_details_add(details, ranked->examples[i]);

		if (number != REPORT_NO_DETAIL)
			output_number(output, NULL, (uint64_t)number);
	}
	output_close(output);
	output_close(output);
}

static void write_rest(struct output *output, const struct ranked *ranked, heap_kind_id kinds)
{
	uint64_t bytes = 0, objects = 0, count = 0;

	for (heap_kind_id i = MAX_KINDS; i < kinds; i++) {
		bytes += ranked[i].bytes;
		objects += ranked[i].objects;
		count += ranked[i].objects > 0;
	}
	if (count == 0)
		return;
	output_open_object(output, NULL);
	output_number(output, "more", count);
	output_number(output, "objects", objects);
	output_number(output, "bytes", bytes);
	output_close(output);
}

// A later count numbers kinds anew, so they are matched by name.
static uint64_t find_retained(const struct heap_census *retained, const char *name)
{
	for (heap_kind_id i = 0; i < heap_census_kinds(retained); i++) {
		if (strcmp(heap_census_name_of(retained, i), name) == 0)
			return heap_census_amount(retained, i, 0).bytes;
	}
	return 0;
}

HEAP_MUST_CHECK
static struct heap_error *add_retained(struct ranked *ranked, size_t count, struct session *session,
				       enum tally_by by, const struct heap_census *census)
{
	CLEANUP(tally_deinit) struct tally tally = { .by = by };
	CLEANUP(heap_census_cleanup) struct heap_census *retained = NULL;

	HEAP_TRY(heap_census_create(&retained));
	HEAP_TRY(tally_retained(&tally, session, retained));
	for (size_t i = 0; i < count; i++)
		ranked[i].retained =
			find_retained(retained, heap_census_name_of(census, ranked[i].kind));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *rank(struct ranked *ranked, struct session *session, struct tally *tally,
			       struct heap_census *census)
{
	heap_kind_id kinds = heap_census_kinds(census);

	HEAP_TRY(find_examples(ranked, session, tally, census));

	for (heap_kind_id i = 0; i < kinds; i++) {
		struct heap_amount last =
			heap_census_amount(census, i, heap_census_length(census) - 1);

		ranked[i].bytes = last.bytes;
		ranked[i].objects = last.objects;
	}
	qsort(ranked, kinds, sizeof(*ranked), compare_ranked);
	return add_retained(ranked, kinds < MAX_KINDS ? kinds : MAX_KINDS, session, tally->by,
			    census);
}

HEAP_MUST_CHECK
static struct heap_error *write_histogram(struct session *session, const char *key,
					  struct tally *tally, struct heap_census *census,
					  struct report_details *details)
{
	heap_kind_id kinds = heap_census_kinds(census);
	CLEANUP_FREE struct ranked *ranked = make_ranked(census);
	struct heap_error *error =
		ranked ? rank(ranked, session, tally, census) : heap_error_out_of_memory();

	if (error)
		return error;
	output_open_array(session->output, key);
	for (heap_kind_id i = 0; i < kinds && i < MAX_KINDS && ranked[i].objects; i++)
		write_kind(session, census, &ranked[i], details, i < MAX_EXEMPLIFIED);
	write_rest(session->output, ranked, kinds);
	output_close(session->output);
	return NULL;
}

struct heap_error *report_kinds_write(struct session *session, struct report_series *series,
				      struct report_details *details)
{
	struct output *output = session->output;

	HEAP_TRY(write_histogram(session, "types", &series->types, series->by_type, details));
	HEAP_TRY(write_histogram(session, "sites", &series->sites, series->by_site, details));
	output_open_object(output, "evolution");
	HEAP_TRY(write_evolution(session, "types", series, series->by_type, true));
	HEAP_TRY(write_evolution(session, "sites", series, series->by_site, true));
	HEAP_TRY(write_evolution(session, "roots", series, series->by_root, false));
	output_close(output);
	return NULL;
}
