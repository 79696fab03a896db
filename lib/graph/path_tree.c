// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/path_tree.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"

enum {
	RANK_SHIFT = 32 - HEAP_RANK_BITS,
	MAX_COST = (1 << RANK_SHIFT) - 1,
};

// A search from the roots, a level at a time.
struct search {
	struct heap_path_tree tree;
	bool typed_only;
	uint32_t *worth;  // [objects] of the path: the root's rank, and the cost; less is better
	uint8_t *settled; // [objects / 8 + 1] of this level or an earlier one
	heap_object_id *queue; // [objects]
	size_t tail;
};

// As in paths.c: untyped is worse than into the middle.
static uint32_t cost_of(uint32_t interior, uint8_t flags)
{
	bool typed = flags & HEAP_EDGE_TYPED;

	return (typed ? 0 : 2) + (interior >= (typed ? 8 : 1));
}

static uint32_t add_cost(uint32_t worth, uint32_t cost)
{
	return (worth & MAX_COST) + cost > MAX_COST ? worth | MAX_COST : worth + cost;
}

// Makes a pointer an object's last, if that path is better than the one it has.
static void offer(struct search *search, heap_object_id object, uint32_t pointer, bool is_direct,
		  uint32_t worth)
{
	struct heap_path_tree *tree = &search->tree;

	if (!heap_bit_get(tree->visited, object)) {
		heap_bit_set(tree->visited, object);
		search->queue[search->tail++] = object;
	} else if (search->worth[object] <= worth) {
		return;
	}
	search->worth[object] = worth;
	tree->last[object] = pointer;
	if (is_direct)
		heap_bit_set(tree->direct, object);
}

static void offer_roots(struct search *search)
{
	const struct heap_snapshot *snapshot = search->tree.graph->snapshot;

	for (uint32_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint32_t rank = heap_root_rank(search->tree.graph, &snapshot->roots[edge->root]);

		if (!search->typed_only || (edge->flags & HEAP_EDGE_TYPED))
			offer(search, edge->target, i, true,
			      add_cost(rank << RANK_SHIFT, cost_of(edge->interior, edge->flags)));
	}
}

static void offer_edges(struct search *search, heap_object_id object)
{
	const struct heap_snapshot *snapshot = search->tree.graph->snapshot;

	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint8_t flags = snapshot->edge_flags[i];
		heap_object_id target = snapshot->edge_target[i];

		if (heap_bit_get(search->settled, target) ||
		    (search->typed_only && !(flags & HEAP_EDGE_TYPED)))
			continue;
		offer(search, target, i, false,
		      add_cost(search->worth[object], cost_of(snapshot->edge_interior[i], flags)));
	}
}

HEAP_MUST_CHECK
static struct heap_error *spread(struct search *search)
{
	const struct heap_graph *graph = search->tree.graph;
	size_t head = 0;

	offer_roots(search);
	while (head < search->tail) {
		size_t level_end = search->tail;

		for (size_t i = head; i < level_end; i++)
			heap_bit_set(search->settled, search->queue[i]);
		for (; head < level_end; head++) {
			HEAP_TRY(heap_progress_step(graph->progress, "paths from roots", head,
						    graph->snapshot->object_count));
			offer_edges(search, search->queue[head]);
		}
	}
	return NULL;
}

struct heap_error *heap_path_tree_init(struct heap_path_tree *result, struct heap_graph *graph,
				       bool typed_only)
{
	size_t objects = (size_t)graph->snapshot->object_count + 1;
	CLEANUP_COLUMN uint32_t *last = NULL;
	CLEANUP_COLUMN uint8_t *direct = NULL;
	CLEANUP_COLUMN uint8_t *visited = NULL;
	CLEANUP_COLUMN uint32_t *worth = NULL;
	CLEANUP_COLUMN uint8_t *settled = NULL;
	CLEANUP_COLUMN heap_object_id *queue = NULL;

	HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_SLOTS));
	HEAP_TRY(heap_column_create(objects, sizeof(*last), &last));
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &direct));
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &visited));
	HEAP_TRY(heap_column_create(objects, sizeof(*worth), &worth));
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &settled));
	HEAP_TRY(heap_column_create(objects, sizeof(*queue), &queue));

	struct search search = {
		.tree = { graph, last, direct, visited },
		.typed_only = typed_only,
		.worth = worth,
		.settled = settled,
		.queue = queue,
	};

	HEAP_TRY(spread(&search));
	*result = (struct heap_path_tree){ graph, keep(last), keep(direct), keep(visited) };
	return NULL;
}

void heap_path_tree_deinit(struct heap_path_tree *tree)
{
	heap_column_destroy(tree->last);
	heap_column_destroy(tree->direct);
	heap_column_destroy(tree->visited);
}

struct heap_error *heap_path_tree_find(const struct heap_path_tree *tree, heap_object_id object,
				       struct heap_path *result)
{
	struct heap_path path = { 0 };
	heap_object_id at = object;

	if (!heap_bit_get(tree->visited, object))
		return heap_error_create(HEAP_ERROR_ABSENT, "no root reaches it");
	for (; !heap_bit_get(tree->direct, at); at = heap_graph_source(tree->graph, tree->last[at]))
		path.count++;
	path.root_edge = tree->last[at];
	path.edges = malloc((path.count + 1) * sizeof(*path.edges));
	if (!path.edges)
		return heap_error_out_of_memory();
	at = object;
	for (size_t i = path.count; i-- > 0; at = heap_graph_source(tree->graph, tree->last[at]))
		path.edges[i] = tree->last[at];
	*result = path;
	return NULL;
}
