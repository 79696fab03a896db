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

#include <string.h>

enum {
	VIRTUAL_ROOT = 0,
};

// A node of the search tree in the forest of those that have been gone through.
struct link {
	uint32_t ancestor; // the way up, compressed
	uint32_t label;    // the best semi on that way
	uint32_t semi;
};

// Where the search stands in a node's edges.
struct place {
	uint32_t number;
	uint32_t edge, end; // in the snapshot's edges, or in its root edges
};

_Static_assert(sizeof(struct place) == sizeof(struct link), "links follow in the stack's memory");

struct work {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	uint32_t objects, nodes;
	uint32_t *order_of; // [nodes] number of a node; 0: not met
	uint32_t *node_of;  // [nodes + 1] node of a number
	uint32_t *parent;   // [nodes + 1] in the search tree; later idom
	union {
		struct place *stack; // [nodes + 1] while searching
		struct link *links;  // [nodes + 1] by number, afterwards
	};
	uint32_t *root_first; // [roots + 1] in root_edges
	uint32_t met;
};

// --- depth-first search ------------------------------------------------------

static struct place meet(struct work *work, uint32_t node, uint32_t parent)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint32_t number = ++work->met;
	struct place place = { .number = number };

	work->order_of[node] = number;
	work->node_of[number] = node;
	work->parent[number] = parent;
	if (node >= work->objects) {
		place.edge = work->root_first[node - work->objects];
		place.end = work->root_first[node - work->objects + 1];
		return place;
	}
	place.edge = snapshot->edge_first[node];
	place.end = snapshot->edge_first[node + 1];
	return place;
}

static void search_from(struct work *work, uint32_t root)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint32_t depth = 0;

	work->stack[depth++] = meet(work, root, VIRTUAL_ROOT);
	while (depth > 0) {
		struct place *place = &work->stack[depth - 1];

		if (place->edge == place->end) {
			depth--;
			continue;
		}

		// The root is at the bottom, and nothing leads back to it.
		uint32_t target = depth == 1 ? snapshot->root_edges[place->edge].target
					     : snapshot->edge_target[place->edge];

		place->edge++;
		if (!work->order_of[target])
			work->stack[depth++] = meet(work, target, place->number);
	}
}

static void search(struct work *work)
{
	for (uint32_t root = 0; root < work->snapshot->root_count; root++)
		search_from(work, work->objects + root);
}

// --- semidominators ----------------------------------------------------------

// Compresses the way from v up to the last linked ancestor (those after `last` are linked).
static uint32_t evaluate(struct link *links, uint32_t v, uint32_t last)
{
	uint32_t below = 0;

	if (v <= last)
		return v;
	// Going up, each node's ancestor is made to be the one that it was reached from...
	while (links[v].ancestor > last) {
		uint32_t above = links[v].ancestor;

		links[v].ancestor = below;
		below = v;
		v = above;
	}
	// ...which is the way back down; all get the topmost one's.
	while (below) {
		uint32_t next = links[below].ancestor;

		if (links[v].label < links[below].label)
			links[below].label = links[v].label;
		links[below].ancestor = links[v].ancestor;
		v = below;
		below = next;
	}
	return links[v].label;
}

static void improve(struct work *work, uint32_t number, uint32_t holder)
{
	uint32_t order = work->order_of[holder];

	if (order == 0)
		return; // it cannot be reached itself

	uint32_t candidate = evaluate(work->links, order, number);

	if (candidate < work->links[number].semi)
		work->links[number].semi = candidate;
}

static void find_semidominators(struct work *work)
{
	const struct heap_graph *graph = work->graph;
	const struct heap_root_edge *root_edges = work->snapshot->root_edges;

	for (uint32_t i = 0; i <= work->met; i++)
		work->links[i] =
			(struct link){ .ancestor = work->parent[i], .semi = work->parent[i] };
	for (uint32_t number = work->met; number > 0; number--) {
		uint32_t node = work->node_of[number];

		if (node < work->objects) {
			for (uint32_t i = graph->in_first[node]; i < graph->in_first[node + 1]; i++)
				improve(work, number, graph->in_source[i]);
			for (uint32_t i = graph->root_in_first[node];
			     i < graph->root_in_first[node + 1]; i++)
				improve(work, number,
					work->objects + root_edges[graph->root_in[i]].root);
		}
		work->links[number].label = work->links[number].semi;
	}
}

// --- dominators and sizes ----------------------------------------------------

static void find_dominators(struct work *work)
{
	uint32_t *idom = work->parent;

	for (uint32_t number = 1; number <= work->met; number++) {
		while (idom[number] > work->links[number].semi)
			idom[number] = idom[idom[number]];
	}
}

static void fill(const struct work *work, heap_node_id *nearest, uint64_t *retained)
{
	memset(nearest, 0xff, work->nodes * sizeof(*nearest));
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

// The last passes need neither the numbers of nodes nor the links: the former's memory
// becomes a result, the latter's is given back first.
HEAP_MUST_CHECK
static struct heap_error *compute(struct work *work, struct heap_dominators *result)
{
	size_t nodes = work->nodes;
	CLEANUP_FREE uint32_t *order_of = calloc(nodes + 1, sizeof(*order_of));
	CLEANUP_FREE uint32_t *node_of = malloc((nodes + 1) * sizeof(*node_of));
	CLEANUP_FREE uint32_t *parent = malloc((nodes + 1) * sizeof(*parent));
	CLEANUP_FREE struct link *links = malloc((nodes + 1) * sizeof(*links));
	CLEANUP_FREE uint32_t *root_first = NULL;
	CLEANUP_FREE uint64_t *retained = NULL;
	struct heap_error *error = find_root_edges(work->snapshot, &root_first);

	if (error)
		return error;
	if (!order_of || !node_of || !parent || !links)
		return heap_error_out_of_memory();
	parent[VIRTUAL_ROOT] = VIRTUAL_ROOT;
	work->root_first = root_first;
	work->order_of = order_of;
	work->node_of = node_of;
	work->parent = parent;
	work->links = links;
	search(work);
	find_semidominators(work);
	find_dominators(work);
	free(keep(links));
	retained = calloc(nodes + 1, sizeof(*retained));
	if (!retained)
		return heap_error_out_of_memory();
	fill(work, order_of, retained);
	*result = (struct heap_dominators){
		.nearest = keep(order_of),
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
