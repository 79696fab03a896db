// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * find, largest: lists of objects.
 */
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "shell/command.h"
#include "shell/print/describe.h"
#include "shell/base/format.h"
#include "shell/base/table.h"
#include "shell/series/filter.h"
#include "shell/print/part.h"
#include "shell/series/series.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- find --------------------------------------------------------------------

enum {
	FIND_STEP = 4096, // objects between two looks at whether to go on
};

struct found {
	uint64_t objects;
	uint64_t bytes;
};

static void print_found(struct session *session, heap_object_id object)
{
	output_text(session->output, "%s\n", describe_object(session, object));
	describe_object_json(session, NULL, object);
	session_remember(session, object);
}

struct finding {
	struct session *session;
	struct heap_filter *filter;
	bool count_only;
	uint64_t limit;
	uint32_t part; // the next one to look at
	uint8_t *bits; // [objects / 8 + 1] a bit per object found, if sizes are not loaded; or NULL
	struct found found;
};

static void print_found_part(struct session *session, const struct heap_part *part)
{
	output_text(session->output, "%s, part of a pool\n", part_describe(session, part));
	part_json(session, NULL, part);
	session_remember_part(session, part->object, part->offset);
}

// Finds parts that match, in pools that do not, up to those of an object.
static void find_parts(struct finding *finding, heap_object_id end)
{
	struct session *session = finding->session;
	const struct heap_snapshot *snapshot = session->snapshot;

	for (;
	     snapshot->parts && finding->part < snapshot->part_count && !session_must_stop(session);
	     finding->part++) {
		const struct heap_part *part = &snapshot->parts[finding->part];
		const void *mark = session_mark(session);

		if (part->object >= end)
			return;
		if (!heap_filter_matches_part(finding->filter, part))
			continue;
		if (!finding->count_only && finding->found.objects < finding->limit)
			print_found_part(session, part);
		session_release(session, mark);
		finding->found.objects++;
		finding->found.bytes += heap_snapshot_part_size(snapshot, part);
	}
}

static void skip_parts(struct finding *finding, heap_object_id object)
{
	const struct heap_snapshot *snapshot = finding->session->snapshot;

	while (snapshot->parts && finding->part < snapshot->part_count &&
	       snapshot->parts[finding->part].object == object)
		finding->part++;
}

static void find_all(struct finding *finding)
{
	struct session *session = finding->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id count = snapshot->object_count;

	for (heap_object_id i = 0; i < count && !session_must_stop(session);) {
		heap_object_id end = count - i > FIND_STEP ? i + FIND_STEP : count;

		for (i = heap_filter_next(finding->filter, i, end);
		     i < end && !session_must_stop(session);
		     i = heap_filter_next(finding->filter, i + 1, end)) {
			const void *mark = session_mark(session);

			find_parts(finding, i);
			if (!finding->count_only && finding->found.objects < finding->limit)
				print_found(session, i);
			session_release(session, mark);
			skip_parts(finding, i);
			finding->found.objects++;
			if (finding->bits)
				heap_bit_set(finding->bits, i);
			else
				finding->found.bytes += snapshot->size[i];
		}
		find_parts(finding, end);
	}
}

// Loads the columns for counting; without its parts a pool is a block. The first count of a session
// needs few sizes, and is often the only one: these are read at the end.
HEAP_MUST_CHECK
static struct heap_error *load_sizes(struct finding *finding)
{
	struct session *session = finding->session;
	struct heap_snapshot *snapshot = session->snapshot;

	heap_error_destroy(heap_snapshot_load(snapshot, HEAP_COLUMN_PARTS));
	if (session->has_counted || snapshot->size || snapshot->part_count > 0)
		return heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE);
	session->has_counted = true;
	return heap_column_create((size_t)snapshot->object_count / 8 + 1, 1, &finding->bits);
}

// Finds all, and sums their sizes.
HEAP_MUST_CHECK
static struct heap_error *find_and_sum(struct finding *finding)
{
	CLEANUP_COLUMN uint8_t *bits = finding->bits;

	find_all(finding);
	return bits ? heap_snapshot_sum_sizes(finding->session->snapshot, bits,
					      &finding->found.bytes)
		    : NULL;
}

// A name that the snapshot does not have. Nothing is found, which ends no file of commands.
static enum command_status tell_absent(struct session *session, struct heap_error *absent)
{
	enum command_status status = command_fail(session, absent);

	return status == COMMAND_FAILED ? COMMAND_NOTHING : status;
}

HEAP_MUST_CHECK
static struct heap_error *find_objects(struct finding *finding)
{
	struct session *session = finding->session;
	struct heap_error *error;

	HEAP_TRY(finding->count_only ? load_sizes(finding) : describe_load(session));
	output_open_object(session->output, NULL);
	output_open_array(session->output, "objects");
	error = find_and_sum(finding);
	output_close(session->output);
	return error ? error : session_filter_finish(session, finding->filter);
}

static void print_total(const struct finding *finding)
{
	struct session *session = finding->session;
	const struct found *found = &finding->found;

	if (!session->quiet || finding->count_only || session_interrupted)
		output_text(session->output, "%s: %" PRIu64 " object%s, %s\n",
			    session_interrupted ? "Found before the interruption" : "Total",
			    found->objects, format_plural(found->objects),
			    describe_bytes(session, found->bytes));
	if (session_interrupted)
		output_boolean(session->output, "interrupted", true);
	output_number(session->output, "count", found->objects);
	output_number(session->output, "bytes", found->bytes);
}

// @param absent  a name in the filter that the snapshot does not have, or NULL; ended here
static enum command_status find_and_print(struct finding *finding, struct heap_error *absent)
{
	struct session *session = finding->session;
	struct heap_error *error = find_objects(finding);

	if (error) {
		heap_error_destroy(absent);
		return command_fail(session, error);
	}
	print_total(finding);
	// An answer all the same: a loop over a series begins before the first object of a type.
	if (absent)
		return tell_absent(session, absent);
	return finding->found.objects ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status find_in(struct session *session, int argc, char **argv)
{
	struct finding finding = { .session = session, .limit = UINT64_MAX };
	struct heap_error *error, *absent;
	enum command_status status;

	finding.count_only = command_option(&argc, argv, "--count", NULL);
	if (!command_limit(&argc, argv, &finding.limit))
		return COMMAND_USAGE;
	error = session_filter_leniently(session, argc - 1, argv + 1, &finding.filter);
	if (error)
		return command_fail(session, error);
	absent = heap_filter_absent(finding.filter);
	if (finding.count_only && heap_filter_lacks_field(finding.filter))
		status = command_fail(session, absent);
	else if (absent && !finding.count_only && !output_is_json(session->output))
		status = tell_absent(session, absent);
	else
		status = find_and_print(&finding, absent);
	heap_filter_destroy(finding.filter);
	return status;
}

static enum command_status find_run(struct session *session, int argc, char **argv)
{
	struct session *other;
	struct heap_error *error = series_find_gone(session, argc, argv, &other);
	enum command_status status;

	if (error)
		return command_fail(session, error);
	if (!other)
		return find_in(session, argc, argv);
	status = find_in(other, argc, argv);
	session_end_command(other);
	return status;
}

const struct command find_command = {
	.name = "find",
	.synopsis = "[--count] [--all | --limit N] [--regex] [--exact] [-i|--ignore-case] "
		    "[FILTER...]",
	.summary = "the objects that all filters match",
	.details =
		"Filters: type NAME (exact, or a glob), untyped, under-typed (the type covers\n"
		"half of it at most), conflict (pointers take it for something else),\n"
		"evidence KIND, size [<>=]N[K|M|G], site FUNCTION|FILE[:LINE] (allocated there),\n"
		"frame FUNCTION|FILE[:LINE] (allocated on behalf of it), module NAME,\n"
		"age [<>]DURATION, string TEXT, field NAME=VALUE (also != < > <= >=),\n"
		"points-to OBJ|FUNCTION, pointed-by OBJ, local NAME (a local variable of that\n"
		"name points to it), under OBJ (held by it alone, itself included),\n"
		"retained [<>=]N, leaked, reachable, new and gone (see compare), traced (a\n"
		"sample of the trace), allocated TIME,TIME (of it, then);\n"
		"`not` negates the next, `or` stands between groups.\n"
		"Texts after string and field: --regex (POSIX, extended), --exact (the whole\n"
		"string, no glob), -i (upper or lower case).\n\n"
		"  find --count type 'struct date'\n"
		"  find --limit 10 size '>1M' or untyped not reachable\n"
		"  find type 'struct *' site session_new age '<1m'\n"
		"  find type 'struct request' field path=/login\n"
		"  find --regex -i string '^(get|post) /api/'\n"
		"  find field callback=on_timeout\n"
		"  find frame serve not site xmalloc\n"
		"  find allocated 10s,20s frame serve",
	.run = find_run,
	.words = WORDS_FILTER,
};

// --- largest -----------------------------------------------------------------

enum {
	DEFAULT_LARGEST = 10,
};

struct ranked {
	uint64_t bytes;
	heap_object_id object;
};

// A heap with the smallest on top, of at most `limit` objects.
static void sift_down(struct ranked *heap, size_t count)
{
	for (size_t at = 0;;) {
		size_t child = at * 2 + 1;

		if (child >= count)
			return;
		if (child + 1 < count && heap[child + 1].bytes < heap[child].bytes)
			child++;
		if (heap[at].bytes <= heap[child].bytes)
			return;

		struct ranked other = heap[at];

		heap[at] = heap[child];
		heap[child] = other;
		at = child;
	}
}

static void sift_up(struct ranked *heap, size_t at)
{
	while (at > 0 && heap[at].bytes < heap[(at - 1) / 2].bytes) {
		struct ranked other = heap[at];

		heap[at] = heap[(at - 1) / 2];
		heap[(at - 1) / 2] = other;
		at = (at - 1) / 2;
	}
}

static int compare_ranked(const void *left, const void *right)
{
	const struct ranked *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->object < b->object ? -1 : a->object > b->object;
}

static size_t find_largest(const struct session *session, bool retained, struct ranked *heap,
			   size_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	size_t count = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint64_t bytes = retained ? session_retained(session, i) : snapshot->size[i];

		if (count < limit) {
			heap[count] = (struct ranked){ bytes, i };
			sift_up(heap, count++);
		} else if (count > 0 && bytes > heap[0].bytes) {
			heap[0] = (struct ranked){ bytes, i };
			sift_down(heap, count);
		}
	}
	qsort(heap, count, sizeof(*heap), compare_ranked);
	return count;
}

HEAP_MUST_CHECK
static struct heap_error *load_ranked(struct session *session, const struct ranked *ranked,
				      size_t count)
{
	CLEANUP_FREE heap_object_id *objects = calloc(count + 1, sizeof(*objects));

	if (!objects)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++)
		objects[i] = ranked[i].object;
	return describe_load_around(session, objects, count);
}

static void print_ranked(struct session *session, const struct ranked *ranked, size_t count,
			 const char *key)
{
	output_open_array(session->output, NULL);
	for (size_t i = 0; i < count; i++) {
		table_row(session->output, "%12s\t%s", describe_bytes(session, ranked[i].bytes),
			  describe_object(session, ranked[i].object));
		session_remember(session, ranked[i].object);
		output_open_object(session->output, NULL);
		output_number(session->output, key, ranked[i].bytes);
		describe_object_json(session, "object", ranked[i].object);
		output_close(session->output);
	}
	output_close(session->output);
}

static enum command_status largest_run(struct session *session, int argc, char **argv)
{
	bool retained = command_option(&argc, argv, "--retained", NULL);
	uint64_t limit = DEFAULT_LARGEST;

	if (!command_limit(&argc, argv, &limit))
		return COMMAND_USAGE;
	if (argc == 2 && !grammar_parse_number(argv[1], &limit))
		return command_fail(session, heap_error_create(HEAP_ERROR_ARGUMENT,
							       "%s: not a number", argv[1]));

	struct heap_error *error =
		retained ? session_dominators(session)
			 : heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE);

	if (error)
		return command_fail(session, error);
	if (limit > session->snapshot->object_count)
		limit = session->snapshot->object_count;

	struct ranked *ranked = session_allocate(session, (limit + 1) * sizeof(*ranked));

	if (!ranked)
		return command_fail(session, heap_error_out_of_memory());

	size_t count = find_largest(session, retained, ranked, limit);

	error = load_ranked(session, ranked, count);
	if (error)
		return command_fail(session, error);
	print_ranked(session, ranked, count, retained ? "retained" : "bytes");
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

const struct command largest_command = {
	.name = "largest",
	.synopsis = "[--retained] [--conservative] [--all | --limit N] [N]",
	.summary = "the largest objects, by their own or by their retained size",
	.details = "The 10 largest, unless N says how many.\n\n"
		   "  largest 20\n"
		   "  largest --limit 20\n"
		   "  largest --retained",
	.run = largest_run,
	.nothing = "There are no objects.",
};
