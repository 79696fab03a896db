// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/root_sizes.h"

#include <stdlib.h>

static int compare_roots(const void *left, const void *right)
{
	const struct root_sizes *a = left, *b = right;

	if (a->retained != b->retained)
		return a->retained > b->retained ? -1 : 1;
	return a->root < b->root ? -1 : a->root > b->root;
}

// Bytes of the objects that a root points to and nothing else does.
static void add_exclusive(const struct session *session, struct root_sizes *roots)
{
	const struct heap_graph *graph = session->graph;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_object_id last = HEAP_NO_OBJECT;
	heap_root_id last_root = 0;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		heap_object_id target = edge->target;
		uint32_t first = graph->root_in_first[target],
			 end = graph->root_in_first[target + 1];
		bool alone = graph->in_first[target] == graph->in_first[target + 1];

		for (uint32_t j = first; j < end && alone; j++)
			alone = snapshot->root_edges[graph->root_in[j]].root == edge->root;
		if (!alone || (target == last && last_root == edge->root))
			continue;
		// Two pointers from one root count once: the first of them in the root's order.
		if (end - first > 1 && graph->root_in[first] != i)
			continue;
		roots[edge->root].exclusive += snapshot->size[target];
		last = target;
		last_root = edge->root;
	}
}

// Keeps the roots that hold something and pass the limits. @return how many
static size_t select_roots(struct session *session, struct root_sizes *roots, uint64_t minimum,
			   size_t limit)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	uint8_t *holds = session_allocate(session, snapshot->root_count);
	size_t count = 0;

	for (uint64_t i = 0; holds && i < snapshot->root_edge_count; i++)
		holds[snapshot->root_edges[i].root] = 1;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		if (holds && holds[i] && roots[i].retained >= minimum)
			roots[count++] = roots[i];
	}
	qsort(roots, count, sizeof(*roots), compare_roots);
	return count < limit ? count : limit;
}

HEAP_MUST_CHECK
static struct heap_error *measure_reachable(struct session *session, struct root_sizes *roots,
					    size_t count)
{
	struct heap_reachable_search *search;
	struct heap_error *error = heap_reachable_create(session->graph, &search);

	if (error)
		return error;
	for (size_t i = 0; i < count && !session_must_stop(session); i++)
		roots[i].reachable = heap_reachable_from_root(search, roots[i].root);
	heap_reachable_destroy(search);
	return NULL;
}

struct heap_error *root_sizes_measure(struct session *session, uint64_t minimum, size_t limit,
				      struct root_sizes **result, size_t *count)
{
	const struct heap_snapshot *snapshot = session->snapshot;
	struct heap_error *error = session_dominators(session);
	struct root_sizes *roots =
		session_allocate(session, (snapshot->root_count + 1) * sizeof(*roots));

	if (!error && !roots)
		error = heap_error_out_of_memory();
	if (!error)
		error = session_graph(session);
	if (error)
		return error;
	for (heap_root_id i = 0; i < snapshot->root_count; i++) {
		roots[i].root = i;
		roots[i].retained = session->dominators->retained[snapshot->object_count + i];
	}
	add_exclusive(session, roots);
	*count = select_roots(session, roots, minimum, limit);
	*result = roots;
	return measure_reachable(session, roots, *count);
}
