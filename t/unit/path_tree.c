// SPDX-License-Identifier: GPL-3.0-or-later
// Ways from roots to all objects at once: each as good as the one that is found for it alone.
#include "t/unit/unit.h"

#include "lib/graph/path_tree.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 500,
	LONG = 1000000,
};

// How good a way is, as lib/graph/paths.h has it.
struct measure {
	size_t length;
	uint32_t rank, doubt;
};

static uint32_t doubt_of(uint32_t interior, uint8_t flags)
{
	return (flags & HEAP_EDGE_TYPED ? 0 : 2) + !model_is_start(interior, flags);
}

// Also whether it is a way at all.
static struct measure measure(const struct heap_graph *graph, const struct heap_path *path,
			      heap_object_id object, bool typed_only)
{
	const struct heap_snapshot *model = graph->snapshot;
	const struct heap_root_edge *root = &model->root_edges[path->root_edge];
	struct measure result = { .length = path->count,
				  .rank = model_rank(model, &model->roots[root->root]),
				  .doubt = doubt_of(root->interior, root->flags) };
	heap_object_id at = root->target;

	for (size_t i = 0; i < path->count; i++) {
		uint32_t edge = path->edges[i];

		assert_int_equal(heap_graph_source(graph, edge), at);
		assert_true(!typed_only || (model->edge_flags[edge] & HEAP_EDGE_TYPED));
		result.doubt += doubt_of(model->edge_interior[edge], model->edge_flags[edge]);
		at = model->edge_target[edge];
	}
	assert_int_equal(at, object);
	return result;
}

static void check_path(struct heap_graph *graph, const struct heap_path_tree *tree,
		       heap_object_id object, bool typed_only)
{
	const struct heap_path_limits limits = { .typed_only = typed_only };
	struct heap_path alone, found;
	struct heap_error *error = heap_path_find_within(graph, object, &limits, &alone);

	if (error) {
		assert_error(error, HEAP_ERROR_ABSENT, "no root reaches it");
		assert_error(heap_path_tree_find(tree, object, &found), HEAP_ERROR_ABSENT,
			     "no root reaches it");
		return;
	}
	assert_null(heap_path_tree_find(tree, object, &found));

	struct measure expected = measure(graph, &alone, object, typed_only);
	struct measure is = measure(graph, &found, object, typed_only);

	assert_int_equal(is.length, expected.length);
	assert_int_equal(is.rank, expected.rank);
	assert_int_equal(is.doubt, expected.doubt);
	heap_path_deinit(&alone);
	heap_path_deinit(&found);
}

static void all_ways_are_as_good_as_one(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_path_tree tree;
		bool typed_only = i % 2;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		assert_null(heap_path_tree_init(&tree, graph, typed_only));
		for (heap_object_id object = 0; object < model.object_count; object++)
			check_path(graph, &tree, object, typed_only);
		heap_path_tree_deinit(&tree);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static void a_way_may_be_a_million_long(void **state)
{
	struct heap_snapshot model;
	struct heap_path_tree tree;
	struct heap_path path;

	(void)state;
	model_init(&model, LONG, LONG - 1, 1, 1);
	for (uint32_t i = 0; i < LONG; i++) {
		model.edge_first[i] = i;
		model.edge_target[i] = i + 1;
	}
	model.edge_first[LONG] = LONG - 1;

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_path_tree_init(&tree, graph, false));
	assert_null(heap_path_tree_find(&tree, LONG - 1, &path));
	assert_int_equal(path.count, LONG - 1);
	for (uint32_t i = 0; i < LONG - 1; i++)
		assert_int_equal(path.edges[i], i);
	heap_path_deinit(&path);
	heap_path_tree_deinit(&tree);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

UNIT_TESTS("path_tree", cmocka_unit_test(all_ways_are_as_good_as_one),
	   cmocka_unit_test(a_way_may_be_a_million_long))
