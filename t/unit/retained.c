// SPDX-License-Identifier: GPL-3.0-or-later
// Retained sets and dominated nodes: random graphs against searches that
// are obviously right.
#include "t/unit/unit.h"

#include "lib/base/bits.h"
#include "lib/graph/dominator_tree.h"
#include "lib/graph/retained.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 3000,
};

// Marks objects that roots reach without passing through the set, by pointers that count.
static void reach_without(const struct heap_snapshot *model, const uint8_t *levels,
			  const uint8_t *set, uint8_t *reached)
{
	bool changed = true;

	memset(reached, 0, model->object_count);
	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		const struct heap_root_edge *edge = &model->root_edges[i];

		if (!levels || levels[edge->target] == model_edge_level(model, edge))
			reached[edge->target] = !heap_bit_get(set, edge->target);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < model->object_count; i++) {
			for (uint32_t j = model->edge_first[i];
			     reached[i] && j < model->edge_first[i + 1]; j++) {
				uint32_t target = model->edge_target[j];

				if (!reached[target] && !heap_bit_get(set, target) &&
				    (!levels || levels[i] == levels[target]))
					reached[target] = changed = true;
			}
		}
	}
}

static void check_set(struct heap_graph *graph, const uint8_t *set)
{
	const struct heap_snapshot *model = graph->snapshot;
	uint8_t all[MAX_OBJECTS], without[MAX_OBJECTS], found_levels[MAX_OBJECTS];
	const uint8_t *levels = graph->is_conservative ? NULL : found_levels;
	uint8_t retained[MAX_OBJECTS / 8 + 1] = { 0 }, none[MAX_OBJECTS / 8 + 1] = { 0 };
	struct heap_retained found, expected = { 0, 0 };

	model_find_levels(model, found_levels);
	reach_without(model, levels, none, all);
	reach_without(model, levels, set, without);
	assert_null(heap_retained_by_set(graph, set, retained, &found));
	for (uint32_t i = 0; i < model->object_count; i++) {
		assert_int_equal(heap_bit_get(retained, i), all[i] && !without[i]);
		expected.objects += all[i] && !without[i];
		expected.bytes += all[i] && !without[i] ? model->size[i] : 0;
	}
	assert_int_equal(found.objects, expected.objects);
	assert_int_equal(found.bytes, expected.bytes);
}

static void sets_retain_what_is_lost_without_them(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		uint8_t set[MAX_OBJECTS / 8 + 1] = { 0 };

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);
		uint32_t rarity = 1 + random_below(20);

		graph->is_conservative = i % 3 == 0;
		for (uint32_t j = 0; j < model.object_count; j++) {
			if (random_below(rarity) == 0)
				heap_bit_set(set, j);
		}
		check_set(graph, set);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// A node's children in the tree are those that have it as their nearest dominator.
static void check_children(const struct heap_dominators *dominators)
{
	struct heap_dominator_tree tree;
	uint32_t nodes = (uint32_t)(dominators->objects + dominators->roots), seen = 0;

	assert_null(heap_dominator_tree_init(&tree, dominators));
	assert_int_equal(tree.nodes, nodes);
	for (uint32_t node = 0; node <= nodes; node++) {
		for (uint32_t i = tree.first[node]; i < tree.first[node + 1]; i++, seen++) {
			heap_node_id child = tree.child[i];

			assert_int_equal(dominators->nearest[child],
					 node == nodes ? HEAP_NO_NODE : node);
			assert_true(dominators->retained[child] > 0);
			if (i > tree.first[node])
				assert_true(tree.child[i - 1] < child);
		}
	}
	for (uint32_t node = 0; node < nodes; node++)
		seen -= dominators->retained[node] > 0;
	assert_int_equal(seen, 0);
	heap_dominator_tree_deinit(&tree);
}

static void check_marks(const struct heap_dominators *dominators, heap_node_id node)
{
	uint8_t marks[MAX_OBJECTS / 8 + 1] = { 0 };

	assert_null(heap_dominators_mark(dominators, node, marks));
	for (uint32_t i = 0; i < dominators->objects; i++) {
		heap_node_id at = i;

		while (at != node && at != HEAP_NO_NODE)
			at = dominators->nearest[at];
		assert_int_equal(heap_bit_get(marks, i), at == node);
	}
}

// Sums what objects of each group retain that have none of their group above them.
static void check_sums(const struct heap_dominators *dominators)
{
	struct heap_dominator_tree tree;
	uint32_t group[MAX_OBJECTS], groups = 1 + random_below(10);
	uint64_t found[11] = { 0 }, expected[11] = { 0 };

	for (uint32_t i = 0; i < dominators->objects; i++)
		group[i] = random_below(groups);
	for (uint32_t i = 0; i < dominators->objects; i++) {
		heap_node_id at = dominators->nearest[i];

		while (at < dominators->objects && group[at] != group[i])
			at = dominators->nearest[at];
		if (at >= dominators->objects)
			expected[group[i]] += dominators->retained[i];
	}
	assert_null(heap_dominator_tree_init(&tree, dominators));
	assert_null(heap_dominator_tree_sum(&tree, group, groups, found));
	assert_memory_equal(found, expected, sizeof(found));
	heap_dominator_tree_deinit(&tree);
}

static void the_tree_can_be_walked_from_its_top(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_dominators dominators;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		assert_null(heap_dominators_init(&dominators, graph));
		check_children(&dominators);
		check_sums(&dominators);
		for (int j = 0; j < 5; j++)
			check_marks(&dominators,
				    random_below(model.object_count + model.root_count));
		heap_dominators_deinit(&dominators);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// Somebody may have made the side file up.
static void a_tree_that_goes_round_in_circles_has_an_end(void **state)
{
	static const heap_node_id nearest[] = { 1, 2, 0, 3, 0, 6, HEAP_NO_NODE };
	static const uint64_t retained[] = { 1, 1, 1, 1, 1, 1, 1 };
	const struct heap_dominators dominators = {
		.nearest = nearest, .retained = retained, .objects = 6, .roots = 1
	};
	uint8_t marks = 0;

	(void)state;
	assert_null(heap_dominators_mark(&dominators, 6, &marks));
	assert_int_equal(marks, 1 << 5);
	marks = 0;
	assert_null(heap_dominators_mark(&dominators, 2, &marks));
	assert_int_equal(marks, 1 << 0 | 1 << 1 | 1 << 2 | 1 << 4);
}

UNIT_TESTS("retained", cmocka_unit_test(sets_retain_what_is_lost_without_them),
	   cmocka_unit_test(the_tree_can_be_walked_from_its_top),
	   cmocka_unit_test(a_tree_that_goes_round_in_circles_has_an_end))
