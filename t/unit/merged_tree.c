// SPDX-License-Identifier: GPL-3.0-or-later
// Dominator trees with their objects merged: heaps of known shapes.
#include "t/unit/unit.h"

#include "lib/graph/merged_tree.h"
#include "t/unit/graph_model.h"

enum {
	TABLE = 1,
	ENTRY,
	NAME,
	TYPES,
	SIZE = 10, // of each object
};

struct shape {
	struct heap_snapshot model;
	bool has_holders; // the last root is a word of a stack then
	struct heap_merged *found;
	uint32_t count;
};

// Each root is a group, and the last one that of words.
static void ask_with_holders(struct shape *shape, const struct heap_graph *graph,
			     const struct heap_dominator_tree *tree)
{
	uint32_t group[MAX_OBJECTS], roots = shape->model.root_count;
	struct heap_root_size sizes[MAX_OBJECTS];
	struct heap_root_sizes *all;
	struct heap_joint_sizes joint;

	for (uint32_t i = 0; i < roots; i++)
		group[i] = i;
	assert_null(heap_root_sizes_create(graph, &all));
	assert_null(heap_root_sizes_measure(all, group, roots, sizes, &joint));

	struct heap_holders holders = { all, &joint, group, roots - 1 };

	assert_null(heap_merged_tree_find(&shape->model, tree, &holders, NULL, &shape->found,
					  &shape->count));
	heap_joint_sizes_deinit(&joint);
	heap_root_sizes_destroy(all);
}

// The first objects are held by a root each, as many as there are.
static void ask(struct shape *shape, const struct built_edge *edges, const heap_type_id *types,
		uint32_t objects, uint32_t edge_count, uint32_t roots)
{
	struct heap_snapshot *model = &shape->model;
	struct heap_dominators dominators;
	struct heap_dominator_tree tree;

	model_init(model, objects, edge_count, roots, roots);
	model_set_edges(model, edges);
	model_set_types(model, types, TYPES, SIZE);

	if (shape->has_holders)
		model->roots[roots - 1].kind = HEAP_ROOT_STACK;

	struct heap_graph *graph = model_graph(model);

	assert_null(heap_dominators_init(&dominators, graph));
	assert_null(heap_dominator_tree_init(&tree, &dominators));
	if (shape->has_holders)
		ask_with_holders(shape, graph, &tree);
	else
		assert_null(heap_merged_tree_find(model, &tree, NULL, NULL, &shape->found,
						  &shape->count));
	heap_dominator_tree_deinit(&tree);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	assert_int_equal(shape->found[0].kind, HEAP_MERGED_ALL);
	assert_int_equal(shape->found[0].bytes, objects * SIZE);
}

static void end(struct shape *shape)
{
	free(shape->found);
	free(shape->model.type);
	free(shape->model.site);
	model_deinit(&shape->model);
}

static void assert_holding(const struct shape *shape, uint32_t number, uint32_t parent,
			   enum heap_merged_kind kind, uint32_t what, uint64_t objects,
			   uint64_t bytes)
{
	const struct heap_merged *found = &shape->found[number];

	assert_true(number < shape->count);
	assert_int_equal(found->parent, parent);
	assert_int_equal(found->kind, kind);
	assert_int_equal(found->what, what);
	assert_int_equal(found->objects, objects);
	assert_int_equal(found->own, objects * SIZE);
	assert_int_equal(found->bytes, bytes);
}

// root → 0 table → 1, 2, 3 entries, two of them with names
static void objects_of_a_type_are_one(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 }, { 0, 2, 0, 0 }, { 0, 3, 0, 0 }, { 1, 4, 0, 0 }, { 3, 5, 0, 0 },
	};
	static const heap_type_id types[] = { TABLE, ENTRY, ENTRY, ENTRY, NAME, NAME };
	struct shape shape = { 0 };

	(void)state;
	ask(&shape, edges, types, 6, 5, 1);
	assert_int_equal(shape.count, 5);
	assert_holding(&shape, 1, 0, HEAP_MERGED_ROOT, 0, 0, 60);
	assert_holding(&shape, 2, 1, HEAP_MERGED_TYPE, TABLE, 1, 60);
	assert_holding(&shape, 3, 2, HEAP_MERGED_TYPE, ENTRY, 3, 50);
	assert_holding(&shape, 4, 3, HEAP_MERGED_TYPE, NAME, 2, 20);
	assert_int_equal(shape.found[3].example, 1);
	end(&shape);
}

// root → 0 → 1 → 2 → 3, nodes of a list, the last of them with a name, which has a node
static void lists_do_not_nest(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 }, { 1, 2, 0, 0 }, { 2, 3, 0, 0 }, { 3, 4, 0, 0 }, { 4, 5, 0, 0 },
	};
	static const heap_type_id types[] = { ENTRY, ENTRY, ENTRY, ENTRY, NAME, ENTRY };
	struct shape shape = { 0 };

	(void)state;
	ask(&shape, edges, types, 6, 5, 1);
	assert_int_equal(shape.count, 4);
	assert_holding(&shape, 2, 1, HEAP_MERGED_TYPE, ENTRY, 5, 60);
	assert_holding(&shape, 3, 2, HEAP_MERGED_TYPE, NAME, 1, 10);
	assert_int_equal(shape.found[2].example, 0);
	end(&shape);
}

// Two roots → 0, 1 tables → 2 name; 3, 4 untyped and leaked
static void what_no_single_root_holds_has_its_place(void **state)
{
	static const struct built_edge edges[] = { { 0, 2, 0, 0 }, { 1, 2, 0, 0 }, { 3, 4, 0, 0 } };
	static const heap_type_id types[] = { TABLE, TABLE, NAME, 0, 0 };
	struct shape shape = { 0 };

	(void)state;
	ask(&shape, edges, types, 5, 3, 2);
	assert_int_equal(shape.count, 9);
	assert_holding(&shape, 1, 0, HEAP_MERGED_SEVERAL, 0, 0, 10);
	assert_holding(&shape, 2, 1, HEAP_MERGED_TYPE, NAME, 1, 10);
	assert_holding(&shape, 3, 0, HEAP_MERGED_ROOT, 0, 0, 10);
	assert_holding(&shape, 4, 0, HEAP_MERGED_ROOT, 1, 0, 10);
	assert_holding(&shape, 5, 3, HEAP_MERGED_TYPE, TABLE, 1, 10);
	assert_holding(&shape, 7, 0, HEAP_MERGED_UNREACHABLE, 0, 0, 20);
	assert_holding(&shape, 8, 7, HEAP_MERGED_SITE, 0, 2, 20);
	end(&shape);
}

// Roots → 0, 1 tables → 3 name; a word of a stack → 2 table → 3, 4 names
static void joint_holders_and_words_have_places_of_their_own(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 3, 0, 0 }, { 1, 3, 0, 0 }, { 2, 3, 0, 0 }, { 2, 4, 0, 0 }
	};
	static const heap_type_id types[] = { TABLE, TABLE, TABLE, NAME, NAME };
	struct shape shape = { .has_holders = true };

	(void)state;
	ask(&shape, edges, types, 5, 4, 3);
	assert_int_equal(shape.count, 11);
	assert_holding(&shape, 1, 0, HEAP_MERGED_SEVERAL, HEAP_CLASS_JOINT(3), 0, 10);
	assert_holding(&shape, 2, 1, HEAP_MERGED_TYPE, NAME, 1, 10);
	assert_holding(&shape, 3, 0, HEAP_MERGED_ROOT, 0, 0, 10);
	assert_holding(&shape, 4, 0, HEAP_MERGED_ROOT, 1, 0, 10);
	assert_holding(&shape, 5, 0, HEAP_MERGED_WORDS, 0, 0, 20);
	assert_holding(&shape, 6, 5, HEAP_MERGED_ROOT, 2, 0, 20);
	assert_holding(&shape, 9, 6, HEAP_MERGED_TYPE, TABLE, 1, 20);
	end(&shape);
}

UNIT_TESTS("merged_tree", cmocka_unit_test(objects_of_a_type_are_one),
	   cmocka_unit_test(lists_do_not_nest),
	   cmocka_unit_test(what_no_single_root_holds_has_its_place),
	   cmocka_unit_test(joint_holders_and_words_have_places_of_their_own))
