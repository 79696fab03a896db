// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/difference.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *difference_number(struct session *session, uint64_t before, uint64_t after)
{
	if (before == after)
		return "0";
	return session_format(session, "%c%" PRIu64, after > before ? '+' : '-',
			      after > before ? after - before : before - after);
}

const char *difference_bytes(struct session *session, uint64_t before, uint64_t after)
{
	uint64_t by = after > before ? after - before : before - after;

	return session_format(session, "%s%s",
			      by == 0          ? ""
			      : after > before ? "+"
					       : "-",
			      describe_bytes(session, by));
}

static void add(struct heap_amount *amount, uint64_t bytes)
{
	amount->objects++;
	amount->bytes += bytes;
}

// Kinds may be found anew in the second snapshot, never later: so there is a row for each.
HEAP_MUST_CHECK
static struct heap_error *tally_both(struct heap_census *census, struct tally *tallies,
				     struct session *before, struct session *after)
{
	HEAP_TRY(tally_snapshot(&tallies[0], before, census));
	return tally_snapshot(&tallies[1], after, census);
}

// Counts an object of the second snapshot.
HEAP_MUST_CHECK
static struct heap_error *add_later(struct difference *difference,
				    const struct heap_comparison *comparison, struct tally *tallies,
				    struct session *before, struct session *after,
				    heap_object_id object)
{
	struct difference_row *rows = difference->rows;
	enum heap_change change = heap_comparison_change(comparison, object);
	heap_object_id earlier = comparison->earlier[object];
	uint64_t size = after->snapshot->size[object];
	heap_kind_id kind, former;

	HEAP_TRY(tally_kind(&tallies[1], after, difference->census, object, &kind));
	former = kind;
	if (earlier != HEAP_NO_OBJECT)
		HEAP_TRY(tally_kind(&tallies[0], before, difference->census, earlier, &former));
	if (former != kind) {
		add(&rows[kind].retyped_to, size);
		add(&rows[former].retyped_from, before->snapshot->size[earlier]);
		difference->has_retyped = true;
	}
	if (former == kind || change != HEAP_CHANGE_KEPT)
		add(&rows[kind].of[change], size);
	if (change == HEAP_CHANGE_RESIZED)
		rows[kind].resized_from += before->snapshot->size[earlier];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *fill_rows(struct difference *difference,
				    const struct heap_comparison *comparison, struct tally *tallies,
				    struct session *before, struct session *after)
{
	struct difference_row *rows = difference->rows;
	heap_kind_id kind;

	for (heap_object_id i = 0; i < before->snapshot->object_count; i++) {
		if (comparison->later[i] != HEAP_NO_OBJECT)
			continue;
		HEAP_TRY(tally_kind(&tallies[0], before, difference->census, i, &kind));
		add(&rows[kind].of[HEAP_CHANGE_FREED], before->snapshot->size[i]);
	}
	for (heap_object_id i = 0; i < after->snapshot->object_count; i++) {
		HEAP_TRY(add_later(difference, comparison, tallies, before, after, i));
	}
	return NULL;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct difference_row *a = left, *b = right;
	const struct heap_census *census = context;
	struct heap_amount a0 = heap_census_amount(census, a->kind, 0);
	struct heap_amount a1 = heap_census_amount(census, a->kind, 1);
	struct heap_amount b0 = heap_census_amount(census, b->kind, 0);
	struct heap_amount b1 = heap_census_amount(census, b->kind, 1);
	uint64_t a_bytes = distance(a0.bytes, a1.bytes), b_bytes = distance(b0.bytes, b1.bytes);
	uint64_t a_count = distance(a0.objects, a1.objects);
	uint64_t b_count = distance(b0.objects, b1.objects);

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	if (a_count != b_count)
		return a_count > b_count ? -1 : 1;
	if (a1.bytes != b1.bytes)
		return a1.bytes > b1.bytes ? -1 : 1;
	return strcmp(heap_census_name_of(census, a->kind), heap_census_name_of(census, b->kind));
}

static void deinit_both(struct tally (*tallies)[2])
{
	tally_deinit(&(*tallies)[0]);
	tally_deinit(&(*tallies)[1]);
}

struct heap_error *difference_init(struct difference *result,
				   const struct heap_comparison *comparison, struct session *before,
				   struct session *after, enum tally_by by)
{
	CLEANUP(difference_deinit) struct difference difference = { 0 };
	CLEANUP(deinit_both) struct tally tallies[2] = { { .by = by }, { .by = by } };

	HEAP_TRY(heap_census_create(&difference.census));
	HEAP_TRY(tally_both(difference.census, tallies, before, after));
	difference.row_count = heap_census_kinds(difference.census);
	difference.rows = calloc(difference.row_count + 1, sizeof(*difference.rows));
	if (!difference.rows)
		return heap_error_out_of_memory();
	HEAP_TRY(fill_rows(&difference, comparison, tallies, before, after));
	for (heap_kind_id i = 0; i < difference.row_count; i++)
		difference.rows[i].kind = i;
	qsort_r(difference.rows, difference.row_count, sizeof(*difference.rows), compare_rows,
		difference.census);
	*result = difference;
	difference = (struct difference){ 0 };
	return NULL;
}

void difference_deinit(struct difference *difference)
{
	heap_census_destroy(difference->census);
	free(difference->rows);
}

// --- in words ------------------------------------------------------------------------

static bool has_changed(const struct difference_row *row)
{
	return row->of[HEAP_CHANGE_ADDED].objects || row->of[HEAP_CHANGE_FREED].objects ||
	       row->of[HEAP_CHANGE_MOVED].objects || row->of[HEAP_CHANGE_RESIZED].objects ||
	       row->retyped_to.objects || row->retyped_from.objects;
}

static void print_amount(struct output *output, const char *key, const struct heap_amount *amount)
{
	output_open_object(output, key);
	output_number(output, "objects", amount->objects);
	output_number(output, "bytes", amount->bytes);
	output_close(output);
}

static void print_figures(const struct difference *difference, struct session *session,
			  const struct difference_row *row, const struct heap_amount *before,
			  const struct heap_amount *after)
{
	struct output *output = session->output;
	const char *name = heap_census_name_of(difference->census, row->kind);
	const char *objects = difference_number(session, before->objects, after->objects);
	const char *bytes = difference_bytes(session, before->bytes, after->bytes);
	uint64_t added = row->of[HEAP_CHANGE_ADDED].objects;
	uint64_t freed = row->of[HEAP_CHANGE_FREED].objects;
	uint64_t kept = row->of[HEAP_CHANGE_KEPT].objects;
	uint64_t resized =
		row->of[HEAP_CHANGE_RESIZED].objects + row->of[HEAP_CHANGE_MOVED].objects;

	if (difference->has_retyped)
		table_row(output,
			  "%10s\t%12s\t%10" PRIu64 "\t%10" PRIu64 "\t%10" PRIu64 "\t%10" PRIu64
			  "\t%8s\t%s",
			  objects, bytes, added, freed, kept, resized,
			  difference_number(session, row->retyped_from.objects,
					    row->retyped_to.objects),
			  name);
	else
		table_row(output,
			  "%10s\t%12s\t%10" PRIu64 "\t%10" PRIu64 "\t%10" PRIu64 "\t%10" PRIu64
			  "\t%s",
			  objects, bytes, added, freed, kept, resized, name);
}

static void print_row(const struct difference *difference, struct session *session,
		      const struct difference_row *row)
{
	static const char *const names[] = { "kept", "resized", "moved", "added", "freed" };
	struct output *output = session->output;
	struct heap_amount before = heap_census_amount(difference->census, row->kind, 0);
	struct heap_amount after = heap_census_amount(difference->census, row->kind, 1);
	const char *name = heap_census_name_of(difference->census, row->kind);

	print_figures(difference, session, row, &before, &after);
	output_open_object(output, NULL);
	output_string(output, "name", name);
	print_amount(output, "before", &before);
	print_amount(output, "after", &after);
	for (int i = 0; i < HEAP_CHANGES; i++)
		print_amount(output, names[i], &row->of[i]);
	output_number(output, "resized_from", row->resized_from);
	if (difference->has_retyped) {
		print_amount(output, "retyped_to", &row->retyped_to);
		print_amount(output, "retyped_from", &row->retyped_from);
	}
	output_close(output);
}

static const char *const titles[] = { "type, site", "type", "site", "module" };

void difference_print(const struct difference *difference, struct session *session,
		      enum tally_by by, uint64_t limit, bool all)
{
	struct output *output = session->output;
	struct heap_amount before = { 0 }, after = { 0 };
	uint64_t shown = 0;

	if (difference->has_retyped)
		table_header(output, "1022343", "%10s\t%12s\t%10s\t%10s\t%10s\t%10s\t%8s\t%s",
			     "objects", "bytes", "added", "freed", "kept", "resized", "retyped",
			     titles[by]);
	else
		table_header(output, "102234", "%10s\t%12s\t%10s\t%10s\t%10s\t%10s\t%s", "objects",
			     "bytes", "added", "freed", "kept", "resized", titles[by]);
	output_open_array(output, "rows");
	for (size_t i = 0; i < difference->row_count; i++) {
		const struct difference_row *row = &difference->rows[i];
		struct heap_amount was = heap_census_amount(difference->census, row->kind, 0);
		struct heap_amount is = heap_census_amount(difference->census, row->kind, 1);

		before.objects += was.objects;
		before.bytes += was.bytes;
		after.objects += is.objects;
		after.bytes += is.bytes;
		if ((all || has_changed(row)) && shown++ < limit)
			print_row(difference, session, row);
	}
	output_close(output);
	output_text(output,
		    "Total: %s objects, %s: from %" PRIu64 " objects, %s to %" PRIu64
		    " objects, %s\n",
		    difference_number(session, before.objects, after.objects),
		    difference_bytes(session, before.bytes, after.bytes), before.objects,
		    describe_bytes(session, before.bytes), after.objects,
		    describe_bytes(session, after.bytes));
	print_amount(output, "before", &before);
	print_amount(output, "after", &after);
}
