// SPDX-License-Identifier: GPL-3.0-or-later
// Words as a filter: parsed, and asked of each object of a snapshot and of each part of a pool.
#include "lib/query/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_WORDS = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct heap_snapshot *snapshot;
static struct heap_graph *graph;
static struct heap_divided *divided;
static struct heap_dominators dominators;
static volatile uint32_t sink;

// Never fails: it opens what has been tested elsewhere.
static void prepare(void)
{
	struct heap_error *error = heap_snapshot_open("t/snapshots/format-1.snap", &snapshot);

	if (!error)
		error = heap_snapshot_load(snapshot, HEAP_COLUMN_ALL);
	if (!error)
		error = heap_graph_create(snapshot, &graph);
	if (!error)
		error = heap_divided_create(snapshot, false, NULL, &divided);
	if (!error)
		error = heap_dominators_init(&dominators, divided->graph ? divided->graph : graph);
	if (!error)
		error = heap_divided_set_dominators(divided, &dominators);
	if (error) {
		fprintf(stderr, "%s\n", heap_error_message(error));
		abort();
	}
}

static struct heap_error *resolve(void *context, const char *word,
				  struct heap_filter_operand *result)
{
	(void)context;
	*result =
		(struct heap_filter_operand){ (heap_object_id)strlen(word) % snapshot->object_count,
					      UINT32_MAX, 0, 0 };
	if (strlen(word) > 6 && snapshot->root_count > 0)
		*result = (struct heap_filter_operand){ HEAP_NO_OBJECT,
							(heap_root_id)strlen(word) %
								snapshot->root_count,
							0, strlen(word) * 4 };
	return NULL;
}

static void ask(struct heap_filter *filter)
{
	uint8_t *is_new = calloc(snapshot->object_count, 1);

	heap_filter_set_new(filter, is_new);
	heap_error_destroy(heap_filter_prepare(filter, graph, divided));
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		sink += heap_filter_matches(filter, i);
	for (uint32_t i = 0; i < snapshot->part_count; i++)
		sink += heap_filter_matches_part(filter, &snapshot->parts[i]);
	sink += heap_filter_next(filter, 0, snapshot->object_count);
	heap_error_destroy(heap_filter_finish(filter));
	heap_filter_destroy(filter);
	free(is_new);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	char *text = strndup((const char *)bytes, size), *words[MAX_WORDS];
	struct heap_filter *filter;
	struct heap_error *error;
	int count = 0;

	if (!snapshot)
		prepare();
	for (char *word = strtok(text, "\n"); word && count < MAX_WORDS; word = strtok(NULL, "\n"))
		words[count++] = word;
	error = heap_filter_parse(snapshot, count, words,
				  &(struct heap_filter_host){ .resolve = resolve }, &filter);
	if (!error)
		ask(filter);
	heap_error_destroy(error);
	free(text);
	return 0;
}
