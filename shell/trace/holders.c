// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/holders.h"

#include "lib/base/cleanup.h"
#include "lib/graph/path_tree.h"
#include "shell/print/describe.h"
#include "shell/print/field.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	TEXT_MAX = 1024,
};

// --- opening -----------------------------------------------------------------------

static int compare_numbers(const void *left, const void *right)
{
	const struct heap_sample *a = *(const struct heap_sample *const *)left;
	const struct heap_sample *b = *(const struct heap_sample *const *)right;

	return (a->number > b->number) - (a->number < b->number);
}

HEAP_MUST_CHECK
static struct heap_error *index_samples(struct trace_holders *holders)
{
	const struct heap_snapshot *snapshot = holders->session.snapshot;

	holders->by_number =
		calloc((size_t)snapshot->sample_count + 1, sizeof(*holders->by_number));
	if (!holders->by_number)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < snapshot->sample_count; i++) {
		if (snapshot->samples[i].number != 0)
			holders->by_number[holders->count++] = &snapshot->samples[i];
	}
	qsort(holders->by_number, holders->count, sizeof(*holders->by_number), compare_numbers);
	return NULL;
}

struct heap_error *trace_holders_open(struct trace_holders *holders, const char *path,
				      const struct heap_trace_info *trace, struct output *output)
{
	const struct heap_info *info;

	*holders = (struct trace_holders){ .session = { .errors = stderr, .output = output } };
	HEAP_TRY(session_open(&holders->session, path));
	info = &holders->session.snapshot->info;
	if (info->pid != trace->pid || info->trace_start_ns != trace->start_ns)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: not of this trace, but of pid %" PRIu64 " with %s%s",
					 path, info->pid, info->trace_start_ns ? "the trace " : "",
					 info->trace_start_ns ? info->trace : "no trace");
	return index_samples(holders);
}

void trace_holders_close(struct trace_holders *holders)
{
	free(holders->by_number);
	if (holders->session.snapshot)
		session_close(&holders->session);
}

uint64_t trace_holders_time_us(const struct trace_holders *holders)
{
	const struct heap_info *info = &holders->session.snapshot->info;

	return info->time_ns > info->trace_start_ns ? (info->time_ns - info->trace_start_ns) / 1000
						    : 0;
}

// --- matching ----------------------------------------------------------------------

const struct heap_sample *trace_holders_find(const struct trace_holders *holders, uint32_t number)
{
	const struct heap_sample wanted = { .number = number }, *key = &wanted;
	const struct heap_sample **found =
		holders->count ? bsearch(&key, holders->by_number, holders->count,
					 sizeof(*holders->by_number), compare_numbers)
			       : NULL;

	return found ? *found : NULL;
}

void trace_holders_filter(const struct trace_holders *holders, struct trace_samples *samples)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < samples->count; i++) {
		if (trace_holders_find(holders, samples->samples[i].number))
			samples->samples[kept++] = samples->samples[i];
	}
	samples->count = kept;
}

// --- holders -----------------------------------------------------------------------

// Turns "[3].value" into "[].value", so that elements of one array count as one holder.
static void copy_without_indexes(char *to, const char *from)
{
	while (*from) {
		*to++ = *from;
		if (*from++ == '[')
			from += strspn(from, "0123456789");
	}
	*to = '\0';
}

// ".next of struct order, from the global variable queue (app.c:30, app)". In @p buffer.
static const char *describe_way(struct session *session, const struct heap_path *path, char *buffer,
				size_t size)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	const struct heap_root_edge *first = &snapshot->root_edges[path->root_edge];
	const char *root = describe_root(session, first->root), *field;
	heap_object_id source;
	heap_type_id type;
	uint32_t last;

	if (path->count == 0) {
		snprintf(buffer, size, "%s", root);
		return buffer;
	}
	last = path->edges[path->count - 1];
	source = path->count > 1 ? snapshot->edge_target[path->edges[path->count - 2]]
				 : first->target;
	type = snapshot->type[source];
	field = field_of_object(session, source, (uint64_t)snapshot->edge_slot[last] * 8);

	char *plain = session_allocate(session, strlen(field) + 1);

	if (plain)
		copy_without_indexes(plain, field);
	snprintf(buffer, size, "%s of %s, from %s", plain ? plain : field,
		 type == HEAP_NO_TYPE ? "an untyped block" : describe_type(session, type), root);
	return buffer;
}

HEAP_MUST_CHECK
static struct heap_error *describe_holder(struct session *session,
					  const struct heap_path_tree *paths, heap_object_id object,
					  char *buffer, size_t size)
{
	CLEANUP(heap_path_deinit) struct heap_path path = { 0 };
	struct heap_error *error = heap_path_tree_find(paths, object, &path);

	if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
		heap_error_destroy(error);
		snprintf(buffer, size, "nothing: leaked");
		return NULL;
	}
	HEAP_TRY(error);
	describe_way(session, &path, buffer, size);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_sample(struct trace_holders *holders,
				     const struct trace_samples *samples,
				     const struct heap_path_tree *paths,
				     const struct trace_sample *sample, struct trace_tree *tree)
{
	struct session *session = &holders->session;
	heap_object_id object = trace_holders_find(holders, sample->number)->object;
	heap_type_id type = session->snapshot->type[object];
	char site[TEXT_MAX], holder[TEXT_MAX];
	const char *texts[] = { site, NULL, holder };
	struct trace_estimate sum = { 0 };
	SESSION_SCOPE(session);

	HEAP_TRY(trace_site_text(samples, sample->step, site, sizeof(site)));
	HEAP_TRY(describe_holder(session, paths, object, holder, sizeof(holder)));
	texts[1] = type == HEAP_NO_TYPE ? "untyped" : describe_type(session, type);
	trace_estimate_add(&sum, samples, sample);
	return trace_tree_add(tree, texts, sizeof(texts) / sizeof(texts[0]), &sum);
}

struct heap_error *trace_holders_tree(struct trace_holders *holders,
				      const struct trace_samples *samples, struct trace_tree *tree)
{
	struct session *session = &holders->session;
	CLEANUP(heap_path_tree_deinit) struct heap_path_tree paths = { 0 };

	HEAP_TRY(trace_tree_begin(tree));
	HEAP_TRY(describe_load(session));
	HEAP_TRY(heap_snapshot_load(session->snapshot, HEAP_COLUMN_SLOTS));
	HEAP_TRY(session_graph(session));
	HEAP_TRY(heap_path_tree_init(&paths, session->graph, false));
	for (uint32_t i = 0; i < samples->count; i++)
		HEAP_TRY(add_sample(holders, samples, &paths, &samples->samples[i], tree));
	trace_tree_finish(tree);
	return NULL;
}
