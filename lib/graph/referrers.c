// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/referrers.h"

#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/column.h"
#include "lib/graph/offsets.h"
#include "lib/base/parallel.h"
#include "lib/base/search.h"

enum {
	PIECE = 1 << 15, // edges that a thread takes at a time
};

// Reverse edges that one pass has found.
struct batch {
	struct batch *next;
	heap_object_id *objects; // [count] ascending
	size_t count;
	uint32_t *first; // [count + 1] in edges and sources
	uint32_t *edges;
	heap_object_id *sources;
	uint32_t *root_first; // [count + 1]
	uint32_t *root_edges;
};

struct heap_referrers {
	struct heap_graph *graph;
	struct batch *batches;
	uint8_t *wanted; // a bit per object; 0 between passes
};

struct heap_error *heap_referrers_create(struct heap_graph *graph, struct heap_referrers **result)
{
	struct heap_referrers *referrers = calloc(1, sizeof(*referrers));
	struct heap_error *error;

	if (!referrers)
		return heap_error_out_of_memory();
	referrers->graph = graph;
	error = heap_column_create((size_t)graph->snapshot->object_count / 8 + 1, 1,
				   &referrers->wanted);
	if (error)
		free(referrers);
	else
		*result = referrers;
	return error;
}

static void destroy_batch(struct batch *batch)
{
	if (!batch)
		return;
	free(batch->objects);
	free(batch->first);
	free(batch->edges);
	free(batch->sources);
	free(batch->root_first);
	free(batch->root_edges);
	free(batch);
}

void heap_referrers_destroy(struct heap_referrers *referrers)
{
	if (!referrers)
		return;
	while (referrers->batches) {
		struct batch *batch = referrers->batches;

		referrers->batches = batch->next;
		destroy_batch(batch);
	}
	heap_column_destroy(referrers->wanted);
	free(referrers);
}

// --- a pass ------------------------------------------------------------------

// The edges to wanted objects in one piece.
struct found HEAP_ARRAY(uint32_t);

struct pass {
	const struct heap_referrers *referrers;
	struct found *found; // [pieces]
};

HEAP_MUST_CHECK
static struct heap_error *search_piece(void *context, size_t number)
{
	const struct pass *pass = context;
	const struct heap_snapshot *snapshot = pass->referrers->graph->snapshot;
	const heap_object_id *target = snapshot->edge_target;
	const uint8_t *wanted = pass->referrers->wanted;
	uint32_t start = (uint32_t)number * PIECE;
	uint32_t end = snapshot->edge_count - start < PIECE ? snapshot->edge_count : start + PIECE;

	for (uint32_t i = start; i < end; i++) {
		if (heap_bit_get(wanted, target[i]))
			HEAP_TRY(heap_array_append(&pass->found[number], i));
	}
	return NULL;
}

static size_t place_of(const struct batch *batch, heap_object_id object)
{
	return heap_lower_bound_u32(batch->objects, batch->count, object);
}

// Sorts the edges that pieces have found by object.
HEAP_MUST_CHECK
static struct heap_error *sort_edges(const struct pass *pass, size_t pieces, struct batch *batch)
{
	const struct heap_graph *graph = pass->referrers->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;
	heap_object_id source = 0;
	uint32_t count;

	for (size_t i = 0; i < pieces; i++) {
		for (size_t j = 0; j < pass->found[i].count; j++)
			batch->first[place_of(batch,
					      snapshot->edge_target[pass->found[i].items[j]]) +
				     1]++;
	}
	count = heap_offsets_from_counts(batch->first, batch->count);
	batch->edges = calloc((size_t)count + 1, sizeof(*batch->edges));
	batch->sources = calloc((size_t)count + 1, sizeof(*batch->sources));
	if (!batch->edges || !batch->sources)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < pieces; i++) {
		for (size_t j = 0; j < pass->found[i].count; j++) {
			uint32_t edge = pass->found[i].items[j];
			size_t place = place_of(batch, snapshot->edge_target[edge]);

			if (edge >= snapshot->edge_first[source + 1])
				source = heap_graph_source(graph, edge);
			batch->edges[batch->first[place]] = edge;
			batch->sources[batch->first[place]++] = source;
		}
	}
	heap_offsets_rewind(batch->first, batch->count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_root_edges(const struct heap_referrers *referrers,
					  struct batch *batch)
{
	const struct heap_snapshot *snapshot = referrers->graph->snapshot;
	uint32_t count;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		heap_object_id target = snapshot->root_edges[i].target;

		if (heap_bit_get(referrers->wanted, target))
			batch->root_first[place_of(batch, target) + 1]++;
	}
	count = heap_offsets_from_counts(batch->root_first, batch->count);
	batch->root_edges = calloc((size_t)count + 1, sizeof(*batch->root_edges));
	if (!batch->root_edges)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		heap_object_id target = snapshot->root_edges[i].target;

		if (heap_bit_get(referrers->wanted, target))
			batch->root_edges[batch->root_first[place_of(batch, target)]++] =
				(uint32_t)i;
	}
	heap_offsets_rewind(batch->root_first, batch->count);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_edges(struct heap_referrers *referrers, struct batch *batch)
{
	size_t pieces = ((size_t)referrers->graph->snapshot->edge_count + PIECE - 1) / PIECE;
	CLEANUP_FREE struct found *found = calloc(pieces + 1, sizeof(*found));
	struct pass pass = { referrers, found };
	struct heap_error *error;

	if (!found)
		return heap_error_out_of_memory();
	error = heap_parallel_run(pieces, search_piece, &pass);
	if (!error)
		error = sort_edges(&pass, pieces, batch);
	for (size_t i = 0; i < pieces; i++)
		heap_array_deinit(&found[i]);
	return error;
}

static int compare_ids(const void *left, const void *right)
{
	heap_object_id a = *(const heap_object_id *)left, b = *(const heap_object_id *)right;

	return a < b ? -1 : a > b;
}

static const struct batch *batch_of(const struct heap_referrers *referrers, heap_object_id object,
				    size_t *place)
{
	for (const struct batch *batch = referrers->batches; batch; batch = batch->next) {
		*place = place_of(batch, object);
		if (*place < batch->count && batch->objects[*place] == object)
			return batch;
	}
	return NULL;
}

static void keep_each_once(struct batch *batch)
{
	size_t kept = 0;

	for (size_t i = 0; i < batch->count; i++) {
		if (kept == 0 || batch->objects[kept - 1] != batch->objects[i])
			batch->objects[kept++] = batch->objects[i];
	}
	batch->count = kept;
}

// A batch of what no earlier one has.
HEAP_MUST_CHECK
static struct heap_error *create_batch(const struct heap_referrers *referrers,
				       const heap_object_id *objects, size_t count,
				       struct batch **result)
{
	struct batch *batch = calloc(1, sizeof(*batch));
	size_t place;

	if (!batch)
		return heap_error_out_of_memory();
	batch->objects = calloc(count + 1, sizeof(*batch->objects));
	batch->first = calloc(count + 1, sizeof(*batch->first));
	batch->root_first = calloc(count + 1, sizeof(*batch->root_first));
	if (!batch->objects || !batch->first || !batch->root_first) {
		destroy_batch(batch);
		return heap_error_out_of_memory();
	}
	for (size_t i = 0; i < count; i++) {
		if (!batch_of(referrers, objects[i], &place))
			batch->objects[batch->count++] = objects[i];
	}
	qsort(batch->objects, batch->count, sizeof(*batch->objects), compare_ids);
	keep_each_once(batch);
	*result = batch;
	return NULL;
}

struct heap_error *heap_referrers_need(struct heap_referrers *referrers,
				       const heap_object_id *objects, size_t count)
{
	struct batch *batch;
	struct heap_error *error;

	if (referrers->graph->in_first)
		return NULL;
	if (referrers->graph->passes >= HEAP_GRAPH_PASSES)
		return heap_graph_need_reverse(referrers->graph);
	error = create_batch(referrers, objects, count, &batch);
	if (error)
		return error;
	if (batch->count == 0) {
		destroy_batch(batch);
		return NULL;
	}
	referrers->graph->passes++;
	for (size_t i = 0; i < batch->count; i++)
		heap_bit_set(referrers->wanted, batch->objects[i]);
	error = find_edges(referrers, batch);
	if (!error)
		error = find_root_edges(referrers, batch);
	for (size_t i = 0; i < batch->count; i++)
		referrers->wanted[batch->objects[i] / 8] = 0;
	if (error) {
		destroy_batch(batch);
		return error;
	}
	batch->next = referrers->batches;
	referrers->batches = batch;
	return NULL;
}

// --- answers -----------------------------------------------------------------

struct heap_referrer_list heap_referrers_get(const struct heap_referrers *referrers,
					     heap_object_id object)
{
	const struct heap_graph *graph = referrers->graph;
	size_t place;
	const struct batch *batch = batch_of(referrers, object, &place);

	if (!batch)
		return (struct heap_referrer_list){
			.edges = graph->in_edge + graph->in_first[object],
			.sources = graph->in_source + graph->in_first[object],
			.count = graph->in_first[object + 1] - graph->in_first[object],
			.root_edges = graph->root_in + graph->root_in_first[object],
			.root_count =
				graph->root_in_first[object + 1] - graph->root_in_first[object],
		};
	return (struct heap_referrer_list){
		.edges = batch->edges + batch->first[place],
		.sources = batch->sources + batch->first[place],
		.count = batch->first[place + 1] - batch->first[place],
		.root_edges = batch->root_edges + batch->root_first[place],
		.root_count = batch->root_first[place + 1] - batch->root_first[place],
	};
}
