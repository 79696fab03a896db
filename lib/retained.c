// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * One search in two halves. The first goes from the roots and stops at members of the set,
 * which are put aside; all that it meets stays reachable without them. The second goes on from
 * those that were put aside: what it meets has only been waiting for them.
 *
 * Both keep what they have to follow in one array: the first's from its start upwards, those
 * put aside from its end downwards. Nobody is in it twice.
 */
#include "lib/retained.h"

#include "lib/bits.h"
#include "lib/cleanup.h"
#include "lib/column.h"

struct search {
	const struct heap_graph *graph;
	const uint8_t *set; // NULL in the second half
	uint8_t *met;       // a bit per object
	heap_object_id *stack;
	size_t top;     // entries that are to be followed
	size_t aside;   // index of the last one put aside
	uint64_t steps; // taken, for progress
};

static void meet(struct search *search, heap_object_id object)
{
	if (heap_bit_get(search->met, object))
		return;
	heap_bit_set(search->met, object);
	if (search->set && heap_bit_get(search->set, object))
		search->stack[--search->aside] = object;
	else
		search->stack[search->top++] = object;
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct search *search, uint8_t *retained,
				 struct heap_retained *result)
{
	const struct heap_snapshot *snapshot = search->graph->snapshot;

	while (search->top > 0) {
		heap_object_id object = search->stack[--search->top];
		struct heap_error *error =
			heap_progress_step(search->graph->progress, "retained set", ++search->steps,
					   snapshot->object_count);

		if (error)
			return error;
		if (retained) {
			heap_bit_set(retained, object);
			result->objects++;
			result->bytes += snapshot->size[object];
		}
		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++)
			meet(search, snapshot->edge_target[i]);
	}
	return NULL;
}

struct heap_error *heap_retained_by_set(const struct heap_graph *graph, const uint8_t *set,
					uint8_t *retained, struct heap_retained *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = snapshot->object_count;
	CLEANUP_COLUMN uint8_t *met = NULL;
	CLEANUP_COLUMN heap_object_id *stack = NULL;
	struct heap_retained answer = { 0, 0 };
	struct heap_error *error = heap_column_create(objects / 8 + 1, 1, &met);

	if (!error)
		error = heap_column_create(objects + 1, sizeof(*stack), &stack);
	if (error)
		return error;

	struct search search = { graph, set, met, stack, 0, objects, 0 };

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		meet(&search, snapshot->root_edges[i].target);
	error = follow(&search, NULL, NULL);
	search.set = NULL;
	while (!error && search.aside < objects) {
		// Its place is free before it is needed: what is followed has been met once.
		stack[search.top++] = stack[search.aside++];
		error = follow(&search, retained, &answer);
	}
	if (!error)
		*result = answer;
	return error;
}
