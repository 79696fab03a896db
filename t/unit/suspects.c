// SPDX-License-Identifier: GPL-3.0-or-later
// Where a heap gathers: heaps of known shapes.
#include "t/unit/unit.h"

#include "lib/graph/suspects.h"
#include "t/unit/graph_model.h"

enum {
	TABLE = 1,
	ENTRY,
	NODE,
	TYPES,
	SIZE = 100, // of each object
};

struct shape {
	struct heap_snapshot model;
	struct heap_graph *graph;
	struct heap_dominators dominators;
	struct heap_dominator_tree tree;
	struct heap_root_sizes *sizes;
	struct heap_joint_sizes joint;
	struct heap_holders holders;
	struct heap_suspect *found;
	size_t count;
};

static void make(struct shape *shape, const struct built_edge *edges, const heap_type_id *types,
		 uint32_t objects, uint32_t edge_count, uint32_t roots)
{
	struct heap_snapshot *model = &shape->model;

	model_init(model, objects, edge_count, roots, roots);
	model_set_edges(model, edges);
	model_set_types(model, types, TYPES, SIZE);
}

// Each root is a group.
static void find_holders(struct shape *shape)
{
	uint32_t group[MAX_OBJECTS];
	struct heap_root_size found[MAX_OBJECTS];

	for (uint32_t i = 0; i < shape->model.root_count; i++)
		group[i] = i;
	assert_null(heap_root_sizes_create(shape->graph, &shape->sizes));
	assert_null(heap_root_sizes_measure(shape->sizes, group, shape->model.root_count, found,
					    &shape->joint));
	shape->holders = (struct heap_holders){ shape->sizes, &shape->joint, NULL, HEAP_NO_GROUP };
}

static void ask(struct shape *shape, uint64_t least)
{
	shape->graph = model_graph(&shape->model);
	assert_null(heap_dominators_init(&shape->dominators, shape->graph));
	assert_null(heap_dominator_tree_init(&shape->tree, &shape->dominators));
	find_holders(shape);
	assert_null(heap_suspects_find(&shape->model, &shape->tree, least, &shape->holders,
				       &shape->found, &shape->count));
}

static void end(struct shape *shape)
{
	free(shape->found);
	heap_joint_sizes_deinit(&shape->joint);
	heap_root_sizes_destroy(shape->sizes);
	heap_dominator_tree_deinit(&shape->tree);
	heap_dominators_deinit(&shape->dominators);
	heap_graph_destroy(shape->graph);
	free(shape->model.type);
	free(shape->model.site);
	model_deinit(&shape->model);
}

static void assert_suspect(const struct heap_suspect *found, enum heap_suspect_kind kind,
			   heap_node_id place, heap_object_id example, uint64_t members)
{
	assert_int_equal(found->kind, kind);
	assert_int_equal(found->place, place);
	assert_int_equal(found->example, example);
	assert_int_equal(found->members, members);
	assert_int_equal(found->bytes, members * SIZE);
}

// root → 0 table → 1..6 entries
static void entries_of_a_table_are_a_group(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 }, { 0, 2, 0, 0 }, { 0, 3, 0, 0 },
		{ 0, 4, 0, 0 }, { 0, 5, 0, 0 }, { 0, 6, 0, 0 },
	};
	static const heap_type_id types[] = { TABLE, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 7, 6, 1);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, 0, 1, 6);
	end(&shape);
}

// root → 0 table → 1, 2 entries → 3, 4 entries → 5: two chains of a hash table
static void entries_below_entries_count(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 }, { 0, 2, 0, 0 }, { 1, 3, 0, 0 }, { 2, 4, 0, 0 }, { 4, 5, 0, 0 },
	};
	static const heap_type_id types[] = { TABLE, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 6, 5, 1);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, 0, 2, 5);
	end(&shape);
}

// root → 0 server → 1..6 entries; 7..9 nodes; 10 table → 11..13 nodes: beside the entries the others count, too
static void each_large_kind_below_an_object_counts(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 },   { 0, 2, 0, 0 },  { 0, 3, 0, 0 },   { 0, 4, 0, 0 },
		{ 0, 5, 0, 0 },   { 0, 6, 0, 0 },  { 0, 7, 0, 0 },   { 0, 8, 0, 0 },
		{ 0, 9, 0, 0 },   { 0, 10, 0, 0 }, { 10, 11, 0, 0 }, { 10, 12, 0, 0 },
		{ 10, 13, 0, 0 },
	};
	static const heap_type_id types[] = { TABLE, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY,
					      NODE,  NODE,  NODE,  TABLE, NODE,  NODE,  NODE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 14, 13, 1);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 3);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, 0, 1, 6);
	assert_suspect(&shape.found[1], HEAP_SUSPECT_GROUP, 0, 7, 3);
	assert_suspect(&shape.found[2], HEAP_SUSPECT_GROUP, 10, 11, 3);
	end(&shape);

	// No kind has most: each is a suspect all the same.
	memset(&shape, 0, sizeof(shape));
	make(&shape, edges, types, 14, 13, 1);
	shape.model.size[10] = 7 * SIZE;
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 4);
	assert_suspect(&shape.found[1], HEAP_SUSPECT_GROUP, 0, 1, 6);
	assert_suspect(&shape.found[2], HEAP_SUSPECT_GROUP, 0, 7, 3);
	assert_suspect(&shape.found[3], HEAP_SUSPECT_GROUP, 10, 11, 3);
	assert_int_equal(shape.found[0].kind, HEAP_SUSPECT_ONE);
	assert_int_equal(shape.found[0].example, 10);
	end(&shape);
}

// Roots 0 and 1 hold entries 2 to 5 together, each by a table; 6 and 7 also root 2.
static void what_the_same_roots_hold_is_a_group_of_its_own(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 3, 0, 0 }, { 0, 4, 0, 0 }, { 0, 5, 0, 0 }, { 0, 6, 0, 0 },
		{ 0, 7, 0, 0 }, { 1, 3, 0, 0 }, { 1, 4, 0, 0 }, { 1, 5, 0, 0 },
		{ 1, 6, 0, 0 }, { 1, 7, 0, 0 }, { 2, 6, 0, 0 }, { 2, 7, 0, 0 },
	};
	static const heap_type_id types[] = {
		TABLE, TABLE, TABLE, ENTRY, ENTRY, ENTRY, ENTRY, ENTRY
	};
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 8, 12, 3);
	ask(&shape, 2 * SIZE);
	assert_int_equal(shape.count, 2);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, HEAP_NO_NODE, 3, 3);
	assert_false(shape.found[0].is_mixed);
	assert_suspect(&shape.found[1], HEAP_SUSPECT_GROUP, HEAP_NO_NODE, 6, 2);
	end(&shape);

	// None of the two is large enough alone.
	memset(&shape, 0, sizeof(shape));
	make(&shape, edges, types, 8, 12, 3);
	ask(&shape, 4 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, HEAP_NO_NODE, 3, 5);
	assert_true(shape.found[0].is_mixed);
	end(&shape);
}

// root → 0 → 1 → … → 5, back, too
static void a_list_is_a_chain(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 }, { 1, 0, 0, 0 }, { 1, 2, 0, 0 }, { 2, 1, 0, 0 }, { 2, 3, 0, 0 },
		{ 3, 2, 0, 0 }, { 3, 4, 0, 0 }, { 4, 3, 0, 0 }, { 4, 5, 0, 0 }, { 5, 4, 0, 0 },
	};
	static const heap_type_id types[] = { NODE, NODE, NODE, NODE, NODE, NODE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 6, 10, 1);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_CHAIN, 6, 0, 6);
	end(&shape);
}

// root → 0 → 1 → 2 → 3…8, each with one more: the stem of a tree is no list
static void the_stem_of_a_tree_is_no_chain(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 1, 0, 0 },  { 1, 2, 0, 0 },  { 2, 3, 0, 0 },  { 2, 4, 0, 0 },  { 2, 5, 0, 0 },
		{ 2, 6, 0, 0 },  { 2, 7, 0, 0 },  { 2, 8, 0, 0 },  { 3, 9, 0, 0 },  { 4, 10, 0, 0 },
		{ 5, 11, 0, 0 }, { 6, 12, 0, 0 }, { 7, 13, 0, 0 }, { 8, 14, 0, 0 },
	};
	static const heap_type_id types[] = { NODE, NODE, NODE, NODE, NODE, NODE, NODE, NODE,
					      NODE, NODE, NODE, NODE, NODE, NODE, NODE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 15, 14, 1);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, 2, 3, 12);
	end(&shape);
}

// root 0 → 0, 1, 2, of which none is large
static void a_root_that_holds_many_kinds_is_mixed(void **state)
{
	static const heap_type_id types[] = { TABLE, ENTRY, NODE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, NULL, types, 3, 0, 1);
	shape.model.root_edge_count = 3;
	shape.model.root_edges =
		realloc(shape.model.root_edges, 3 * sizeof(*shape.model.root_edges));
	for (uint32_t i = 0; i < 3; i++)
		shape.model.root_edges[i] = (struct heap_root_edge){ .root = 0, .target = i };
	ask(&shape, 2 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_int_equal(shape.found[0].kind, HEAP_SUSPECT_MIXED);
	assert_int_equal(shape.found[0].place, 3);
	assert_int_equal(shape.found[0].members, 3);
	assert_int_equal(shape.found[0].bytes, 3 * SIZE);
	end(&shape);
}

// Two tables share four entries: no single object holds them.
static void what_several_hold_is_a_group_without_a_place(void **state)
{
	static const struct built_edge edges[] = {
		{ 0, 2, 0, 0 }, { 0, 3, 0, 0 }, { 0, 4, 0, 0 }, { 0, 5, 0, 0 },
		{ 1, 2, 0, 0 }, { 1, 3, 0, 0 }, { 1, 4, 0, 0 }, { 1, 5, 0, 0 },
	};
	static const heap_type_id types[] = { TABLE, TABLE, ENTRY, ENTRY, ENTRY, HEAP_NO_TYPE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, edges, types, 6, 8, 2);
	ask(&shape, 3 * SIZE);
	assert_int_equal(shape.count, 1);
	assert_suspect(&shape.found[0], HEAP_SUSPECT_GROUP, HEAP_NO_NODE, 2, 3);
	end(&shape);
}

static void a_large_object_is_one(void **state)
{
	static const heap_type_id types[] = { TABLE, ENTRY };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, NULL, types, 2, 0, 1);
	shape.model.size[0] = 10 * SIZE;
	shape.model.size[1] = 90 * SIZE; // leaked
	ask(&shape, SIZE);
	assert_int_equal(shape.count, 1);
	assert_int_equal(shape.found[0].kind, HEAP_SUSPECT_ONE);
	assert_int_equal(shape.found[0].place, 0);
	assert_int_equal(shape.found[0].example, 0);
	assert_int_equal(shape.found[0].bytes, 10 * SIZE);
	end(&shape);
}

static void what_is_small_is_no_suspect(void **state)
{
	static const heap_type_id types[] = { TABLE };
	struct shape shape = { 0 };

	(void)state;
	make(&shape, NULL, types, 1, 0, 1);
	ask(&shape, SIZE + 1);
	assert_int_equal(shape.count, 0);
	end(&shape);
}

// No more than a limit, and each ends, whatever the graph.
static void any_graph_has_an_answer(void **state)
{
	(void)state;
	for (int i = 0; i < 3000; i++) {
		struct shape shape = { 0 };

		model_init_random(&shape.model);
		shape.model.types.count = TYPES;
		shape.model.site_count = 1;
		shape.model.type = calloc(shape.model.object_count, sizeof(heap_type_id));
		shape.model.site = calloc(shape.model.object_count, sizeof(heap_site_id));
		for (uint32_t j = 0; j < shape.model.object_count; j++)
			shape.model.type[j] = random_below(TYPES);
		ask(&shape, random_below(20));
		for (size_t j = 0; j < shape.count; j++) {
			assert_true(shape.found[j].example < shape.model.object_count);
			assert_true(shape.found[j].members > 0);
			assert_true(j == 0 || shape.found[j].bytes <= shape.found[j - 1].bytes);
		}
		end(&shape);
	}
}

UNIT_TESTS("suspects", cmocka_unit_test(entries_of_a_table_are_a_group),
	   cmocka_unit_test(entries_below_entries_count),
	   cmocka_unit_test(each_large_kind_below_an_object_counts),
	   cmocka_unit_test(what_the_same_roots_hold_is_a_group_of_its_own),
	   cmocka_unit_test(a_list_is_a_chain), cmocka_unit_test(the_stem_of_a_tree_is_no_chain),
	   cmocka_unit_test(a_root_that_holds_many_kinds_is_mixed),
	   cmocka_unit_test(what_several_hold_is_a_group_without_a_place),
	   cmocka_unit_test(a_large_object_is_one), cmocka_unit_test(what_is_small_is_no_suspect),
	   cmocka_unit_test(any_graph_has_an_answer))
