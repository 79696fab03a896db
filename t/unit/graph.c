// SPDX-License-Identifier: GPL-3.0-or-later
// Reverse edges, classes of reachability, and what roots and objects reach: random graphs
// against answers that are obviously right.
#include "t/unit/unit.h"

#include "lib/graph/reachable.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 3000,
};

// Each edge once, below its target, by ascending number; its source by both ways.
static void check_reverse(const struct heap_graph *graph)
{
	const struct heap_snapshot *model = graph->snapshot;
	uint32_t seen = 0, seen_roots = 0;

	for (uint32_t i = 0; i < model->object_count; i++) {
		for (uint32_t j = graph->in_first[i]; j < graph->in_first[i + 1]; j++, seen++) {
			uint32_t edge = graph->in_edge[j], source = graph->in_source[j];

			assert_int_equal(model->edge_target[edge], i);
			assert_true(edge >= model->edge_first[source] &&
				    edge < model->edge_first[source + 1]);
			assert_int_equal(heap_graph_source(graph, edge), source);
			if (j > graph->in_first[i])
				assert_true(edge > graph->in_edge[j - 1]);
		}
		for (uint32_t j = graph->root_in_first[i]; j < graph->root_in_first[i + 1];
		     j++, seen_roots++) {
			assert_int_equal(model->root_edges[graph->root_in[j]].target, i);
			if (j > graph->root_in_first[i])
				assert_true(graph->root_in[j] > graph->root_in[j - 1]);
		}
	}
	assert_int_equal(seen, model->edge_count);
	assert_int_equal(seen_roots, model->root_edge_count);
}

static void edges_are_found_backwards(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		check_reverse(graph);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static void check_reach(const struct heap_graph *graph)
{
	const struct heap_snapshot *model = graph->snapshot;
	struct model_limits starts = MODEL_NO_LIMITS;
	uint8_t by_start[MAX_OBJECTS], by_any[MAX_OBJECTS];

	starts.starts_only = true;
	model_reach(model, starts, by_start);
	model_reach(model, MODEL_NO_LIMITS, by_any);
	for (uint32_t i = 0; i < model->object_count; i++)
		assert_int_equal(graph->reach[i], by_start[i] ? HEAP_REACH_START
						  : by_any[i] ? HEAP_REACH_INTERIOR
							      : HEAP_REACH_NOT);
}

static void reachability_has_three_classes(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_graph *graph;

		model_init_random(&model);
		assert_null(heap_graph_create(&model, &graph));
		assert_null(heap_graph_need_reach(graph));
		check_reach(graph);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// One search finds the leaked objects that the search for classes finds.
static void leaked_objects_are_those_that_nothing_reaches(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_graph *graph, *other;

		model_init_random(&model);
		assert_null(heap_graph_create(&model, &graph));
		assert_null(heap_graph_create(&model, &other));
		assert_null(heap_graph_need_reach(graph));
		assert_null(heap_graph_need_leaked(graph));
		assert_null(heap_graph_need_leaked(other));
		assert_null(graph->reached);
		assert_null(other->reach);
		for (heap_object_id j = 0; j < model.object_count; j++) {
			assert_int_equal(heap_graph_is_leaked(graph, j),
					 graph->reach[j] == HEAP_REACH_NOT);
			assert_int_equal(heap_graph_is_leaked(other, j),
					 graph->reach[j] == HEAP_REACH_NOT);
		}
		heap_graph_destroy(other);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// root → 0, 0 → 1 into its middle, 1 → 2, 0 → 3 with a tag in a typed pointer's low bits,
// 0 → 4 the same without a type, 5 → 5.
static void interior_pointers_reach_less_surely(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 16, HEAP_EDGE_TYPED }, { 0, 3, 1, HEAP_EDGE_TYPED }, { 0, 4, 1, 0 },
		{ 1, 2, 0, HEAP_EDGE_TYPED },  { 5, 5, 0, HEAP_EDGE_TYPED },
	};
	static const uint8_t expected[] = { HEAP_REACH_START,    HEAP_REACH_INTERIOR,
					    HEAP_REACH_INTERIOR, HEAP_REACH_START,
					    HEAP_REACH_INTERIOR, HEAP_REACH_NOT };
	struct heap_snapshot model;

	(void)state;
	model_init(&model, 6, 5, 1, 1);
	model_set_edges(&model, edges);

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_graph_need_reach(graph));
	assert_memory_equal(graph->reach, expected, sizeof(expected));
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static bool has_name(const struct heap_root *root)
{
	return root->kind == HEAP_ROOT_GLOBAL || root->kind == HEAP_ROOT_THREAD_LOCAL ||
	       root->kind == HEAP_ROOT_LOCAL;
}

// By relaxing all edges until nothing changes.
static void find_distances(const struct heap_snapshot *model, uint32_t *distance)
{
	bool more = true;

	memset(distance, 0xff, MAX_OBJECTS * sizeof(*distance));
	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		const struct heap_root_edge *edge = &model->root_edges[i];
		uint32_t start = has_name(&model->roots[edge->root]) ? 0 : HEAP_DISTANCE_NAMELESS;

		if (start < distance[edge->target])
			distance[edge->target] = start;
	}
	while (more) {
		more = false;
		for (uint32_t i = 0; i < model->object_count; i++) {
			for (uint32_t j = model->edge_first[i];
			     distance[i] != UINT32_MAX && j < model->edge_first[i + 1]; j++) {
				uint32_t *other = &distance[model->edge_target[j]];

				if (distance[i] + 1 < *other) {
					*other = distance[i] + 1;
					more = true;
				}
			}
		}
	}
}

static void distances_are_the_shortest(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_graph *graph;
		uint32_t expected[MAX_OBJECTS];

		model_init_random(&model);
		for (uint32_t j = 0; j < model.root_count; j++)
			model.roots[j].kind = (uint8_t)random_below(HEAP_ROOT_KINDS);
		assert_null(heap_graph_create(&model, &graph));
		assert_null(heap_graph_need_distance(graph));
		find_distances(&model, expected);
		assert_memory_equal(graph->distance, expected,
				    model.object_count * sizeof(*expected));
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static struct heap_reachable sum_up(const struct heap_snapshot *model, const uint8_t *reached)
{
	struct heap_reachable sum = { 0, 0 };

	for (uint32_t i = 0; i < model->object_count; i++) {
		sum.objects += reached[i];
		sum.bytes += reached[i] ? model->size[i] : 0;
	}
	return sum;
}

// Marks what one node reaches, an object or a root, by a search that is obviously right.
static void reach_from(const struct heap_snapshot *model, uint32_t node, uint8_t *reached)
{
	struct heap_root_edge edge = { .target = node };
	struct heap_snapshot alone = *model;
	struct model_limits limits = MODEL_NO_LIMITS;

	if (node >= model->object_count) {
		limits.root = node - model->object_count;
	} else {
		alone.root_edges = &edge;
		alone.root_edge_count = 1;
	}
	model_reach(&alone, limits, reached);
}

static void check_both(struct heap_reachable_search *search, const struct heap_snapshot *model)
{
	for (int i = 0; i < 5; i++) {
		uint32_t nodes = model->object_count + model->root_count;
		uint32_t a = random_below(nodes), b = random_below(nodes);
		uint8_t by_a[MAX_OBJECTS], by_b[MAX_OBJECTS], by_both[MAX_OBJECTS];
		struct heap_reachable first, second, both;

		reach_from(model, a, by_a);
		reach_from(model, b, by_b);
		for (uint32_t j = 0; j < model->object_count; j++)
			by_both[j] = by_a[j] && by_b[j];
		heap_reachable_from_both(search, a, b, &first, &second, &both);
		assert_int_equal(first.bytes, sum_up(model, by_a).bytes);
		assert_int_equal(second.objects, sum_up(model, by_b).objects);
		assert_int_equal(both.objects, sum_up(model, by_both).objects);
		assert_int_equal(both.bytes, sum_up(model, by_both).bytes);
	}
}

// One search answers for all roots and objects, in turn.
static void check_reachable(const struct heap_graph *graph)
{
	const struct heap_snapshot *model = graph->snapshot;
	struct heap_reachable_search *search;
	uint8_t reached[MAX_OBJECTS];

	assert_null(heap_reachable_create(graph, &search));
	for (heap_root_id root = 0; root < model->root_count; root++) {
		struct model_limits limits = MODEL_NO_LIMITS;

		limits.root = root;
		model_reach(model, limits, reached);

		struct heap_reachable expected = sum_up(model, reached);
		struct heap_reachable found = heap_reachable_from_root(search, root);

		assert_int_equal(found.objects, expected.objects);
		assert_int_equal(found.bytes, expected.bytes);
	}
	for (int i = 0; i < 10; i++) {
		heap_object_id object = random_below(model->object_count);
		struct heap_root_edge edge = { .target = object };
		struct heap_snapshot alone = *model;

		alone.root_edges = &edge;
		alone.root_edge_count = 1;
		model_reach(&alone, MODEL_NO_LIMITS, reached);

		struct heap_reachable expected = sum_up(model, reached);
		struct heap_reachable found = heap_reachable_from_object(search, object);

		assert_int_equal(found.objects, expected.objects);
		assert_int_equal(found.bytes, expected.bytes);
	}
	check_both(search, model);
	heap_reachable_destroy(search);
}

static void roots_and_objects_reach_what_they_reach(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		check_reachable(graph);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static void nothing_is_no_trouble(void **state)
{
	struct heap_snapshot model;
	struct heap_reachable_search *search;

	(void)state;
	model_init(&model, 0, 0, 1, 0);

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_graph_need_leaked(graph));
	assert_null(heap_graph_need_reach(graph));
	assert_null(heap_reachable_create(graph, &search));
	assert_int_equal(heap_reachable_from_root(search, 0).objects, 0);
	heap_reachable_destroy(search);
	heap_reachable_destroy(NULL);
	heap_graph_destroy(graph);
	heap_graph_destroy(NULL);
	model_deinit(&model);
}

static void too_many_root_edges_are_refused(void **state)
{
	struct heap_snapshot model;
	struct heap_graph *graph = NULL;

	(void)state;
	model_init(&model, 1, 0, 1, 0);
	model.root_edge_count = 1ULL << 32;
	assert_error(heap_graph_create(&model, &graph), HEAP_ERROR_ARGUMENT,
		     "4294967296 pointers in roots are too many for 32 bits");
	assert_null(graph);
	model_deinit(&model);
}

static bool stop(void *context, const char *what, double share)
{
	(void)what;
	(void)share;
	return --*(int *)context > 0;
}

// It ends at each of the reports, and goes well later.
static void transposing_can_be_interrupted(void **state)
{
	int reports = 0;
	const struct heap_progress progress = { stop, &reports };
	struct heap_snapshot model;
	struct heap_graph *graph;

	(void)state;
	model_init(&model, 2, HEAP_PROGRESS_STEP + 2, 0, 0);
	model.edge_first[1] = model.edge_first[2] = model.edge_count;
	assert_null(heap_graph_create(&model, &graph));
	graph->progress = &progress;
	for (int i = 1; i <= 3; i++) {
		reports = i;
		assert_error(heap_graph_need_reverse(graph), HEAP_ERROR_INTERRUPTED, "interrupted");
		assert_null(graph->in_first);
	}
	graph->progress = NULL;
	assert_null(heap_graph_need_reverse(graph));
	assert_int_equal(graph->in_first[1], model.edge_count);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

UNIT_TESTS("graph", cmocka_unit_test(edges_are_found_backwards),
	   cmocka_unit_test(reachability_has_three_classes),
	   cmocka_unit_test(leaked_objects_are_those_that_nothing_reaches),
	   cmocka_unit_test(interior_pointers_reach_less_surely),
	   cmocka_unit_test(distances_are_the_shortest),
	   cmocka_unit_test(roots_and_objects_reach_what_they_reach),
	   cmocka_unit_test(nothing_is_no_trouble),
	   cmocka_unit_test(too_many_root_edges_are_refused),
	   cmocka_unit_test(transposing_can_be_interrupted))
