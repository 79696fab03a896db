// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tarjan's algorithm ("Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972),
 * with one number per object as in Pearce's variant ("A space-efficient algorithm for finding
 * strongly connected components", Inf. Process. Lett. 116(1), 2016). Nothing recurses.
 *
 * The cost is that of waiting for memory, once per edge: has its target been visited? So the search
 * pushes all edges of an object when it visits the object, and prefetches the numbers of their
 * targets long before the edges are popped. Everything else is on stacks.
 */
#include "lib/graph/components.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/prefetch.h"

#include <string.h>

enum {
	STACK = 1 << 16, // entries of a stack at first
	FAR_BELOW = 8,   // the top of the stack
	NEAR_BELOW = 3,
	PREFETCH_DISTANCE = 12, // in objects
};

// An object on the path from the start of the search to where it is.
struct step {
	heap_object_id object;
	uint32_t own;     // its number
	uint32_t low;     // the lowest number of an open object that it is known to reach
	uint32_t pending; // edges below its own
};

struct search {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	/*
	 * [objects] 0: not visited. While an object is open, the number of its visit among those of
	 * open objects. Then its component, counted down from the number of objects, which is more
	 * than any such number.
	 */
	uint32_t *numbers;
	/*
	 * [objects] The first `reached` are members of components. From `left` on are the open objects
	 * that the search has left, the last one first: each reaches one that was visited before.
	 */
	heap_object_id *members;
	uint32_t reached, left;
	struct step *path;       // [depth]
	heap_object_id *pending; // [pending_count] targets of edges that have not been followed
	uint32_t depth, pending_count;
	size_t path_capacity, pending_capacity;
	uint32_t components;
	uint32_t next; // the next visit's number
};

// Makes room for so many entries in a stack of @p width bytes each.
HEAP_MUST_CHECK
static struct heap_error *widen(size_t needed, size_t width, size_t *capacity, void *stack)
{
	size_t wider = *capacity + *capacity / 2 > needed ? *capacity + *capacity / 2 : needed;

	if (needed <= *capacity)
		return NULL;
	wider = wider < STACK ? STACK : wider;
	HEAP_TRY(heap_column_resize(wider * width, stack));
	*capacity = wider;
	return NULL;
}

// Pushes the last edge first, so that the first is popped first.
HEAP_MUST_CHECK
static struct heap_error *push_edges(struct search *search, heap_object_id object)
{
	const struct heap_snapshot *snapshot = search->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	HEAP_TRY(widen((size_t)search->pending_count + (end - first), sizeof(*search->pending),
		       &search->pending_capacity, &search->pending));
	for (uint32_t i = end; i > first; i--) {
		heap_object_id target = snapshot->edge_target[i - 1];

		heap_prefetch(&search->numbers[target]);
		heap_prefetch(&snapshot->edge_first[target]);
		search->pending[search->pending_count++] = target;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit(struct search *search, heap_object_id object)
{
	uint32_t number = search->next++;

	HEAP_TRY(widen((size_t)search->depth + 1, sizeof(*search->path), &search->path_capacity,
		       &search->path));
	search->numbers[object] = number;
	search->path[search->depth++] =
		(struct step){ object, number, number, search->pending_count };
	return push_edges(search, object);
}

static void add_member(struct search *search, heap_object_id object)
{
	search->numbers[object] = search->snapshot->object_count - search->components;
	search->members[search->reached++] = object;
}

// True if an open object was visited after the one with that number.
static inline bool is_left_since(const struct search *search, uint32_t number)
{
	const heap_object_id *left = search->members + search->left;
	uint32_t count = search->snapshot->object_count - search->left;

	if (count > PREFETCH_DISTANCE)
		heap_prefetch(&search->numbers[left[PREFETCH_DISTANCE]]);
	return count > 0 && search->numbers[*left] > number;
}

// Leaves an object. If it reaches none that was visited before, it completes a component, whose other
// members are those that the search has left since.
static void leave(struct search *search)
{
	struct step step = search->path[--search->depth];

	if (step.low < step.own) {
		struct step *above = &search->path[search->depth - 1];

		search->members[--search->left] = step.object;
		above->low = step.low < above->low ? step.low : above->low;
		return;
	}
	while (is_left_since(search, step.own))
		add_member(search, search->members[search->left++]);
	add_member(search, step.object);
	search->components++;
	search->next = step.own;
}

// Data that push_edges() prefetched may have left the cache by the time the edge is popped: so prefetch
// it again a few edges before, and, once that has arrived, the target's own edges.
static inline void look_ahead(const struct search *search)
{
	const struct heap_snapshot *snapshot = search->snapshot;
	heap_object_id far, near;

	if (search->pending_count <= FAR_BELOW)
		return;
	far = search->pending[search->pending_count - FAR_BELOW];
	near = search->pending[search->pending_count - NEAR_BELOW];
	heap_prefetch(&search->numbers[far]);
	heap_prefetch(&snapshot->edge_first[far]);
	heap_prefetch(&snapshot->edge_target[snapshot->edge_first[near]]);
}

HEAP_MUST_CHECK
static struct heap_error *search_from(struct search *search, heap_object_id start)
{
	HEAP_TRY(visit(search, start));
	while (search->depth > 0) {
		struct step *step = &search->path[search->depth - 1];
		heap_object_id target;
		uint32_t number;

		if (search->pending_count == step->pending) {
			leave(search);
			continue;
		}
		look_ahead(search);
		target = search->pending[--search->pending_count];
		number = search->numbers[target];
		if (number) {
			step->low = number < step->low ? number : step->low;
			continue;
		}
		HEAP_TRY(visit(search, target));
		HEAP_TRY(heap_progress_step(search->graph->progress, "cycles",
					    search->reached + search->depth,
					    search->snapshot->object_count));
	}
	return NULL;
}

// Searches from the roots of one level.
HEAP_MUST_CHECK
static struct heap_error *search_level(struct search *search, enum heap_root_level level)
{
	const struct heap_snapshot *snapshot = search->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (!search->numbers[edge->target] &&
		    heap_root_edge_level(search->graph, edge) == level)
			HEAP_TRY(search_from(search, edge->target));
	}
	return NULL;
}

static void search_deinit(struct search *search)
{
	heap_column_destroy(search->numbers);
	heap_column_destroy(search->members);
	heap_column_destroy(search->path);
	heap_column_destroy(search->pending);
}

struct heap_error *heap_components_init(struct heap_components *result,
					const struct heap_graph *graph)
{
	uint32_t objects = graph->snapshot->object_count;
	CLEANUP(search_deinit)
	struct search search = {
		.graph = graph, .snapshot = graph->snapshot, .left = objects, .next = 1
	};
	struct heap_components found = { 0 };

	HEAP_TRY(heap_column_create((size_t)objects + 1, sizeof(*search.numbers), &search.numbers));
	HEAP_TRY(heap_column_create((size_t)objects + 1, sizeof(*search.members), &search.members));
	for (enum heap_root_level level = 0; level < HEAP_LEVELS; level++) {
		found.start[level] = search.components;
		if (heap_graph_has_level(graph, level))
			HEAP_TRY(search_level(&search, level));
	}
	for (heap_object_id i = 0; i < objects; i++)
		search.numbers[i] =
			search.numbers[i] ? objects - search.numbers[i] : HEAP_NO_COMPONENT;
	found.start[HEAP_LEVELS] = found.count = search.components;
	found.reached = search.reached;
	found.of = keep(search.numbers);
	found.members = keep(search.members);
	*result = found;
	return NULL;
}

void heap_components_deinit(struct heap_components *components)
{
	heap_column_destroy(components->of);
	heap_column_destroy(components->members);
}
