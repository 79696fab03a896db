// SPDX-License-Identifier: GPL-3.0-or-later
// Reverse edges, reachability, dominators, retained sizes, paths: random graphs against
// answers that are obviously right.
#include "t/unit/unit.h"

#include "lib/dominators.h"
#include "lib/paths.h"
#include "lib/reachable.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_OBJECTS = 200,
	MAX_ROOTS = 12,
	GRAPHS = 2000,
	LIST = 1000000,
};

// A snapshot in memory, that tests fill by hand.
struct model {
	struct heap_snapshot snapshot;
};

static uint64_t random_state = 88172645463325252u;

static uint32_t random_below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state % limit);
}

static void model_init(struct model *model, uint32_t objects, uint32_t edges, uint32_t roots,
		       uint32_t root_edges)
{
	struct heap_snapshot *snapshot = &model->snapshot;

	memset(model, 0, sizeof(*model));
	snapshot->object_count = objects;
	snapshot->edge_count = edges;
	snapshot->root_count = roots;
	snapshot->root_edge_count = root_edges;
	snapshot->address = calloc(objects + 1, sizeof(uint64_t));
	snapshot->size = calloc(objects + 1, sizeof(uint64_t));
	snapshot->edge_first = calloc(objects + 1, sizeof(uint32_t));
	snapshot->edge_target = calloc(edges + 1, sizeof(uint32_t));
	snapshot->edge_slot = calloc(edges + 1, sizeof(uint32_t));
	snapshot->edge_interior = calloc(edges + 1, sizeof(uint32_t));
	snapshot->edge_flags = calloc(edges + 1, 1);
	snapshot->roots = calloc(roots + 1, sizeof(struct heap_root));
	snapshot->root_edges = calloc(root_edges + 1, sizeof(struct heap_root_edge));
	for (uint32_t i = 0; i < objects; i++)
		snapshot->size[i] = 1 + i % 7;
}

static void model_deinit(struct model *model)
{
	struct heap_snapshot *snapshot = &model->snapshot;

	free(snapshot->address);
	free(snapshot->size);
	free(snapshot->edge_first);
	free(snapshot->edge_target);
	free(snapshot->edge_slot);
	free(snapshot->edge_interior);
	free(snapshot->edge_flags);
	free(snapshot->roots);
	free(snapshot->root_edges);
}

static int compare_numbers(const void *left, const void *right)
{
	return (*(const uint32_t *)left > *(const uint32_t *)right) -
	       (*(const uint32_t *)left < *(const uint32_t *)right);
}

// Self-loops, several edges between two objects, and parts that nothing reaches, all happen.
static void make_random(struct model *model)
{
	uint32_t objects = 1 + random_below(MAX_OBJECTS), edges = random_below(objects * 3);
	uint32_t roots = random_below(MAX_ROOTS) + 1, root_edges = random_below(roots * 2 + 1);
	uint32_t *sources = calloc(edges + 1, sizeof(*sources));

	model_init(model, objects, edges, roots, root_edges);

	struct heap_snapshot *snapshot = &model->snapshot;

	for (uint32_t i = 0; i < edges; i++) {
		sources[i] = random_below(objects);
		snapshot->edge_target[i] = random_below(objects);
		snapshot->edge_flags[i] = (uint8_t)random_below(2);
	}
	qsort(sources, edges, sizeof(*sources), compare_numbers);
	for (uint32_t i = 0; i < edges; i++)
		snapshot->edge_first[sources[i] + 1]++;
	for (uint32_t i = 0; i < objects; i++)
		snapshot->edge_first[i + 1] += snapshot->edge_first[i];

	uint32_t last = 0;

	for (uint32_t i = 0; i < root_edges; i++) {
		last += random_below(2);
		snapshot->root_edges[i].root = last < roots ? last : roots - 1;
		snapshot->root_edges[i].target = random_below(objects);
	}
	free(sources);
}

// --- the obviously right answers ---------------------------------------------

// Marks what can be reached without passing through node `without` (an object or a root).
static void reach_without(const struct heap_snapshot *snapshot, uint32_t without, uint8_t *reached)
{
	bool more = true;

	memset(reached, 0, snapshot->object_count);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (snapshot->object_count + edge->root != without && edge->target != without)
			reached[edge->target] = 1;
	}
	while (more) {
		more = false;
		for (uint32_t i = 0; i < snapshot->object_count; i++) {
			for (uint32_t j = snapshot->edge_first[i];
			     reached[i] && j < snapshot->edge_first[i + 1]; j++) {
				uint32_t target = snapshot->edge_target[j];

				if (target != without && !reached[target])
					reached[target] = more = true;
			}
		}
	}
}

static uint64_t bytes_lost_without(const struct heap_snapshot *snapshot, uint32_t node)
{
	uint8_t all[MAX_OBJECTS], rest[MAX_OBJECTS];
	uint64_t bytes = 0;

	reach_without(snapshot, UINT32_MAX, all);
	reach_without(snapshot, node, rest);
	for (uint32_t i = 0; i < snapshot->object_count; i++)
		bytes += all[i] && !rest[i] ? snapshot->size[i] : 0;
	return bytes;
}

// --- tests -------------------------------------------------------------------

static struct heap_graph *graph_of(struct model *model)
{
	struct heap_graph *graph;

	assert_null(heap_graph_create(&model->snapshot, &graph));
	assert_null(heap_graph_need_reverse(graph));
	assert_null(heap_graph_need_reach(graph));
	return graph;
}

static void check_reverse(const struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t seen = 0;

	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		for (uint32_t j = graph->in_first[i]; j < graph->in_first[i + 1]; j++, seen++) {
			assert_int_equal(snapshot->edge_target[graph->in_edge[j]], i);
			assert_int_equal(heap_graph_source(graph, graph->in_edge[j]),
					 graph->in_source[j]);
			assert_in_range(graph->in_edge[j],
					snapshot->edge_first[graph->in_source[j]],
					snapshot->edge_first[graph->in_source[j] + 1] - 1);
		}
	}
	assert_int_equal(seen, snapshot->edge_count);
}

static void check_dominators(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct heap_dominators dominators;
	uint8_t reached[MAX_OBJECTS];

	assert_null(heap_dominators_init(&dominators, graph));
	reach_without(snapshot, UINT32_MAX, reached);
	for (uint32_t i = 0; i < snapshot->object_count + snapshot->root_count; i++) {
		assert_int_equal(dominators.retained[i], bytes_lost_without(snapshot, i));
		if (i < snapshot->object_count)
			assert_int_equal(graph->reach[i] != HEAP_REACH_NOT, reached[i]);
	}
	// The nearest dominator loses the object, and no other dominator lies in between.
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		uint8_t rest[MAX_OBJECTS];

		if (!reached[i]) {
			assert_int_equal(dominators.nearest[i], HEAP_NO_NODE);
			continue;
		}
		for (uint32_t node = 0; node < snapshot->object_count + snapshot->root_count;
		     node++) {
			reach_without(snapshot, node, rest);
			if (node == i || rest[i])
				continue;
			// Each other dominator of the object is above the nearest one.
			uint32_t above = dominators.nearest[i];

			while (above != node && above != HEAP_NO_NODE)
				above = dominators.nearest[above];
			assert_int_equal(above, node);
		}
		if (dominators.nearest[i] != HEAP_NO_NODE) {
			reach_without(snapshot, dominators.nearest[i], rest);
			assert_false(rest[i]);
		}
	}
	heap_dominators_deinit(&dominators);
}

// The number of edges from a root, by relaxation; UINT32_MAX: none.
static void find_distances(const struct heap_snapshot *snapshot, uint32_t *distance)
{
	bool more = true;

	memset(distance, 0xff, snapshot->object_count * sizeof(*distance));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		distance[snapshot->root_edges[i].target] = 0;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < snapshot->object_count; i++) {
			for (uint32_t j = snapshot->edge_first[i];
			     distance[i] != UINT32_MAX && j < snapshot->edge_first[i + 1]; j++) {
				uint32_t *there = &distance[snapshot->edge_target[j]];

				if (*there > distance[i] + 1) {
					*there = distance[i] + 1;
					more = true;
				}
			}
		}
	}
}

static void check_paths(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint32_t distance[MAX_OBJECTS];

	find_distances(snapshot, distance);
	for (uint32_t i = 0; i < snapshot->object_count; i++) {
		struct heap_path path;
		struct heap_error *error = heap_path_find(graph, i, &path);

		if (distance[i] == UINT32_MAX) {
			assert_error(error, HEAP_ERROR_ABSENT, "no root");
			continue;
		}
		assert_null(error);
		assert_int_equal(path.count, distance[i]);

		uint32_t at = snapshot->root_edges[path.root_edge].target;

		for (size_t j = 0; j < path.count; j++) {
			assert_int_equal(heap_graph_source(graph, path.edges[j]), at);
			at = snapshot->edge_target[path.edges[j]];
		}
		assert_int_equal(at, i);
		heap_path_deinit(&path);
	}
}

static void check_reachable(struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct heap_reachable_search *search;

	assert_null(heap_reachable_create(graph, &search));
	for (heap_root_id root = 0; root < snapshot->root_count; root++) {
		struct heap_snapshot alone = *snapshot;
		uint8_t reached[MAX_OBJECTS];
		uint64_t bytes = 0;

		alone.root_edge_count = 0;
		alone.root_edges = calloc(snapshot->root_edge_count + 1, sizeof(*alone.root_edges));
		for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
			if (snapshot->root_edges[i].root == root)
				alone.root_edges[alone.root_edge_count++] = snapshot->root_edges[i];
		}
		reach_without(&alone, UINT32_MAX, reached);
		for (uint32_t i = 0; i < snapshot->object_count; i++)
			bytes += reached[i] ? snapshot->size[i] : 0;
		assert_int_equal(heap_reachable_from_root(search, root).bytes, bytes);
		free(alone.root_edges);
	}
	heap_reachable_destroy(search);
}

static void random_graphs_have_the_right_answers(void **state)
{
	(void)state;
	for (int i = 0; i < GRAPHS; i++) {
		struct model model;

		make_random(&model);

		struct heap_graph *graph = graph_of(&model);

		check_reverse(graph);
		check_reachable(graph);
		check_paths(graph);
		// The reference is cubic: small graphs all, large ones now and then.
		if (model.snapshot.object_count < 40 || i % 50 == 0)
			check_dominators(graph);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static void a_long_doubly_linked_list_is_fast(void **state)
{
	struct model model;
	struct heap_dominators dominators;
	uint32_t edge = 0;

	(void)state;
	model_init(&model, LIST, 2 * LIST - 2, 2, 2);
	for (uint32_t i = 0; i < LIST; i++) {
		model.snapshot.edge_first[i] = edge;
		if (i + 1 < LIST)
			model.snapshot.edge_target[edge++] = i + 1;
		if (i > 0)
			model.snapshot.edge_target[edge++] = i - 1;
	}
	model.snapshot.edge_first[LIST] = edge;
	model.snapshot.root_edges[0] = (struct heap_root_edge){ .root = 0, .target = 0 };
	model.snapshot.root_edges[1] = (struct heap_root_edge){ .root = 1, .target = LIST - 1 };

	struct heap_graph *graph = graph_of(&model);

	// Held at both ends: no node holds another one alone.
	assert_null(heap_dominators_init(&dominators, graph));
	for (uint32_t i = 0; i < LIST; i++)
		assert_int_equal(dominators.retained[i], model.snapshot.size[i]);
	assert_int_equal(dominators.retained[LIST], 0);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void nothing_is_no_trouble(void **state)
{
	struct model model;
	struct heap_dominators dominators;

	(void)state;
	model_init(&model, 0, 0, 0, 0);

	struct heap_graph *graph = graph_of(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void interior_pointers_reach_less_surely(void **state)
{
	struct model model;

	(void)state;
	// root → 0 (start), 0 → 1 (into its middle), 1 → 2 (start); 3 is a tagged pointer's.
	model_init(&model, 4, 3, 1, 1);
	model.snapshot.edge_target[0] = 1;
	model.snapshot.edge_interior[0] = 16;
	model.snapshot.edge_target[1] = 3;
	model.snapshot.edge_interior[1] = 1;
	model.snapshot.edge_flags[1] = HEAP_EDGE_TYPED;
	model.snapshot.edge_target[2] = 2;
	model.snapshot.edge_first[1] = 2;
	model.snapshot.edge_first[2] = 3;
	model.snapshot.edge_first[3] = 3;
	model.snapshot.edge_first[4] = 3;

	struct heap_graph *graph = graph_of(&model);

	assert_int_equal(graph->reach[0], HEAP_REACH_START);
	assert_int_equal(graph->reach[1], HEAP_REACH_INTERIOR);
	assert_int_equal(graph->reach[2], HEAP_REACH_INTERIOR);
	assert_int_equal(graph->reach[3], HEAP_REACH_START);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

UNIT_TESTS("graph", cmocka_unit_test(random_graphs_have_the_right_answers),
	   cmocka_unit_test(a_long_doubly_linked_list_is_fast),
	   cmocka_unit_test(nothing_is_no_trouble),
	   cmocka_unit_test(interior_pointers_reach_less_surely))
