// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/paths.h"

#include "lib/cleanup.h"

unsigned heap_root_rank(const struct heap_root *root)
{
	static const uint8_t ranks[HEAP_ROOT_KINDS] = {
		[HEAP_ROOT_GLOBAL] = 0,   [HEAP_ROOT_THREAD_LOCAL] = 0, [HEAP_ROOT_LOCAL] = 0,
		[HEAP_ROOT_REGISTER] = 1, [HEAP_ROOT_SEGMENT] = 2,      [HEAP_ROOT_STACK] = 2,
		[HEAP_ROOT_MAPPING] = 3,
	};

	return ranks[root->kind];
}

// The best of an object's root edges; false if it has none.
static bool find_root_edge(const struct heap_graph *graph, heap_object_id object, uint64_t *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	unsigned best = UINT32_MAX;

	for (uint32_t i = graph->root_in_first[object]; i < graph->root_in_first[object + 1]; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[graph->root_in[i]];
		unsigned rank = heap_root_rank(&snapshot->roots[edge->root]) * 2 +
				!(edge->flags & HEAP_EDGE_TYPED);

		if (rank < best) {
			best = rank;
			*result = graph->root_in[i];
		}
	}
	return best != UINT32_MAX;
}

// A search backwards from the object, a level at a time.
struct search {
	const struct heap_graph *graph;
	uint32_t *next_edge; // [objects] the edge by which an object leads on; UINT32_MAX: not seen
	heap_object_id *queue;
	size_t tail;
};

static void look_at_holders(struct search *search, heap_object_id object, bool typed)
{
	const struct heap_graph *graph = search->graph;

	for (uint32_t i = graph->in_first[object]; i < graph->in_first[object + 1]; i++) {
		heap_object_id holder = graph->in_source[i];
		uint32_t edge = graph->in_edge[i];

		if (search->next_edge[holder] != UINT32_MAX ||
		    typed != !!(graph->snapshot->edge_flags[edge] & HEAP_EDGE_TYPED))
			continue;
		search->next_edge[holder] = edge;
		search->queue[search->tail++] = holder;
	}
}

// The first object in breadth-first order that a root holds; the best rooted of its level.
static bool find_start(struct search *search, heap_object_id object, heap_object_id *start,
		       uint64_t *root_edge)
{
	size_t head = 0;

	search->queue[search->tail++] = object;
	while (head < search->tail) {
		size_t level_end = search->tail;
		unsigned best = UINT32_MAX;

		for (size_t i = head; i < level_end; i++) {
			const struct heap_snapshot *snapshot = search->graph->snapshot;
			uint64_t edge;

			if (!find_root_edge(search->graph, search->queue[i], &edge))
				continue;

			unsigned rank =
				heap_root_rank(&snapshot->roots[snapshot->root_edges[edge].root]);

			if (rank < best) {
				best = rank;
				*root_edge = edge;
				*start = search->queue[i];
			}
		}
		if (best != UINT32_MAX)
			return true;
		for (int typed = 1; typed >= 0; typed--) {
			for (size_t i = head; i < level_end; i++)
				look_at_holders(search, search->queue[i], typed);
		}
		head = level_end;
	}
	return false;
}

struct heap_error *heap_path_find(struct heap_graph *graph, heap_object_id object,
				  struct heap_path *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count;
	struct heap_error *error = heap_graph_need_reverse(graph);
	CLEANUP_FREE uint32_t *next_edge = malloc((objects + 1) * sizeof(*next_edge));
	CLEANUP_FREE heap_object_id *queue = malloc((objects + 1) * sizeof(*queue));
	struct search search = { graph, next_edge, queue, 0 };
	struct heap_path path = { 0 };
	heap_object_id start;

	if (error)
		return error;
	if (!next_edge || !queue)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < objects; i++)
		next_edge[i] = UINT32_MAX;
	next_edge[object] = 0; // seen; its own edge is not on the way
	if (!find_start(&search, object, &start, &path.root_edge))
		return heap_error_create(HEAP_ERROR_ABSENT, "no root reaches it");
	for (heap_object_id at = start; at != object; at = snapshot->edge_target[next_edge[at]])
		path.count++;
	path.edges = malloc((path.count + 1) * sizeof(*path.edges));
	if (!path.edges)
		return heap_error_out_of_memory();
	path.count = 0;
	for (heap_object_id at = start; at != object; at = snapshot->edge_target[next_edge[at]])
		path.edges[path.count++] = next_edge[at];
	*result = path;
	return NULL;
}

void heap_path_deinit(struct heap_path *path)
{
	free(path->edges);
}
