// SPDX-License-Identifier: GPL-3.0-or-later
// Graphs in which the parts of pools are nodes: known heaps, and random ones against the graph of blocks.
#include "t/unit/unit.h"

#include "lib/graph/divided.h"
#include "lib/graph/paths.h"
#include "lib/graph/root_sizes.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 2000,
	ITEM = 1,
	ITEM_SIZE = 16,
	MAX_PARTS = 8, // of a block
	MOST_NODES = MAX_OBJECTS * (MAX_PARTS + 1),
};

static struct heap_type item_types[] = {
	{ .kind = HEAP_TYPE_UNKNOWN },
	{ .kind = HEAP_TYPE_STRUCT, .size = ITEM_SIZE },
};

static void model_set_parts(struct heap_snapshot *model, struct heap_part *parts, uint32_t count)
{
	model->types.types = item_types;
	model->types.count = 2;
	model->site_count = 1;
	model->type = calloc(model->object_count, sizeof(*model->type));
	model->site = calloc(model->object_count, sizeof(*model->site));
	model->parts = parts;
	model->part_count = count;
}

static void model_free_parts(struct heap_snapshot *model)
{
	free(model->type);
	free(model->site);
	model->type = NULL;
	model->site = NULL;
}

static struct heap_part part_at(heap_object_id object, uint64_t offset)
{
	return (struct heap_part){
		.object = object, .offset = offset, .type = ITEM, .elements = 1
	};
}

static struct heap_divided *divide(struct heap_snapshot *model)
{
	struct heap_divided *divided;

	assert_null(heap_divided_create(model, false, NULL, &divided));
	return divided;
}

// --- known heaps -----------------------------------------------------------------------------

/*
 *	slabs ──▶ page of 70 bytes: [ 0 item │ 20 item + 4 │ 40 item + 4 │ 60 10 bytes ]
 *	table ────────────────────────────────▲    │
 *	free  ─────────────────────────────────────┼──▲
 *	                                           ▼
 *	                                          name (5 bytes)
 */
enum {
	PAGE,
	NAME,
	OTHER,
	OBJECTS
};
enum {
	SLABS,
	TABLE,
	FREE,
	ROOTS
};

static struct heap_part page_parts[3];

// @param edges  from the page to the name
static void make_page_with(struct heap_snapshot *model, uint32_t edges)
{
	static const struct built_edge all[] = { { .source = PAGE, .target = NAME },
						 { .source = PAGE, .target = NAME },
						 { .source = PAGE, .target = NAME } };

	model_init(model, OBJECTS, edges, ROOTS, ROOTS);
	model_set_edges(model, all);
	model->size[PAGE] = 70;
	model->size[NAME] = 5;
	for (uint32_t i = 0; i < 3; i++)
		page_parts[i] = part_at(PAGE, i * 20);
	model_set_parts(model, page_parts, 3);
	for (uint32_t i = 0; i < ROOTS; i++)
		model->root_edges[i] = (struct heap_root_edge){
			.root = i, .target = PAGE, .interior = i * 20, .flags = HEAP_EDGE_TYPED
		};
}

static void make_page(struct heap_snapshot *model)
{
	make_page_with(model, 1);
	model->edge_slot[0] = 3;
}

static uint64_t root_retains(const struct heap_divided *divided, heap_root_id root)
{
	return divided->dominators->retained[heap_divided_root(divided, root)];
}

static void parts_belong_to_who_points_to_them(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	struct heap_dominators dominators;

	(void)state;
	make_page(&model);
	divided = divide(&model);
	assert_int_equal(divided->objects, OBJECTS + 2);
	// The last part ends as far from its start as the one before.
	assert_int_equal(divided->graph->snapshot->size[PAGE], 70 - 20 - 20);
	assert_int_equal(divided->graph->snapshot->size[OBJECTS], 20);
	assert_int_equal(divided->graph->snapshot->size[OBJECTS + 1], 20);
	assert_null(heap_dominators_init(&dominators, divided->graph));
	assert_null(heap_divided_set_dominators(divided, &dominators));
	assert_int_equal(root_retains(divided, SLABS), 30);
	assert_int_equal(root_retains(divided, TABLE), 25);
	assert_int_equal(root_retains(divided, FREE), 20);
	assert_int_equal(heap_divided_retained(divided, PAGE), 75);
	assert_int_equal(heap_divided_retained(divided, NAME), 5);
	assert_int_equal(heap_divided_retained(divided, OTHER), 0);
	assert_int_equal(heap_divided_holder(divided, PAGE), heap_divided_root(divided, SLABS));
	assert_int_equal(heap_divided_holder(divided, NAME), OBJECTS);
	heap_divided_destroy(divided);
	heap_dominators_deinit(&dominators);
	model_free_parts(&model);
	model_deinit(&model);
}

static void places_have_nodes(void **state)
{
	static const struct {
		uint64_t offset;
		heap_node_id node;
	} places[] = { { 0, PAGE },     { 19, PAGE },        { 20, OBJECTS },
		       { 39, OBJECTS }, { 40, OBJECTS + 1 }, { 59, OBJECTS + 1 },
		       { 60, PAGE },    { 69, PAGE },        { UINT64_MAX, PAGE } };
	struct heap_snapshot model;
	struct heap_divided *divided;
	heap_node_id first, end;

	(void)state;
	make_page(&model);
	divided = divide(&model);
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		assert_int_equal(heap_divided_node(divided, PAGE, places[i].offset),
				 places[i].node);
	assert_int_equal(heap_divided_node(divided, NAME, 20), NAME);
	assert_int_equal(heap_divided_parts(divided, PAGE, &first), OBJECTS + 2);
	assert_int_equal(first, OBJECTS);
	end = heap_divided_parts(divided, NAME, &first);
	assert_int_equal(end, first);
	// The last node of a large graph, far behind the index of these blocks.
	end = heap_divided_parts(divided, UINT32_MAX - 2, &first);
	assert_int_equal(end, first);
	assert_int_equal(heap_divided_block(divided, OBJECTS + 1), PAGE);
	assert_int_equal(heap_divided_block(divided, NAME), NAME);
	assert_int_equal(heap_divided_block(divided, heap_divided_root(divided, 0)),
			 HEAP_NO_OBJECT);
	assert_int_equal(heap_divided_part(divided, OBJECTS + 1)->offset, 40);
	assert_null(heap_divided_part(divided, PAGE));
	assert_null(heap_divided_part(divided, heap_divided_root(divided, 0)));
	heap_divided_destroy(divided);
	model_free_parts(&model);
	model_deinit(&model);
}

// Something without a type lies behind a part: a pointer says so.
static void pointers_end_parts(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;

	(void)state;
	make_page(&model);
	model.root_edges[FREE].interior = 36;
	divided = divide(&model);
	assert_int_equal(divided->graph->snapshot->size[OBJECTS], 16);
	assert_int_equal(heap_divided_node(divided, PAGE, 36), PAGE);
	heap_divided_destroy(divided);
	model_free_parts(&model);
	model_deinit(&model);
}

// Nothing points to a pool's start, or to one of its parts: they hang on the others.
static void what_nothing_points_to_hangs_on_the_rest(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	struct heap_dominators dominators;

	(void)state;
	make_page(&model);
	model.root_edge_count = 2;
	model.root_edges[0] = model.root_edges[TABLE];
	model.root_edges[1] = (struct heap_root_edge){ .root = FREE, .target = OTHER };
	divided = divide(&model);
	assert_null(heap_dominators_init(&dominators, divided->graph));
	assert_null(heap_divided_set_dominators(divided, &dominators));
	assert_int_equal(root_retains(divided, TABLE), 75);
	assert_int_equal(heap_divided_retained(divided, PAGE), 75);
	assert_int_equal(heap_divided_holder(divided, PAGE), heap_divided_root(divided, TABLE));
	heap_divided_destroy(divided);
	heap_dominators_deinit(&dominators);
	model_free_parts(&model);
	model_deinit(&model);
}

// A stale word on a stack takes no part from the pool that a variable holds.
static void stale_words_hold_no_parts(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	struct heap_dominators dominators;

	(void)state;
	make_page(&model);
	model.roots[TABLE].kind = HEAP_ROOT_STACK;
	model.roots[FREE].kind = HEAP_ROOT_REGISTER;
	divided = divide(&model);
	assert_null(heap_dominators_init(&dominators, divided->graph));
	assert_null(heap_divided_set_dominators(divided, &dominators));
	assert_int_equal(root_retains(divided, SLABS), 75);
	assert_int_equal(root_retains(divided, TABLE), 0);
	heap_divided_destroy(divided);
	heap_dominators_deinit(&dominators);
	model_free_parts(&model);
	model_deinit(&model);
}

// Finds the root edge of a path to a node. Through blocks alone, any pointer to the page will do.
static uint64_t root_edge_of(struct heap_graph *blocks, const struct heap_divided *divided,
			     heap_node_id node, size_t length)
{
	struct heap_path path;
	struct heap_path_limits limits = { .divided = divided };
	uint64_t result;

	assert_null(heap_path_find_within(blocks, node, &limits, &path));
	assert_int_equal(path.count, length);
	result = path.root_edge;
	heap_path_deinit(&path);
	return result;
}

static void paths_leave_the_part_that_they_lead_to(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	struct heap_graph *blocks;
	struct heap_path paths[ROOTS];
	size_t count;

	(void)state;
	make_page(&model);
	divided = divide(&model);
	blocks = model_graph(&model);
	assert_int_equal(root_edge_of(blocks, NULL, NAME, 1), SLABS);
	assert_int_equal(root_edge_of(blocks, divided, NAME, 1), TABLE);
	assert_int_equal(root_edge_of(blocks, divided, PAGE, 0), SLABS);
	assert_int_equal(root_edge_of(blocks, divided, OBJECTS + 1, 0), FREE);
	assert_null(heap_paths_find(blocks, divided, NAME, NULL, ROOTS, paths, &count));
	assert_int_equal(count, 1);
	assert_int_equal(paths[0].root_edge, TABLE);
	heap_path_deinit(&paths[0]);
	// Where nothing leads to the part, it is reached by its pool.
	model.root_edges[TABLE].interior = 0;
	heap_divided_destroy(divided);
	divided = divide(&model);
	assert_int_equal(root_edge_of(blocks, divided, NAME, 1), SLABS);
	heap_divided_destroy(divided);
	heap_graph_destroy(blocks);
	model_free_parts(&model);
	model_deinit(&model);
}

// Each part that leads to an object is a referrer of its own.
static void there_is_a_path_by_each_part(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	struct heap_graph *blocks;
	struct heap_path paths[ROOTS + 1];
	size_t count;
	unsigned seen = 0;

	(void)state;
	make_page_with(&model, 3);
	for (uint32_t i = 0; i < 3; i++)
		model.edge_slot[i] = i * 3;
	divided = divide(&model);
	blocks = model_graph(&model);
	assert_null(heap_paths_find(blocks, divided, NAME, NULL, ROOTS + 1, paths, &count));
	assert_int_equal(count, ROOTS);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(model.edge_slot[paths[i].edges[0]], paths[i].root_edge * 3);
		seen |= 1u << paths[i].root_edge;
		heap_path_deinit(&paths[i]);
	}
	assert_int_equal(seen, 7);
	heap_divided_destroy(divided);
	heap_graph_destroy(blocks);
	model_free_parts(&model);
	model_deinit(&model);
}

static void without_parts_there_is_no_other_graph(void **state)
{
	struct heap_snapshot model;
	struct heap_divided *divided;
	heap_node_id first, end;

	(void)state;
	make_page(&model);
	model.part_count = 0;
	divided = divide(&model);
	assert_null(divided->graph);
	assert_int_equal(divided->objects, OBJECTS);
	assert_int_equal(heap_divided_node(divided, PAGE, 20), PAGE);
	end = heap_divided_parts(divided, PAGE, &first);
	assert_int_equal(end, first);
	heap_divided_destroy(divided);
	model_free_parts(&model);
	model_deinit(&model);
}

// --- random heaps ------------------------------------------------------------------------------

static struct heap_part random_parts[MOST_NODES];

// Makes pools of some blocks, with parts that may lie in each other; pointers lead anywhere in them.
static uint32_t divide_randomly(struct heap_snapshot *model)
{
	uint32_t count = 0;

	for (heap_object_id i = 0; i < model->object_count; i++) {
		uint64_t offset = random_below(2) * 8;

		model->size[i] = 1 + random_below(200);
		for (uint32_t j = 0, parts = random_below(2) * random_below(MAX_PARTS);
		     j < parts && offset < model->size[i]; j++) {
			random_parts[count++] = part_at(i, offset);
			offset += random_below(4) ? ITEM_SIZE + 8 * random_below(3) : 8;
		}
	}
	for (uint32_t i = 0; i < model->edge_count; i++) {
		model->edge_slot[i] = random_below(25);
		if (random_below(3))
			model->edge_interior[i] = random_below(200);
	}
	for (uint64_t i = 0; i < model->root_edge_count; i++)
		model->root_edges[i].interior = random_below(2) * random_below(200);
	return count;
}

static void sort_slots(struct heap_snapshot *model)
{
	for (heap_object_id i = 0; i < model->object_count; i++) {
		uint32_t first = model->edge_first[i], end = model->edge_first[i + 1];

		for (uint32_t j = first + 1; j < end; j++) {
			for (uint32_t k = j;
			     k > first && model->edge_slot[k] < model->edge_slot[k - 1]; k--) {
				uint32_t slot = model->edge_slot[k];

				// The targets are random: to sort the slots alone is as good.
				model->edge_slot[k] = model->edge_slot[k - 1];
				model->edge_slot[k - 1] = slot;
			}
		}
	}
}

static void mark_reached(const struct heap_snapshot *model, uint8_t *reached)
{
	static heap_node_id pending[MOST_NODES];
	uint32_t count = 0;

	memset(reached, 0, model->object_count);
	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		if (!reached[model->root_edges[i].target])
			pending[count++] = model->root_edges[i].target;
		reached[model->root_edges[i].target] = 1;
	}
	while (count > 0) {
		heap_node_id node = pending[--count];

		for (uint32_t i = model->edge_first[node]; i < model->edge_first[node + 1]; i++) {
			if (!reached[model->edge_target[i]])
				pending[count++] = model->edge_target[i];
			reached[model->edge_target[i]] = 1;
		}
	}
}

// A path to each node that is reached: a pointer leads from where the one before it led to.
static void check_paths(struct heap_graph *blocks, const struct heap_divided *divided,
			const uint8_t *node_reached)
{
	const struct heap_snapshot *model = blocks->snapshot;
	struct heap_path_limits limits = { .divided = divided };

	for (heap_node_id i = 0; i < divided->objects; i++) {
		struct heap_path path;
		struct heap_error *error = heap_path_find_within(blocks, i, &limits, &path);
		heap_object_id at;

		assert_int_equal(error == NULL, node_reached[i]);
		if (error) {
			heap_error_destroy(error);
			continue;
		}
		at = model->root_edges[path.root_edge].target;
		for (size_t j = 0; j < path.count; j++) {
			assert_int_equal(heap_graph_source(blocks, path.edges[j]), at);
			at = model->edge_target[path.edges[j]];
		}
		assert_int_equal(at, heap_divided_block(divided, i));
		heap_path_deinit(&path);
	}
}

// A block is reached in the one graph if all of its nodes are in the other; its bytes are theirs.
static void check_random(struct heap_snapshot *model)
{
	static uint8_t block_reached[MAX_OBJECTS], node_reached[MOST_NODES];
	static uint64_t bytes[MAX_OBJECTS];
	struct heap_divided *divided = divide(model);
	const struct heap_snapshot *nodes = divided->graph ? divided->graph->snapshot : model;
	struct heap_graph *blocks = model_graph(model);
	struct heap_dominators dominators;

	mark_reached(model, block_reached);
	mark_reached(nodes, node_reached);
	memset(bytes, 0, sizeof(bytes));
	assert_null(heap_dominators_init(&dominators, divided->graph ? divided->graph : blocks));
	assert_null(heap_divided_set_dominators(divided, &dominators));
	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		heap_object_id block = heap_divided_block(divided, i);
		const struct heap_part *part = heap_divided_part(divided, i);

		assert_int_equal(node_reached[i], block_reached[block]);
		assert_true(nodes->size[i] > 0);
		assert_int_equal(heap_divided_node(divided, block, part ? part->offset : 0), i);
		bytes[block] += nodes->size[i];
	}
	for (heap_object_id i = 0; i < model->object_count; i++) {
		uint64_t retained = heap_divided_retained(divided, i);

		assert_int_equal(bytes[i], model->size[i]);
		assert_true(block_reached[i] ? retained >= model->size[i] : retained == 0);
	}
	check_paths(blocks, divided, node_reached);
	heap_divided_destroy(divided);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(blocks);
}

static void nodes_are_reached_as_their_blocks_are(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;

		model_init_random(&model);
		model_set_parts(&model, random_parts, divide_randomly(&model));
		sort_slots(&model);
		check_random(&model);
		model_free_parts(&model);
		model_deinit(&model);
	}
}

UNIT_TESTS("divided", cmocka_unit_test(parts_belong_to_who_points_to_them),
	   cmocka_unit_test(places_have_nodes), cmocka_unit_test(pointers_end_parts),
	   cmocka_unit_test(what_nothing_points_to_hangs_on_the_rest),
	   cmocka_unit_test(stale_words_hold_no_parts),
	   cmocka_unit_test(paths_leave_the_part_that_they_lead_to),
	   cmocka_unit_test(there_is_a_path_by_each_part),
	   cmocka_unit_test(without_parts_there_is_no_other_graph),
	   cmocka_unit_test(nodes_are_reached_as_their_blocks_are))
