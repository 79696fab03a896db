// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Semi-NCA. Nodes are numbered in the order in which a depth-first search meets them
 * ("order" below, the virtual root is 0), and all arrays are indexed by that number, so
 * that the passes, which go through it from the end or from the beginning, go through
 * memory in order too.
 *
 *	semi[w]   smallest v with a path v → … → w whose inner nodes all come after w
 *	idom[w]   nearest ancestor of w in the tree, from its parent up, that is ≤ semi[w]
 *
 * semi is found backwards, with path compression as in Lengauer and Tarjan's simple
 * algorithm; idom forwards, by climbing. Nothing recurses: lists are millions long.
 */
#include "lib/dominators.h"

#include "lib/cleanup.h"

enum {
	VIRTUAL_ROOT = 0,
};

struct work {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	uint32_t objects, nodes;
	uint32_t *order_of;   // [nodes] number of a node; 0: not met
	uint32_t *node_of;    // [met + 1] node of a number
	uint32_t *parent;     // [met + 1] in the search tree; later idom
	uint32_t *semi;       // [met + 1]
	uint32_t *label;      // [met + 1] the best semi on the compressed path
	uint32_t *ancestor;   // [met + 1] for path compression; the search's edge cursor before
	uint32_t *stack;      // [met + 1]
	uint32_t *root_first; // [roots + 1] in root_edges
	uint32_t met;
};

// --- depth-first search ------------------------------------------------------

static void meet(struct work *work, uint32_t node, uint32_t parent)
{
	uint32_t number = ++work->met;

	work->order_of[node] = number;
	work->node_of[number] = node;
	work->parent[number] = parent;
}

// The node's edges: [first, end) of the snapshot's edges, or of its root edges.
static void edges_of(const struct work *work, uint32_t node, uint32_t *first, uint32_t *end)
{
	if (node < work->objects) {
		*first = work->snapshot->edge_first[node];
		*end = work->snapshot->edge_first[node + 1];
	} else {
		*first = work->root_first[node - work->objects];
		*end = work->root_first[node - work->objects + 1];
	}
}

static uint32_t target_of(const struct work *work, uint32_t node, uint32_t edge)
{
	return node < work->objects ? work->snapshot->edge_target[edge]
				    : work->snapshot->root_edges[edge].target;
}

static void search_from(struct work *work, uint32_t root)
{
	uint32_t depth = 0;
	uint32_t *cursor = work->ancestor;
	uint32_t first, end;

	meet(work, root, VIRTUAL_ROOT);
	edges_of(work, root, &first, &end);
	cursor[work->met] = first;
	work->stack[depth++] = work->met;
	while (depth > 0) {
		uint32_t number = work->stack[depth - 1];
		uint32_t node = work->node_of[number];

		edges_of(work, node, &first, &end);
		if (cursor[number] == end) {
			depth--;
			continue;
		}

		uint32_t target = target_of(work, node, cursor[number]++);

		if (work->order_of[target])
			continue;
		meet(work, target, number);
		edges_of(work, target, &first, &end);
		cursor[work->met] = first;
		work->stack[depth++] = work->met;
	}
}

static void search(struct work *work)
{
	for (uint32_t root = 0; root < work->snapshot->root_count; root++)
		search_from(work, work->objects + root);
}

// --- semidominators ----------------------------------------------------------

// Compresses the path from v up to the last linked ancestor (those after `last` are linked).
static uint32_t evaluate(struct work *work, uint32_t v, uint32_t last)
{
	uint32_t depth = 0;

	if (v <= last)
		return v;
	while (work->ancestor[v] > last) {
		work->stack[depth++] = v;
		v = work->ancestor[v];
	}
	while (depth > 0) {
		uint32_t above = v;

		v = work->stack[--depth];
		if (work->label[above] < work->label[v])
			work->label[v] = work->label[above];
		work->ancestor[v] = work->ancestor[above];
	}
	return work->label[v];
}

static void improve(struct work *work, uint32_t number, uint32_t holder)
{
	uint32_t order = work->order_of[holder];

	if (order == 0)
		return; // it cannot be reached itself

	uint32_t candidate = evaluate(work, order, number);

	if (candidate < work->semi[number])
		work->semi[number] = candidate;
}

static void find_semidominators(struct work *work)
{
	const struct heap_graph *graph = work->graph;

	for (uint32_t i = 0; i <= work->met; i++) {
		work->semi[i] = work->parent[i];
		work->ancestor[i] = work->parent[i];
	}
	for (uint32_t number = work->met; number > 0; number--) {
		uint32_t node = work->node_of[number];

		if (node < work->objects) {
			for (uint32_t i = graph->in_first[node]; i < graph->in_first[node + 1]; i++)
				improve(work, number, graph->in_source[i]);
			for (uint32_t i = graph->root_in_first[node];
			     i < graph->root_in_first[node + 1]; i++)
				improve(work, number,
					work->objects +
						work->snapshot->root_edges[graph->root_in[i]].root);
		}
		work->label[number] = work->semi[number];
	}
}

// --- dominators and sizes ----------------------------------------------------

static void find_dominators(struct work *work)
{
	uint32_t *idom = work->parent;

	for (uint32_t number = 1; number <= work->met; number++) {
		while (idom[number] > work->semi[number])
			idom[number] = idom[idom[number]];
	}
}

static void fill(const struct work *work, heap_node_id *nearest, uint64_t *retained)
{
	for (uint32_t node = 0; node < work->nodes; node++)
		nearest[node] = HEAP_NO_NODE;
	// Whatever a node dominates comes after it.
	for (uint32_t number = work->met; number > 0; number--) {
		uint32_t node = work->node_of[number];
		uint32_t above = work->parent[number];

		if (node < work->objects)
			retained[node] += work->snapshot->size[node];
		if (above != VIRTUAL_ROOT) {
			nearest[node] = work->node_of[above];
			retained[work->node_of[above]] += retained[node];
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_root_edges(const struct heap_snapshot *snapshot, uint32_t **result)
{
	uint32_t *first = calloc((size_t)snapshot->root_count + 2, sizeof(*first));

	if (!first)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		first[snapshot->root_edges[i].root + 1]++;
	for (uint32_t i = 0; i < snapshot->root_count; i++)
		first[i + 1] += first[i];
	*result = first;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *compute(struct work *work, struct heap_dominators *result)
{
	size_t nodes = work->nodes;
	// One allocation for all that is indexed by number.
	CLEANUP_FREE uint32_t *arrays = calloc((nodes + 1) * 7, sizeof(*arrays));
	CLEANUP_FREE uint32_t *root_first = NULL;
	CLEANUP_FREE heap_node_id *nearest = malloc((nodes + 1) * sizeof(*nearest));
	CLEANUP_FREE uint64_t *retained = calloc(nodes + 1, sizeof(*retained));
	struct heap_error *error = find_root_edges(work->snapshot, &root_first);

	if (error)
		return error;
	if (!arrays || !nearest || !retained)
		return heap_error_out_of_memory();
	work->root_first = root_first;
	work->order_of = arrays;
	work->node_of = arrays + (nodes + 1);
	work->parent = arrays + (nodes + 1) * 2;
	work->semi = arrays + (nodes + 1) * 3;
	work->label = arrays + (nodes + 1) * 4;
	work->ancestor = arrays + (nodes + 1) * 5;
	work->stack = arrays + (nodes + 1) * 6;
	search(work);
	find_semidominators(work);
	find_dominators(work);
	fill(work, nearest, retained);
	*result = (struct heap_dominators){
		.nearest = keep(nearest),
		.retained = keep(retained),
		.objects = work->objects,
		.roots = work->snapshot->root_count,
	};
	return NULL;
}

struct heap_error *heap_dominators_init(struct heap_dominators *result, struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct work work = { .graph = graph, .snapshot = snapshot };
	struct heap_error *error = heap_graph_need_reverse(graph);

	if (error)
		return error;
	if (snapshot->root_count > UINT32_MAX - 2 - snapshot->object_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many objects and roots");
	work.objects = snapshot->object_count;
	work.nodes = snapshot->object_count + snapshot->root_count;
	return compute(&work, result);
}

void heap_dominators_deinit(struct heap_dominators *dominators)
{
	free(dominators->nearest);
	free(dominators->retained);
}
