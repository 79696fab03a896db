// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/paths.h"

#include "lib/cleanup.h"

#include <string.h>

unsigned heap_root_rank(const struct heap_root *root)
{
	static const uint8_t ranks[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = 0,   [HEAP_ROOT_THREAD_LOCAL] = 0, [HEAP_ROOT_LOCAL] = 0,
		[HEAP_ROOT_REGISTER] = 1, [HEAP_ROOT_SEGMENT] = 2,      [HEAP_ROOT_STACK] = 2,
		[HEAP_ROOT_MAPPING] = 3,
	};

	return ranks[root->kind];
}

// How doubtful a pointer is: untyped is worse than into the middle. Low bits of a typed one may
// be a tag.
static uint32_t cost_of(uint32_t interior, uint8_t flags)
{
	bool typed = flags & HEAP_EDGE_TYPED;

	return (typed ? 0 : 2) + (interior >= (typed ? 8 : 1));
}

// A search backwards from the object, a level at a time.
struct search {
	const struct heap_graph *graph;
	uint32_t *next_edge;   // [objects] edge that leads on; UINT32_MAX: not met
	uint32_t *cost;        // [objects] of all edges from it on
	uint8_t *settled;      // [objects / 8 + 1] bitmap: of this level or an earlier one
	heap_object_id *queue; // [objects]
	size_t tail;
};

static bool is_settled(const struct search *search, heap_object_id object)
{
	return search->settled[object / 8] >> object % 8 & 1;
}

// The objects that point to this one are of the next level, unless they were met before.
static void look_at_holders(struct search *search, heap_object_id object)
{
	const struct heap_graph *graph = search->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;

	for (uint32_t i = graph->in_first[object]; i < graph->in_first[object + 1]; i++) {
		heap_object_id holder = graph->in_source[i];
		uint32_t edge = graph->in_edge[i];
		uint32_t cost = search->cost[object] +
				cost_of(snapshot->edge_interior[edge], snapshot->edge_flags[edge]);

		if (is_settled(search, holder))
			continue;
		if (search->next_edge[holder] == UINT32_MAX)
			search->queue[search->tail++] = holder;
		else if (search->cost[holder] <= cost)
			continue;
		search->next_edge[holder] = edge;
		search->cost[holder] = cost;
	}
}

// Offers an object's root edges: by the root's rank, then by the cost of the whole way.
static void look_at_roots(const struct search *search, heap_object_id object, uint64_t *best,
			  uint64_t *root_edge)
{
	const struct heap_graph *graph = search->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;

	for (uint32_t i = graph->root_in_first[object]; i < graph->root_in_first[object + 1]; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[graph->root_in[i]];
		uint64_t rank = heap_root_rank(&snapshot->roots[edge->root]);
		uint64_t offer =
			(rank << 48) + search->cost[object] + cost_of(edge->interior, edge->flags);

		if (offer < *best) {
			*best = offer;
			*root_edge = graph->root_in[i];
		}
	}
}

// The best of the root edges into the first level that has any; false if there is none.
static bool find_root_edge(struct search *search, uint64_t *root_edge)
{
	size_t head = 0;

	while (head < search->tail) {
		size_t level_end = search->tail;
		uint64_t best = UINT64_MAX;

		for (size_t i = head; i < level_end; i++) {
			heap_object_id object = search->queue[i];

			search->settled[object / 8] |= (uint8_t)(1 << object % 8);
			look_at_roots(search, object, &best, root_edge);
		}
		if (best != UINT64_MAX)
			return true;
		for (; head < level_end; head++)
			look_at_holders(search, search->queue[head]);
	}
	return false;
}

// Follows the way that was found, in two rounds: to count, and to write it down.
HEAP_MUST_CHECK
static struct heap_error *write_down(const struct search *search, uint64_t root_edge,
				     heap_object_id object, struct heap_path *result)
{
	const struct heap_snapshot *snapshot = search->graph->snapshot;
	heap_object_id start = snapshot->root_edges[root_edge].target;
	struct heap_path path = { .root_edge = root_edge };

	for (heap_object_id at = start; at != object;
	     at = snapshot->edge_target[search->next_edge[at]])
		path.count++;
	path.edges = malloc((path.count + 1) * sizeof(*path.edges));
	if (!path.edges)
		return heap_error_out_of_memory();

	uint32_t *edge = path.edges;

	for (heap_object_id at = start; at != object; at = snapshot->edge_target[*edge++])
		*edge = search->next_edge[at];
	*result = path;
	return NULL;
}

struct heap_error *heap_path_find(struct heap_graph *graph, heap_object_id object,
				  struct heap_path *result)
{
	size_t objects = graph->snapshot->object_count;
	struct heap_error *error = heap_graph_need_reverse(graph);

	if (error)
		return error;

	CLEANUP_FREE uint32_t *next_edge = malloc((objects + 1) * sizeof(*next_edge));
	CLEANUP_FREE uint32_t *cost = malloc((objects + 1) * sizeof(*cost));
	CLEANUP_FREE uint8_t *settled = calloc(objects / 8 + 1, 1);
	CLEANUP_FREE heap_object_id *queue = malloc((objects + 1) * sizeof(*queue));
	struct search search = { graph, next_edge, cost, settled, queue, 0 };
	uint64_t root_edge;

	if (!next_edge || !cost || !settled || !queue)
		return heap_error_out_of_memory();
	memset(next_edge, 0xff, objects * sizeof(*next_edge));
	cost[object] = 0;
	queue[search.tail++] = object;
	if (!find_root_edge(&search, &root_edge))
		return heap_error_create(HEAP_ERROR_ABSENT, "no root reaches it");
	return write_down(&search, root_edge, object, result);
}

void heap_path_deinit(struct heap_path *path)
{
	free(path->edges);
}
