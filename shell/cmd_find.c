// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * find, count, largest: which objects there are.
 */
#include "shell/command.h"
#include "shell/describe.h"
#include "shell/format.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// --- find --------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *resolve_object(void *context, const char *word, heap_object_id *result)
{
	return session_parse_object(context, word, result);
}

HEAP_MUST_CHECK
static struct heap_error *make_filter(struct session *session, int count, char **words,
				      struct heap_filter **result)
{
	struct heap_filter *filter;
	struct heap_error *error = heap_filter_parse(session->snapshot, count, words,
						     resolve_object, session, &filter);

	if (error)
		return error;
	if (heap_filter_needs_graph(filter))
		error = session_edges(session);
	if (!error)
		error = heap_filter_prepare(filter, session->graph);
	if (error) {
		heap_filter_destroy(filter);
		return error;
	}
	*result = filter;
	return NULL;
}

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

static void find_all(struct session *session, struct heap_filter *filter, bool count_only,
		     uint64_t limit, struct found *found)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id count = snapshot->object_count;

	for (heap_object_id i = 0; i < count && !session_must_stop(session);) {
		heap_object_id end = count - i > FIND_STEP ? i + FIND_STEP : count;

		for (i = heap_filter_next(filter, i, end); i < end;
		     i = heap_filter_next(filter, i + 1, end)) {
			const void *mark = session_mark(session);

			if (!count_only && found->objects < limit)
				print_found(session, i);
			session_release(session, mark);
			found->objects++;
			found->bytes += snapshot->size[i];
		}
	}
}

static enum command_status find_run(struct session *session, int argc, char **argv)
{
	bool count_only = command_option(&argc, argv, "--count", NULL);
	uint64_t limit = UINT64_MAX;
	struct heap_filter *filter;
	struct found found = { 0, 0 };

	// What is not an option of ours and comes first is a mistake; later it may be a text.
	if (!command_number(&argc, argv, "--limit", &limit) || (argc > 1 && argv[1][0] == '-'))
		return COMMAND_USAGE;

	struct heap_error *error = make_filter(session, argc - 1, argv + 1, &filter);

	if (error)
		return command_fail(session, error);
	error = count_only ? heap_snapshot_load(session->snapshot, HEAP_COLUMN_SIZE)
			   : describe_load(session);
	if (error) {
		heap_filter_destroy(filter);
		return command_fail(session, error);
	}
	output_open_object(session->output, NULL);
	output_open_array(session->output, "objects");
	find_all(session, filter, count_only, limit, &found);
	output_close(session->output);
	error = heap_filter_finish(filter);
	heap_filter_destroy(filter);
	if (error)
		return command_fail(session, error);
	if (!session->quiet || count_only)
		output_text(session->output, "Total: %" PRIu64 " object%s, %s\n", found.objects,
			    format_plural(found.objects), describe_bytes(session, found.bytes));
	output_number(session->output, "count", found.objects);
	output_number(session->output, "bytes", found.bytes);
	return found.objects ? COMMAND_OK : COMMAND_NOTHING;
}

static const char *const find_options[] = { "--count", "--limit", NULL };

const struct command find_command = {
	.name = "find",
	.synopsis = "[--count] [--limit N] [FILTER...]",
	.summary = "the objects that all filters match",
	.details =
		"Filters: type NAME (exact, or a glob), untyped, under-typed (the type covers\n"
		"half of it at most), conflict (pointers take it for something else),\n"
		"evidence KIND, size [<>=]N[K|M|G], site FUNCTION|FILE[:LINE] (allocated there),\n"
		"frame FUNCTION|FILE[:LINE] (allocated on behalf of it), module NAME,\n"
		"age [<>]DURATION, string TEXT, points-to OBJ, pointed-by OBJ, leaked, reachable;\n"
		"`not` negates the next, `or` stands between groups.\n\n"
		"  find --count type 'struct date'\n"
		"  find --limit 10 size '>1M' or untyped not reachable\n"
		"  find type 'struct *' site session_new age '<1m'\n"
		"  find frame serve not site xmalloc",
	.run = find_run,
	.words = WORDS_FILTER,
	.options = find_options,
};

// --- count -------------------------------------------------------------------

enum grouping {
	BY_TYPE,
	BY_SITE,
	BY_SIZE,
	BY_MODULE,
	BY_AGE,
};

static const char *const groupings[] = {
	[BY_TYPE] = "type",     [BY_SITE] = "site", [BY_SIZE] = "size",
	[BY_MODULE] = "module", [BY_AGE] = "age",
};

struct group {
	uint64_t objects;
	uint64_t bytes;
	uint32_t key;
	uint32_t evidence[HEAP_EVIDENCE_KINDS];
};

static uint32_t group_of(const struct heap_snapshot *snapshot, heap_object_id object,
			 enum grouping grouping)
{
	switch (grouping) {
	case BY_TYPE:
		return snapshot->type[object];
	case BY_SITE:
		return snapshot->site[object];
	case BY_SIZE:
		// By powers of two.
		return snapshot->size[object]
			       ? 64 - (uint32_t)__builtin_clzll(snapshot->size[object])
			       : 0;
	case BY_MODULE:
		return snapshot->sites[snapshot->site[object]].module + 1;
	default:
		return snapshot->birth[object];
	}
}

static uint32_t group_count(const struct heap_snapshot *snapshot, enum grouping grouping)
{
	switch (grouping) {
	case BY_TYPE:
		return snapshot->types.count;
	case BY_SITE:
		return snapshot->site_count;
	case BY_SIZE:
		return 65;
	case BY_MODULE:
		return snapshot->module_count + 1;
	default:
		return snapshot->epoch_count;
	}
}

static const char *group_name(struct session *session, enum grouping grouping, uint32_t key)
{
	switch (grouping) {
	case BY_TYPE:
		return key == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, key);
	case BY_SITE:
		return describe_site(session, key);
	case BY_SIZE:
		if (key == 0)
			return "0 B";
		return session_format(
			session, "%s to below %s",
			describe_bytes(session, UINT64_C(1) << (key - 1)),
			describe_bytes(session, key < 64 ? UINT64_C(1) << key : UINT64_MAX));
	case BY_MODULE:
		return key == 0 ? "(no module)" : describe_module(session, key - 1);
	default:
		return describe_age(session, key);
	}
}

static int compare_groups(const void *left, const void *right)
{
	const struct group *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	if (a->objects != b->objects)
		return a->objects > b->objects ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

// "pointer", or "pointer 90 %, none 10 %".
static const char *evidence_summary(struct session *session, const struct group *group)
{
	const char *text = "";

	for (int i = 0; i < HEAP_EVIDENCE_KINDS; i++) {
		if (group->evidence[i] == group->objects)
			return heap_evidence_name(i);
		if (group->evidence[i])
			text = session_format(session, "%s%s%s %.0f %%", text, *text ? ", " : "",
					      heap_evidence_name(i),
					      100.0 * group->evidence[i] / (double)group->objects);
	}
	return text;
}

static void print_groups(struct session *session, const struct group *groups, uint32_t count,
			 enum grouping grouping, uint64_t limit)
{
	struct output *output = session->output;
	bool has_evidence = grouping == BY_TYPE;

	output_text(output, "%10s %12s  %s%s\n", "objects", "bytes", groupings[grouping],
		    has_evidence ? " (evidence)" : "");
	output_open_array(output, NULL);
	for (uint32_t i = 0; i < count && i < limit && groups[i].objects; i++) {
		const char *name = group_name(session, grouping, groups[i].key);
		const char *evidence = evidence_summary(session, &groups[i]);

		output_text(output, "%10" PRIu64 " %12s  %s", groups[i].objects,
			    describe_bytes(session, groups[i].bytes), name);
		if (has_evidence && groups[i].key != HEAP_NO_TYPE)
			output_text(output, " (%s)", evidence);
		output_text(output, "\n");
		output_open_object(output, NULL);
		output_string(output, groupings[grouping], name);
		output_number(output, "objects", groups[i].objects);
		output_number(output, "bytes", groups[i].bytes);
		if (has_evidence)
			output_string(output, "evidence", evidence);
		output_close(output);
	}
	output_close(output);
}

static enum command_status count_by(struct session *session, enum grouping grouping, uint64_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error = heap_snapshot_load(
		session->snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_TYPE | HEAP_COLUMN_SITE |
					   HEAP_COLUMN_EVIDENCE | HEAP_COLUMN_BIRTH);
	uint32_t count = group_count(snapshot, grouping);
	struct group *groups = error ? NULL : session_allocate(session, count * sizeof(*groups));

	if (!error && !groups)
		error = heap_error_out_of_memory();
	if (error)
		return command_fail(session, error);
	for (uint32_t i = 0; i < count; i++)
		groups[i].key = i;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		struct group *group = &groups[group_of(snapshot, i, grouping)];
		uint8_t evidence = snapshot->evidence[i];

		group->objects++;
		group->bytes += snapshot->size[i];
		if (evidence < HEAP_EVIDENCE_KINDS)
			group->evidence[evidence]++;
	}
	qsort(groups, count, sizeof(*groups), compare_groups);
	print_groups(session, groups, count, grouping, limit);
	return snapshot->object_count ? COMMAND_OK : COMMAND_NOTHING;
}

static enum command_status count_run(struct session *session, int argc, char **argv)
{
	const char *by = "type";
	uint64_t limit = UINT64_MAX;

	if (command_option(&argc, argv, "--by", &by) < 0 ||
	    !command_number(&argc, argv, "--limit", &limit) || argc != 1)
		return COMMAND_USAGE;
	for (int i = BY_TYPE; i <= BY_AGE; i++) {
		if (strcmp(groupings[i], by) == 0)
			return count_by(session, i, limit);
	}
	return command_fail(session,
			    heap_error_create(HEAP_ERROR_ARGUMENT,
					      "--by %s: not type, site, size, module or age", by));
}

static const char *const count_options[] = { "--by", "--limit", NULL };

const struct command count_command = {
	.name = "count",
	.synopsis = "[--by type|site|size|module|age] [--limit N]",
	.summary = "objects and bytes per type, site, size, module or age",
	.details = "The largest first. After a type stands the evidence that named its objects.\n\n"
		   "  count | head\n"
		   "  count --by site --limit 20",
	.run = count_run,
	.options = count_options,
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

static size_t find_largest(const struct heap_snapshot *snapshot, const uint64_t *bytes,
			   struct ranked *heap, size_t limit)
{
	size_t count = 0;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (count < limit) {
			heap[count] = (struct ranked){ bytes[i], i };
			sift_up(heap, count++);
		} else if (count > 0 && bytes[i] > heap[0].bytes) {
			heap[0] = (struct ranked){ bytes[i], i };
			sift_down(heap, count);
		}
	}
	qsort(heap, count, sizeof(*heap), compare_ranked);
	return count;
}

static enum command_status largest_run(struct session *session, int argc, char **argv)
{
	bool retained = command_option(&argc, argv, "--retained", NULL);
	char *end = NULL;
	size_t limit = argc == 2 ? strtoul(argv[1], &end, 10) : DEFAULT_LARGEST;

	if (argc > 2 || (end && (*end || end == argv[1] || argv[1][0] == '-')))
		return COMMAND_USAGE;

	struct heap_error *error = describe_load(session);

	if (!error && retained)
		error = session_dominators(session);
	if (error)
		return command_fail(session, error);
	if (limit > session->snapshot->object_count)
		limit = session->snapshot->object_count;

	struct ranked *ranked = session_allocate(session, (limit + 1) * sizeof(*ranked));

	if (!ranked)
		return command_fail(session, heap_error_out_of_memory());

	size_t count = find_largest(
		session->snapshot,
		retained ? session->dominators->retained : session->snapshot->size, ranked, limit);

	output_open_array(session->output, NULL);
	for (size_t i = 0; i < count; i++) {
		output_text(session->output, "%12s  %s\n", describe_bytes(session, ranked[i].bytes),
			    describe_object(session, ranked[i].object));
		session_remember(session, ranked[i].object);
		output_open_object(session->output, NULL);
		output_number(session->output, retained ? "retained" : "bytes", ranked[i].bytes);
		describe_object_json(session, "object", ranked[i].object);
		output_close(session->output);
	}
	output_close(session->output);
	return count ? COMMAND_OK : COMMAND_NOTHING;
}

static const char *const largest_options[] = { "--retained", NULL };

const struct command largest_command = {
	.name = "largest",
	.synopsis = "[--retained] [N]",
	.summary = "the largest objects, by their own or by their retained size",
	.details = "The 10 largest, unless N says how many.\n\n"
		   "  largest 20\n"
		   "  largest --retained",
	.run = largest_run,
	.options = largest_options,
};
