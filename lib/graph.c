// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph.h"

#include "lib/cleanup.h"
#include "lib/column.h"

#include <string.h>

struct heap_error *heap_graph_create(struct heap_snapshot *snapshot, struct heap_graph **result)
{
	struct heap_error *error =
		heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE | HEAP_COLUMN_EDGES);

	if (error)
		return error;

	// Root edges are counted in 32 bits here, like all others.
	if (snapshot->root_edge_count > UINT32_MAX)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many pointers in roots");

	struct heap_graph *graph = calloc(1, sizeof(*graph));

	if (!graph)
		return heap_error_out_of_memory();
	graph->snapshot = snapshot;
	*result = graph;
	return NULL;
}

void heap_graph_destroy(struct heap_graph *graph)
{
	if (!graph)
		return;
	heap_column_destroy(graph->in_first);
	heap_column_destroy(graph->in_edge);
	heap_column_destroy(graph->in_source);
	heap_column_destroy(graph->root_in_first);
	heap_column_destroy(graph->root_in);
	heap_column_destroy(graph->reach);
	heap_column_destroy(graph->distance);
	free(graph);
}

// Turns counts per key, in first[key + 1], into where each key's entries begin.
static void sum_up(uint32_t *first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		first[i + 1] += first[i];
}

// After first[key] has been advanced past each of its entries: back to where they begin.
static void rewind_firsts(uint32_t *first, size_t count)
{
	memmove(first + 1, first, count * sizeof(*first));
	first[0] = 0;
}

struct heap_error *heap_graph_need_reverse(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count;

	if (graph->in_first)
		return NULL;

	CLEANUP_COLUMN uint32_t *in_first = NULL;
	CLEANUP_COLUMN uint32_t *in_edge = NULL;
	CLEANUP_COLUMN heap_object_id *in_source = NULL;
	CLEANUP_COLUMN uint32_t *root_in_first = NULL;
	CLEANUP_COLUMN uint32_t *root_in = NULL;
	struct heap_error *error = heap_snapshot_load(graph->snapshot, HEAP_COLUMN_SLOTS);

	if (!error)
		error = heap_column_create(objects + 1, sizeof(*in_first), &in_first);
	if (!error)
		error = heap_column_create(snapshot->edge_count, sizeof(*in_edge), &in_edge);
	if (!error)
		error = heap_column_create(snapshot->edge_count, sizeof(*in_source), &in_source);
	if (!error)
		error = heap_column_create(objects + 1, sizeof(*root_in_first), &root_in_first);
	if (!error)
		error = heap_column_create(snapshot->root_edge_count, sizeof(*root_in), &root_in);
	if (error)
		return error;
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		in_first[snapshot->edge_target[i] + 1]++;
	sum_up(in_first, objects);
	for (heap_object_id source = 0; source < objects; source++) {
		for (uint32_t i = snapshot->edge_first[source];
		     i < snapshot->edge_first[source + 1]; i++) {
			uint32_t place = in_first[snapshot->edge_target[i]]++;

			in_edge[place] = i;
			in_source[place] = source;
		}
	}
	rewind_firsts(in_first, objects);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		root_in_first[snapshot->root_edges[i].target + 1]++;
	sum_up(root_in_first, objects);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		root_in[root_in_first[snapshot->root_edges[i].target]++] = (uint32_t)i;
	rewind_firsts(root_in_first, objects);
	graph->in_first = keep(in_first);
	graph->in_edge = keep(in_edge);
	graph->in_source = keep(in_source);
	graph->root_in_first = keep(root_in_first);
	graph->root_in = keep(root_in);
	return NULL;
}

// A pointer to the start: the low bits of a typed one may be a tag.
static bool is_start(uint32_t interior, uint8_t flags)
{
	return interior == 0 || (interior < 8 && (flags & HEAP_EDGE_TYPED));
}

enum {
	AHEAD = 8, // places of the queue that memory is asked for before their turn
};

// Asks for what the search will want to know, of objects further and less far down the queue.
static void look_ahead(const struct heap_snapshot *snapshot, const uint8_t *reach,
		       const heap_object_id *queue, size_t head, size_t tail)
{
	heap_object_id object;

	if (tail - head <= 3 * AHEAD)
		return;
	__builtin_prefetch(&snapshot->edge_first[queue[head + 3 * AHEAD]], 0, 1);
	object = queue[head + 2 * AHEAD];
	__builtin_prefetch(&snapshot->edge_target[snapshot->edge_first[object]], 0, 1);
	__builtin_prefetch(&snapshot->edge_interior[snapshot->edge_first[object]], 0, 1);
	__builtin_prefetch(&snapshot->edge_flags[snapshot->edge_first[object]], 0, 1);
	object = queue[head + AHEAD];
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++)
		__builtin_prefetch(&reach[snapshot->edge_target[i]], 1, 1);
}

// Marks what the queue's objects reach, by edges of at least this quality.
static void spread(const struct heap_snapshot *snapshot, uint8_t *reach, enum heap_reach quality,
		   heap_object_id *queue, size_t head, size_t tail)
{
	while (head < tail) {
		heap_object_id object = queue[head];

		look_ahead(snapshot, reach, queue, head++, tail);

		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++) {
			heap_object_id target = snapshot->edge_target[i];

			if (reach[target] != HEAP_REACH_NOT ||
			    (quality == HEAP_REACH_START &&
			     !is_start(snapshot->edge_interior[i], snapshot->edge_flags[i])))
				continue;
			reach[target] = (uint8_t)quality;
			queue[tail++] = target;
		}
	}
}

struct heap_error *heap_graph_need_reach(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count;
	size_t tail = 0;

	if (graph->reach)
		return NULL;

	CLEANUP_COLUMN uint8_t *reach = NULL;
	CLEANUP_COLUMN heap_object_id *queue = NULL;
	struct heap_error *error = heap_snapshot_load(graph->snapshot, HEAP_COLUMN_QUALITY);

	if (!error)
		error = heap_column_create(objects + 1, 1, &reach);
	if (!error)
		error = heap_column_create(objects + 1, sizeof(*queue), &queue);
	if (error)
		return error;
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (is_start(edge->interior, edge->flags) && !reach[edge->target]) {
			reach[edge->target] = HEAP_REACH_START;
			queue[tail++] = edge->target;
		}
	}
	spread(snapshot, reach, HEAP_REACH_START, queue, 0, tail);

	// Then whatever any pointer reaches, from what is reachable so far.
	tail = 0;
	for (heap_object_id i = 0; i < objects; i++) {
		if (reach[i])
			queue[tail++] = i;
	}
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		heap_object_id target = snapshot->root_edges[i].target;

		if (!reach[target]) {
			reach[target] = HEAP_REACH_INTERIOR;
			queue[tail++] = target;
		}
	}
	spread(snapshot, reach, HEAP_REACH_INTERIOR, queue, 0, tail);
	graph->reach = keep(reach);
	return NULL;
}

// Gives what the queue's objects lead to one more than them.
HEAP_MUST_CHECK
static struct heap_error *measure(const struct heap_graph *graph, uint32_t *distance,
				  heap_object_id *queue, size_t tail)
{
	const struct heap_snapshot *snapshot = graph->snapshot;

	for (size_t head = 0; head < tail; head++) {
		heap_object_id object = queue[head];
		struct heap_error *error = heap_progress_step(
			graph->progress, "distances from roots", head, snapshot->object_count);

		if (error)
			return error;
		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++) {
			heap_object_id target = snapshot->edge_target[i];

			if (distance[target] == UINT32_MAX) {
				distance[target] = distance[object] + 1;
				// It will be its turn when all before it have had theirs.
				__builtin_prefetch(&snapshot->edge_first[target], 0, 1);
				queue[tail++] = target;
			}
		}
	}
	return NULL;
}

struct heap_error *heap_graph_need_distance(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count, tail = 0;
	CLEANUP_COLUMN uint32_t *distance = NULL;
	CLEANUP_COLUMN heap_object_id *queue = NULL;
	struct heap_error *error;

	if (graph->distance)
		return NULL;
	error = heap_column_create(objects + 1, sizeof(*distance), &distance);
	if (!error)
		error = heap_column_create(objects + 1, sizeof(*queue), &queue);
	if (error)
		return error;
	memset(distance, 0xff, objects * sizeof(*distance));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		heap_object_id target = snapshot->root_edges[i].target;

		if (distance[target] == UINT32_MAX) {
			distance[target] = 0;
			queue[tail++] = target;
		}
	}
	error = measure(graph, distance, queue, tail);
	if (!error)
		graph->distance = keep(distance);
	return error;
}

heap_object_id heap_graph_source(const struct heap_graph *graph, uint32_t edge)
{
	const uint32_t *first = graph->snapshot->edge_first;
	uint32_t low = 0, high = graph->snapshot->object_count;

	// The last object whose edges begin at or before this one.
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (first[middle] <= edge)
			low = middle;
		else
			high = middle;
	}
	return low;
}

uint32_t heap_edge_at(const struct heap_snapshot *snapshot, heap_object_id object, uint64_t offset)
{
	uint32_t low = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	uint32_t high = end;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if ((uint64_t)snapshot->edge_slot[middle] * 8 < offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low < end && (uint64_t)snapshot->edge_slot[low] * 8 == offset ? low : UINT32_MAX;
}
