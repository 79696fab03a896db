// SPDX-License-Identifier: GPL-3.0-or-later
// Strongly connected components: random graphs against reachability, and graphs that outgrow stacks.
#include "t/unit/unit.h"

#include "lib/graph/components.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 1000,
	LONG = 300000,
};

// Marks what an object reaches, itself included.
static void reach_from(const struct heap_snapshot *model, heap_object_id start, uint8_t *reached)
{
	heap_object_id pending[MAX_OBJECTS], count = 0;

	memset(reached, 0, model->object_count);
	reached[start] = 1;
	pending[count++] = start;
	while (count > 0) {
		heap_object_id object = pending[--count];

		for (uint32_t i = model->edge_first[object]; i < model->edge_first[object + 1];
		     i++) {
			heap_object_id target = model->edge_target[i];

			if (!reached[target])
				pending[count++] = target;
			reached[target] = 1;
		}
	}
}

static void check_order(const struct heap_snapshot *model, const struct heap_components *found)
{
	for (uint32_t i = 1; i < found->reached; i++) {
		uint32_t before = found->of[found->members[i - 1]];
		uint32_t component = found->of[found->members[i]];

		assert_true(component == before || component == before + 1);
	}
	for (heap_object_id i = 0; i < model->object_count; i++) {
		if (found->of[i] == HEAP_NO_COMPONENT)
			continue;
		for (uint32_t j = model->edge_first[i]; j < model->edge_first[i + 1]; j++)
			assert_true(found->of[model->edge_target[j]] <= found->of[i]);
	}
}

static void check_random(const struct heap_snapshot *model, const struct heap_components *found,
			 bool is_conservative)
{
	static uint8_t reached[MAX_OBJECTS][MAX_OBJECTS];
	uint8_t levels[MAX_OBJECTS];
	uint32_t alive = 0;

	model_find_levels(model, levels);
	for (heap_object_id i = 0; i < model->object_count; i++)
		reach_from(model, i, reached[i]);
	for (heap_object_id i = 0; i < model->object_count; i++) {
		bool is_alive = false;

		for (uint64_t j = 0; j < model->root_edge_count; j++)
			is_alive |= reached[model->root_edges[j].target][i];
		assert_int_equal(found->of[i] != HEAP_NO_COMPONENT, is_alive);
		alive += is_alive;
		if (!is_alive)
			continue;
		assert_int_equal(heap_components_level(found, found->of[i]),
				 is_conservative ? 0 : levels[i]);
		for (heap_object_id j = 0; j < i; j++)
			assert_int_equal(found->of[i] == found->of[j],
					 reached[i][j] && reached[j][i]);
	}
	assert_int_equal(found->reached, alive);
}

static void objects_that_reach_each_other_are_together(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_components found;
		struct heap_graph *graph;

		model_init_random(&model);
		graph = model_graph(&model);
		graph->is_conservative = i % 3 == 0;
		assert_null(heap_components_init(&found, graph));
		check_order(&model, &found);
		check_random(&model, &found, graph->is_conservative);
		heap_components_deinit(&found);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// A list, each of whose objects also points to another of it. @param is_cycle  the last leads back
// to the first
static void check_long(bool is_cycle)
{
	struct built_edge *edges = build_zeros(2 * LONG, sizeof(*edges));
	struct heap_snapshot model;
	struct heap_components found;
	struct heap_graph *graph;

	model_init(&model, LONG, 2 * LONG - 1, 1, 1);
	for (uint32_t i = 0; i < LONG; i++) {
		edges[2 * i] =
			(struct built_edge){ .source = i, .target = i + random_below(LONG - i) };
		edges[2 * i + 1] = (struct built_edge){ .source = i, .target = i + 1 };
	}
	edges[2 * LONG - 2].target = is_cycle ? 0 : LONG - 1;
	model_set_edges(&model, edges);
	graph = model_graph(&model);
	assert_null(heap_components_init(&found, graph));
	assert_int_equal(found.reached, LONG);
	assert_int_equal(found.count, is_cycle ? 1 : LONG);
	check_order(&model, &found);
	heap_components_deinit(&found);
	heap_graph_destroy(graph);
	model_deinit(&model);
	free(edges);
}

static void long_lists_are_searched(void **state)
{
	(void)state;
	check_long(false);
	check_long(true);
}

// One object points to all others, which point back, or to nothing.
static void wide_objects_are_searched(void **state)
{
	struct built_edge *edges = build_zeros(2 * LONG, sizeof(*edges));
	struct heap_snapshot model;
	struct heap_components found;
	struct heap_graph *graph;
	uint32_t count = 0;

	(void)state;
	for (uint32_t i = 1; i < LONG; i++)
		edges[count++] = (struct built_edge){ .source = 0, .target = i };
	for (uint32_t i = 1; i < LONG; i += 2)
		edges[count++] = (struct built_edge){ .source = i, .target = 0 };
	model_init(&model, LONG, count, 1, 1);
	model_set_edges(&model, edges);
	graph = model_graph(&model);
	assert_null(heap_components_init(&found, graph));
	assert_int_equal(found.reached, LONG);
	assert_int_equal(found.count, LONG / 2);
	check_order(&model, &found);
	heap_components_deinit(&found);
	heap_graph_destroy(graph);
	model_deinit(&model);
	free(edges);
}

UNIT_TESTS("components", cmocka_unit_test(objects_that_reach_each_other_are_together),
	   cmocka_unit_test(long_lists_are_searched), cmocka_unit_test(wide_objects_are_searched))
