// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/series/difference_retained.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"
#include "shell/base/table.h"
#include "shell/series/difference.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	uint64_t id; // a kind of the census of roots, or an object
	uint64_t before, after;
};

static uint64_t distance(const struct pair *pair)
{
	return pair->after > pair->before ? pair->after - pair->before : pair->before - pair->after;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (distance(a) != distance(b))
		return distance(a) > distance(b) ? -1 : 1;
	return a->id < b->id ? -1 : a->id > b->id;
}

static void print_pair(struct session *session, const struct pair *pair, const char *name)
{
	struct output *output = session->output;

	table_row(output, "%12s\t%12s\t%12s\t%s",
		  difference_bytes(session, pair->before, pair->after),
		  describe_bytes(session, pair->before), describe_bytes(session, pair->after),
		  name);
	output_open_object(output, NULL);
	output_string(output, "name", name);
	output_number(output, "before", pair->before);
	output_number(output, "after", pair->after);
	output_close(output);
}

static void print_title(struct session *session, const char *key)
{
	output_text(session->output, "\n");
	table_header(session->output, "021", "%12s\t%12s\t%12s\t%s", "retained", "before", "after",
		     key);
	output_open_array(session->output, key);
}

HEAP_MUST_CHECK
static struct heap_error *print_roots(struct session *before, struct session *after, uint64_t limit,
				      struct heap_census *census)
{
	HEAP_TRY(tally_roots(before, census));
	HEAP_TRY(tally_roots(after, census));

	size_t count = heap_census_kinds(census);
	CLEANUP_FREE struct pair *pairs = calloc(count + 1, sizeof(*pairs));

	if (!pairs)
		return heap_error_out_of_memory();
	for (heap_kind_id i = 0; i < count; i++)
		pairs[i] = (struct pair){ i, heap_census_amount(census, i, 0).bytes,
					  heap_census_amount(census, i, 1).bytes };
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	print_title(after, "roots");
	for (size_t i = 0; i < count && i < limit && distance(&pairs[i]); i++)
		print_pair(after, &pairs[i],
			   heap_census_name_of(census, (heap_kind_id)pairs[i].id));
	output_close(after->output);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *print_objects(const struct heap_comparison *comparison,
					struct session *before, struct session *after,
					uint64_t limit)
{
	heap_object_id objects = after->snapshot->object_count;
	CLEANUP_FREE struct pair *pairs = calloc((size_t)objects + 1, sizeof(*pairs));
	size_t count = 0;

	if (!pairs)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects; i++) {
		heap_object_id earlier = comparison->earlier[i];

		if (earlier == HEAP_NO_OBJECT)
			continue;
		pairs[count] = (struct pair){ i, before->dominators->retained[earlier],
					      after->dominators->retained[i] };
		count += distance(&pairs[count]) > 0;
	}
	qsort(pairs, count, sizeof(*pairs), compare_pairs);
	print_title(after, "objects");
	for (size_t i = 0; i < count && i < limit; i++)
		print_pair(after, &pairs[i], describe_object(after, (heap_object_id)pairs[i].id));
	output_close(after->output);
	return NULL;
}

struct heap_error *difference_print_retained(const struct heap_comparison *comparison,
					     struct session *before, struct session *after,
					     uint64_t limit)
{
	CLEANUP(heap_census_cleanup) struct heap_census *census = NULL;

	HEAP_TRY(describe_load(after));
	HEAP_TRY(session_dominators(before));
	HEAP_TRY(session_dominators(after));
	HEAP_TRY(heap_census_create(&census));
	output_open_object(after->output, "retained");
	HEAP_TRY(print_roots(before, after, limit, census));
	HEAP_TRY(print_objects(comparison, before, after, limit));
	output_close(after->output);
	return NULL;
}
