// SPDX-License-Identifier: GPL-3.0-or-later
// Shortest paths: against distances by relaxation, on random graphs; and which of several of
// one length is preferred.
#include "t/unit/unit.h"

#include "lib/base/parallel.h"
#include "lib/graph/paths.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 1000,
	LONG = 1000000,
	MANY = 100000,
};

// How good a way is: edges after the root's; rank of the root; doubtful pointers.
struct measure {
	uint32_t length, rank, doubt;
};

static bool is_better(struct measure a, struct measure b)
{
	if (a.length != b.length)
		return a.length < b.length;
	return a.rank != b.rank ? a.rank < b.rank : a.doubt < b.doubt;
}

static uint32_t doubt_of(uint32_t interior, uint8_t flags)
{
	return (flags & HEAP_EDGE_TYPED ? 0 : 2) + !model_is_start(interior, flags);
}

static struct measure measure_root_edge(const struct heap_snapshot *model, uint64_t index)
{
	const struct heap_root_edge *edge = &model->root_edges[index];

	return (struct measure){ .rank = model_rank(model, &model->roots[edge->root]),
				 .doubt = doubt_of(edge->interior, edge->flags) };
}

static struct measure add_edge(const struct heap_snapshot *model, struct measure way, uint32_t edge)
{
	way.length++;
	way.doubt += doubt_of(model->edge_interior[edge], model->edge_flags[edge]);
	return way;
}

static bool improve(struct measure *old, struct measure new)
{
	if (!is_better(new, *old))
		return false;
	*old = new;
	return true;
}

// The best way to each object, by relaxing all edges until nothing changes.
static void find_best(const struct heap_snapshot *model, struct measure *best)
{
	bool more = true;

	memset(best, 0xff, model->object_count * sizeof(*best));
	for (uint64_t i = 0; i < model->root_edge_count; i++)
		improve(&best[model->root_edges[i].target], measure_root_edge(model, i));
	while (more) {
		more = false;
		for (uint32_t i = 0; i < model->object_count; i++) {
			for (uint32_t j = model->edge_first[i];
			     best[i].length != UINT32_MAX && j < model->edge_first[i + 1]; j++)
				more |= improve(&best[model->edge_target[j]],
						add_edge(model, best[i], j));
		}
	}
}

static void check_path(struct heap_graph *graph, heap_object_id object, struct measure best)
{
	const struct heap_snapshot *model = graph->snapshot;
	struct heap_path path = { .count = 4711 };
	struct heap_error *error = heap_path_find(graph, object, &path);

	if (best.length == UINT32_MAX) {
		assert_error(error, HEAP_ERROR_ABSENT, "no root reaches it");
		assert_int_equal(path.count, 4711);
		return;
	}
	assert_null(error);

	heap_object_id at = model->root_edges[path.root_edge].target;
	struct measure found = measure_root_edge(model, path.root_edge);

	for (size_t i = 0; i < path.count; i++) {
		assert_int_equal(heap_graph_source(graph, path.edges[i]), at);
		at = model->edge_target[path.edges[i]];
		found = add_edge(model, found, path.edges[i]);
	}
	assert_int_equal(at, object);
	assert_int_equal(found.length, best.length);
	assert_int_equal(found.rank, best.rank);
	assert_int_equal(found.doubt, best.doubt);
	heap_path_deinit(&path);
}

// Without reverse edges: by passes over all pointers, however many have been made.
static void check_same_path(struct heap_graph *graph, struct heap_graph *bare,
			    heap_object_id object)
{
	struct heap_path path, other;
	struct heap_error *error = heap_path_find(graph, object, &path);
	struct heap_error *other_error;

	bare->passes = 0;
	other_error = heap_path_find(bare, object, &other);
	assert_int_equal(!error, !other_error);
	heap_error_destroy(other_error);
	if (error) {
		heap_error_destroy(error);
		return;
	}
	assert_int_equal(path.root_edge, other.root_edge);
	assert_int_equal(path.count, other.count);
	assert_memory_equal(path.edges, other.edges, path.count * sizeof(*path.edges));
	heap_path_deinit(&path);
	heap_path_deinit(&other);
}

static void the_best_of_the_shortest_paths_is_found(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct measure best[MAX_OBJECTS];
		struct heap_snapshot model;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model), *bare;

		assert_null(heap_graph_create(&model, &bare));
		find_best(&model, best);
		for (heap_object_id object = 0; object < model.object_count; object++) {
			check_path(graph, object, best[object]);
			if (!bare->in_first)
				check_same_path(graph, bare, object);
		}
		heap_graph_destroy(graph);
		heap_graph_destroy(bare);
		model_deinit(&model);
	}
}

// Threads look at a part of the pointers each.
static void several_threads_find_the_same_path(void **state)
{
	struct heap_snapshot model;
	struct heap_graph *bare;

	(void)state;
	heap_parallel_set_threads(2);
	model_init(&model, MANY, MANY * 2, 2, 20);
	for (uint32_t i = 0; i < MANY * 2; i++) {
		model.edge_first[i / 2 + 1]++;
		model.edge_target[i] = random_below(2) ? (i / 2 + 1) % MANY : random_below(MANY);
		model.edge_interior[i] = random_below(4) ? 0 : 16;
		model.edge_flags[i] = (uint8_t)random_below(2);
	}
	for (uint32_t i = 0; i < MANY; i++)
		model.edge_first[i + 1] += model.edge_first[i];
	for (uint32_t i = 0; i < 20; i++) {
		model.root_edges[i].root = i / 10;
		model.root_edges[i].target = random_below(MANY);
	}

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_graph_create(&model, &bare));
	for (uint32_t i = 0; i < 100; i++)
		check_same_path(graph, bare, random_below(MANY));
	heap_graph_destroy(bare);
	heap_graph_destroy(graph);
	model_deinit(&model);
	heap_parallel_set_threads(0);
}

// A global variable → 0 → 1 → 3 untyped, → 2 → 3 typed; the stack → 3 is shorter, though
// nobody knows its name.
static void shorter_beats_named_and_typed_beats_first(void **state)
{
	static const struct built_edge edges[] = { { 0, 1, 0, HEAP_EDGE_TYPED },
						   { 0, 2, 0, HEAP_EDGE_TYPED },
						   { 1, 3, 0, 0 },
						   { 2, 3, 0, HEAP_EDGE_TYPED } };
	struct heap_snapshot model;
	struct heap_path path;

	(void)state;
	model_init(&model, 4, 4, 2, 1);
	model_set_edges(&model, edges);
	model.roots[0].kind = HEAP_ROOT_GLOBAL;
	model.roots[1].kind = HEAP_ROOT_STACK;

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_path_find(graph, 3, &path));
	assert_int_equal(path.root_edge, 0);
	assert_int_equal(path.count, 2);
	assert_int_equal(path.edges[0], 1);
	assert_int_equal(path.edges[1], 3);
	heap_path_deinit(&path);
	heap_graph_destroy(graph);

	free(model.root_edges);
	model.root_edge_count = 2;
	model.root_edges = calloc(2, sizeof(*model.root_edges));
	model.root_edges[1] = (struct heap_root_edge){ .root = 1, .target = 3 };
	graph = model_graph(&model);
	assert_null(heap_path_find(graph, 3, &path));
	assert_int_equal(path.root_edge, 1);
	assert_int_equal(path.count, 0);
	heap_path_deinit(&path);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void a_path_may_be_a_million_long(void **state)
{
	struct heap_snapshot model;
	struct heap_path path;

	(void)state;
	model_init(&model, LONG, LONG - 1, 1, 1);
	for (uint32_t i = 0; i < LONG; i++) {
		model.edge_first[i] = i;
		model.edge_target[i] = i + 1;
	}
	model.edge_first[LONG] = LONG - 1;

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_path_find(graph, LONG - 1, &path));
	assert_int_equal(path.count, LONG - 1);
	for (uint32_t i = 0; i < LONG - 1; i++)
		assert_int_equal(path.edges[i], i);
	heap_path_deinit(&path);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

// Who holds an object, and can be reached without it: objects first, then roots.
static uint32_t count_holders(const struct heap_snapshot *model, heap_object_id object)
{
	struct model_limits limits = MODEL_NO_LIMITS;
	uint8_t reached[MAX_OBJECTS];
	uint32_t count = 0;

	limits.without = object;
	model_reach(model, limits, reached);
	for (uint32_t i = 0; i < model->object_count; i++) {
		bool holds = false;

		for (uint32_t j = model->edge_first[i]; j < model->edge_first[i + 1]; j++)
			holds |= model->edge_target[j] == object;
		count += i != object && reached[i] && holds;
	}
	for (uint32_t i = 0; i < model->root_count; i++) {
		bool holds = false;

		for (uint64_t j = 0; j < model->root_edge_count; j++)
			holds |= model->root_edges[j].root == i &&
				 model->root_edges[j].target == object;
		count += holds;
	}
	return count;
}

// The number of the object that holds it last, or of the root.
static uint32_t last_holder(const struct heap_graph *graph, const struct heap_path *path)
{
	const struct heap_snapshot *model = graph->snapshot;

	return path->count ? heap_graph_source(graph, path->edges[path->count - 1])
			   : model->object_count + model->root_edges[path->root_edge].root;
}

static bool is_typed(const struct heap_snapshot *model, const struct heap_path *path)
{
	bool typed = model->root_edges[path->root_edge].flags & HEAP_EDGE_TYPED;

	for (size_t i = 0; i < path->count; i++)
		typed &= model->edge_flags[path->edges[i]] & HEAP_EDGE_TYPED;
	return typed;
}

static void check_paths(struct heap_graph *graph, heap_object_id object)
{
	const struct heap_snapshot *model = graph->snapshot;
	struct heap_path paths[MAX_OBJECTS + MAX_ROOTS];
	uint8_t seen[MAX_OBJECTS + MAX_ROOTS] = { 0 };
	size_t count = 4711;

	assert_null(
		heap_paths_find(graph, NULL, object, NULL, MAX_OBJECTS + MAX_ROOTS, paths, &count));
	assert_int_equal(count, count_holders(model, object));
	for (size_t i = 0; i < count; i++) {
		heap_object_id at = model->root_edges[paths[i].root_edge].target;
		uint32_t holder = last_holder(graph, &paths[i]);

		for (size_t j = 0; j < paths[i].count; j++) {
			assert_int_equal(heap_graph_source(graph, paths[i].edges[j]), at);
			at = model->edge_target[paths[i].edges[j]];
		}
		assert_int_equal(at, object);
		assert_false(seen[holder]);
		seen[holder] = 1;
		if (i > 0 && is_typed(model, &paths[i])) {
			assert_true(is_typed(model, &paths[i - 1]));
			assert_true(paths[i].count >= paths[i - 1].count);
		}
	}
	while (count > 0)
		heap_path_deinit(&paths[--count]);
}

static void there_is_a_way_by_each_holder(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		for (int j = 0; j < 10; j++)
			check_paths(graph, random_below(model.object_count));
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

UNIT_TESTS("paths", cmocka_unit_test(there_is_a_way_by_each_holder),
	   cmocka_unit_test(the_best_of_the_shortest_paths_is_found),
	   cmocka_unit_test(several_threads_find_the_same_path),
	   cmocka_unit_test(shorter_beats_named_and_typed_beats_first),
	   cmocka_unit_test(a_path_may_be_a_million_long))
