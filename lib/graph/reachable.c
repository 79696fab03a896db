// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/reachable.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"

struct heap_reachable_search {
	const struct heap_snapshot *snapshot;
	uint32_t *seen; // [objects] the number of the last search that visited an object
	uint32_t number;
	heap_object_id *queue; // [objects]
	size_t tail;
	struct heap_reachable *common; // of what the search before has visited, too; or NULL
};

static void destroy(struct heap_reachable_search **search)
{
	heap_reachable_destroy(*search);
}

struct heap_error *heap_reachable_create(const struct heap_graph *graph,
					 struct heap_reachable_search **result)
{
	size_t objects = graph->snapshot->object_count;
	CLEANUP(destroy) struct heap_reachable_search *search = calloc(1, sizeof(*search));

	if (!search)
		return heap_error_out_of_memory();
	search->snapshot = graph->snapshot;
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*search->seen), &search->seen));
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*search->queue), &search->queue));
	*result = keep(search);
	return NULL;
}

void heap_reachable_destroy(struct heap_reachable_search *search)
{
	if (!search)
		return;
	heap_column_destroy(search->seen);
	heap_column_destroy(search->queue);
	free(search);
}

static void begin(struct heap_reachable_search *search)
{
	search->number++;
	search->tail = 0;
}

static void visit(struct heap_reachable_search *search, heap_object_id object)
{
	if (search->seen[object] == search->number)
		return;
	if (search->common && search->seen[object] == search->number - 1) {
		search->common->objects++;
		search->common->bytes += search->snapshot->size[object];
	}
	search->seen[object] = search->number;
	search->queue[search->tail++] = object;
}

static struct heap_reachable spread(struct heap_reachable_search *search)
{
	const struct heap_snapshot *snapshot = search->snapshot;
	struct heap_reachable result = { 0, 0 };

	for (size_t head = 0; head < search->tail; head++) {
		heap_object_id object = search->queue[head];

		result.objects++;
		result.bytes += snapshot->size[object];
		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++)
			visit(search, snapshot->edge_target[i]);
	}
	return result;
}

struct heap_reachable heap_reachable_from_root(struct heap_reachable_search *search,
					       heap_root_id root)
{
	const struct heap_snapshot *snapshot = search->snapshot;

	begin(search);
	for (uint64_t i = heap_snapshot_first_root_edge(snapshot, root);
	     i < snapshot->root_edge_count && snapshot->root_edges[i].root == root; i++)
		visit(search, snapshot->root_edges[i].target);
	return spread(search);
}

struct heap_reachable heap_reachable_from_object(struct heap_reachable_search *search,
						 heap_object_id object)
{
	begin(search);
	visit(search, object);
	return spread(search);
}

static struct heap_reachable from_node(struct heap_reachable_search *search, heap_node_id node)
{
	uint32_t objects = search->snapshot->object_count;

	return node < objects ? heap_reachable_from_object(search, node)
			      : heap_reachable_from_root(search, node - objects);
}

void heap_reachable_from_both(struct heap_reachable_search *search, heap_node_id a, heap_node_id b,
			      struct heap_reachable *by_a, struct heap_reachable *by_b,
			      struct heap_reachable *both)
{
	*both = (struct heap_reachable){ 0, 0 };
	*by_a = from_node(search, a);
	search->common = both;
	*by_b = from_node(search, b);
	search->common = NULL;
}
