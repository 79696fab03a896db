// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/trace/tree.h"

#include "lib/base/array.h"

#include <string.h>

enum {
	TEXT_MAX = 1024,
};

// Finds a node's child with a text, or makes one.
HEAP_MUST_CHECK
static struct heap_error *find_child(struct trace_tree *tree, uint32_t *node, const char *text)
{
	uint64_t hash = heap_hash_bytes(heap_hash_u64(*node), text, strlen(text));
	uint32_t found = heap_hash_find(&tree->by_text, hash, i,
					tree->nodes[i].parent == *node &&
						strcmp(tree->nodes[i].text, text) == 0);

	if (found == HEAP_HASH_NONE) {
		found = tree->count;
		HEAP_TRY(heap_reserve(tree->nodes, tree->capacity, (size_t)found + 1));
		HEAP_TRY(heap_hash_reserve(&tree->by_text, 1));

		char *copy = strdup(text);

		if (!copy)
			return heap_error_out_of_memory();
		tree->nodes[tree->count++] = (struct trace_node){ .text = copy, .parent = *node };
		HEAP_TRY(heap_hash_add(&tree->by_text, hash, found));
	}
	*node = found;
	return NULL;
}

static void add(struct trace_estimate *sum, const struct trace_estimate *more)
{
	sum->samples += more->samples;
	sum->objects += more->objects;
	sum->bytes += more->bytes;
	sum->variance += more->variance;
}

HEAP_MUST_CHECK
static struct heap_error *add_way(struct trace_tree *tree, const struct trace_samples *samples,
				  uint32_t step, const struct trace_estimate *sum, bool upwards,
				  uint32_t depth)
{
	CLEANUP_FREE const struct heap_trace_place **places = NULL;
	char text[TEXT_MAX];
	size_t count;
	uint32_t node = 0;

	HEAP_TRY(trace_way(samples, step, &places, &count));
	add(&tree->nodes[0].sum, sum);
	for (size_t i = 0; i < count && i < depth; i++) {
		const struct heap_trace_place *place = places[upwards ? i : count - 1 - i];

		HEAP_TRY(find_child(tree, &node, trace_place_text(place, text, sizeof(text))));
		add(&tree->nodes[node].sum, sum);
	}
	return NULL;
}

struct heap_error *trace_tree_begin(struct trace_tree *tree)
{
	*tree = (struct trace_tree){ 0 };
	HEAP_TRY(heap_reserve(tree->nodes, tree->capacity, 1));
	tree->nodes[0] = (struct trace_node){ 0 };
	tree->count = 1;
	return NULL;
}

struct heap_error *trace_tree_add(struct trace_tree *tree, const char *const *texts, size_t count,
				  const struct trace_estimate *sum)
{
	uint32_t node = 0;

	add(&tree->nodes[0].sum, sum);
	for (size_t i = 0; i < count; i++) {
		HEAP_TRY(find_child(tree, &node, texts[i]));
		add(&tree->nodes[node].sum, sum);
	}
	return NULL;
}

// Inserts each node among its parent's children, sorted by bytes.
void trace_tree_finish(struct trace_tree *tree)
{
	for (uint32_t i = 1; i < tree->count; i++) {
		uint32_t *at = &tree->nodes[tree->nodes[i].parent].child;

		while (*at && tree->nodes[*at].sum.bytes >= tree->nodes[i].sum.bytes)
			at = &tree->nodes[*at].next;
		tree->nodes[i].next = *at;
		*at = i;
	}
}

struct heap_error *trace_tree_init(struct trace_tree *tree, const struct trace_samples *samples,
				   enum trace_moment moment, uint64_t time_us, bool upwards,
				   uint32_t depth)
{
	uint32_t steps = trace_samples_steps(samples) + 1;
	CLEANUP_FREE struct trace_estimate *sums = calloc(steps, sizeof(*sums));

	*tree = (struct trace_tree){ 0 };
	HEAP_TRY(sums ? trace_tree_begin(tree) : heap_error_out_of_memory());
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct trace_sample *sample = &samples->samples[i];

		if (moment == TRACE_ALLOCATED || trace_is_live(sample, time_us))
			trace_estimate_add(&sums[sample->step], samples, sample);
	}
	for (uint32_t i = 0; i < steps; i++) {
		if (sums[i].samples)
			HEAP_TRY(add_way(tree, samples, i, &sums[i], upwards, depth));
	}
	trace_tree_finish(tree);
	return NULL;
}

void trace_tree_deinit(struct trace_tree *tree)
{
	for (uint32_t i = 1; i < tree->count; i++)
		free(tree->nodes[i].text);
	free(tree->nodes);
	heap_hash_table_deinit(&tree->by_text);
}
