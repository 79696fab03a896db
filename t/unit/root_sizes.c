// SPDX-License-Identifier: GPL-3.0-or-later
// Sizes that groups of roots hold, alone and together: random graphs against a search for each group.
#include "t/unit/unit.h"

#include "lib/base/column.h"
#include "lib/graph/root_sizes.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 3000,
	MAX_GROUPS = 200,
};

static uint8_t reached[MAX_GROUPS + 1][MAX_OBJECTS];
static uint8_t levels[MAX_OBJECTS];

// Marks what the roots of one group reach by pointers that count; roots of no group are the last one.
static void find_reached(const struct heap_graph *graph, const uint32_t *group, uint32_t groups)
{
	const struct heap_snapshot *model = graph->snapshot;

	model_find_levels(model, levels);
	for (uint32_t i = 0; i <= groups; i++) {
		uint8_t one[MAX_OBJECTS];

		memset(reached[i], 0, model->object_count);
		for (uint32_t root = 0; root < model->root_count; root++) {
			struct model_limits limits = MODEL_NO_LIMITS;

			if (group[root] != (i < groups ? i : HEAP_NO_GROUP))
				continue;
			limits.root = root;
			limits.levels = graph->is_conservative ? NULL : levels;
			model_reach(model, limits, one);
			for (uint32_t j = 0; j < model->object_count; j++)
				reached[i][j] |= one[j];
		}
	}
}

static bool is_pointed_to(const struct heap_snapshot *model, uint32_t object)
{
	for (uint32_t i = 0; i < model->edge_count; i++) {
		if (model->edge_target[i] == object)
			return true;
	}
	return false;
}

// True if roots of this group point to an object, and nothing else does.
static bool is_exclusive(const struct heap_graph *graph, const uint32_t *group, uint32_t of,
			 uint32_t object)
{
	const struct heap_snapshot *model = graph->snapshot;
	bool found = false;

	for (uint64_t i = 0; i < model->root_edge_count; i++) {
		const struct heap_root_edge *edge = &model->root_edges[i];

		if (edge->target != object ||
		    (!graph->is_conservative && model_edge_level(model, edge) != levels[object]))
			continue;
		if (group[edge->root] != of)
			return false;
		found = true;
	}
	return found && !is_pointed_to(model, object);
}

static struct heap_root_size expect(const struct heap_graph *graph, const uint32_t *group,
				    uint32_t groups, uint32_t of)
{
	const struct heap_snapshot *model = graph->snapshot;
	struct heap_root_size holding = { 0 };

	for (uint32_t i = 0; i < model->object_count; i++) {
		uint32_t holders = 0;

		for (uint32_t j = 0; j <= groups; j++)
			holders += reached[j][i];
		if (!reached[of][i])
			continue;
		holding.reachable_objects++;
		holding.reachable += model->size[i];
		holding.retained_objects += holders == 1;
		holding.retained += holders == 1 ? model->size[i] : 0;
		holding.exclusive += is_exclusive(graph, group, of, i) ? model->size[i] : 0;
	}
	return holding;
}

// The class of an object: all groups that reach it. @return how many, or UINT32_MAX if one of them
// is of roots of no group
static uint32_t find_class(uint32_t object, uint32_t groups, uint32_t *class)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < groups; i++) {
		if (reached[i][object])
			class[count++] = i;
	}
	return reached[groups][object] ? UINT32_MAX : count;
}

// Takes what is expected away from what was found: nothing must be left.
static void take_away(struct heap_joint_size *joint, uint64_t bytes)
{
	assert_true(joint->retained >= bytes && joint->retained_objects > 0);
	joint->retained -= bytes;
	joint->retained_objects--;
}

static const struct heap_joint_size *find_joint(const struct heap_joint_sizes *joint,
						const uint32_t *class, uint32_t count)
{
	const struct heap_joint_size *found = NULL;

	for (size_t i = 0; i < joint->count; i++) {
		if (joint->joints[i].count != count ||
		    memcmp(joint->joints[i].groups, class, count * sizeof(*class)) != 0)
			continue;
		assert_null(found);
		found = &joint->joints[i];
	}
	assert_non_null(found);
	return found;
}

static void check_joints(const struct heap_snapshot *model, struct heap_joint_sizes *joint,
			 uint32_t groups)
{
	for (size_t i = 1; i < joint->count; i++)
		assert_true(joint->joints[i].retained <= joint->joints[i - 1].retained);
	for (uint32_t i = 0; i < model->object_count; i++) {
		uint32_t class[MAX_GROUPS], count = find_class(i, groups, class);

		if (count == UINT32_MAX)
			take_away(&joint->outside, model->size[i]);
		else if (count > HEAP_JOINT_MOST)
			take_away(&joint->many, model->size[i]);
		else if (count > 1)
			take_away(&joint->joints[find_joint(joint, class, count) - joint->joints],
				  model->size[i]);
	}
	for (size_t i = 0; i < joint->count; i++)
		assert_int_equal(joint->joints[i].retained_objects, 0);
	assert_int_equal(joint->many.retained_objects, 0);
	assert_int_equal(joint->outside.retained_objects, 0);
}

// Each object's class is that of the groups that reach it.
static void check_classes(const struct heap_root_sizes *sizes, const struct heap_graph *graph,
			  const struct heap_joint_sizes *joint, uint32_t groups)
{
	const struct heap_snapshot *model = graph->snapshot;

	for (uint32_t i = 0; i < model->object_count; i++) {
		uint32_t class[MAX_GROUPS], count = find_class(i, groups, class);
		uint32_t found = heap_joint_class(sizes, joint, i);

		if (count == UINT32_MAX)
			assert_int_equal(found, HEAP_CLASS_OUTSIDE(groups));
		else if (count == 0)
			assert_int_equal(found, HEAP_CLASS_LEAKED);
		else if (count == 1)
			assert_int_equal(found, class[0]);
		else if (count > HEAP_JOINT_MOST)
			assert_int_equal(found, HEAP_CLASS_MANY(groups));
		else
			assert_ptr_equal(&joint->joints[found - HEAP_CLASS_JOINT(groups)],
					 find_joint(joint, class, count));
	}
}

static void check_groups(const struct heap_root_sizes *sizes, const struct heap_graph *graph,
			 const uint32_t *group, uint32_t groups)
{
	struct heap_root_size found[MAX_GROUPS], alone[MAX_GROUPS];
	struct heap_joint_sizes joint;

	find_reached(graph, group, groups);
	assert_null(heap_root_sizes_measure(sizes, group, groups, alone, NULL));
	assert_null(heap_root_sizes_measure(sizes, group, groups, found, &joint));
	assert_memory_equal(found, alone, groups * sizeof(*found));
	check_classes(sizes, graph, &joint, groups);
	check_joints(graph->snapshot, &joint, groups);
	heap_joint_sizes_deinit(&joint);
	for (uint32_t i = 0; i < groups; i++) {
		struct heap_root_size expected = expect(graph, group, groups, i);

		assert_int_equal(found[i].reachable, expected.reachable);
		assert_int_equal(found[i].reachable_objects, expected.reachable_objects);
		assert_int_equal(found[i].retained, expected.retained);
		assert_int_equal(found[i].retained_objects, expected.retained_objects);
		assert_int_equal(found[i].exclusive, expected.exclusive);
	}
}

static void check_model(struct heap_snapshot *model)
{
	struct heap_graph *graph = model_graph(model);
	struct heap_root_sizes *sizes;
	uint32_t alone[MAX_GROUPS], grouped[MAX_GROUPS];
	uint32_t groups = 1 + random_below(model->root_count);

	for (uint32_t i = 0; i < model->root_count; i++) {
		alone[i] = i;
		grouped[i] = random_below(5) ? random_below(groups) : HEAP_NO_GROUP;
	}
	graph->is_conservative = random_below(3) == 0;
	assert_null(heap_root_sizes_create(graph, &sizes));
	check_groups(sizes, graph, alone, model->root_count);
	check_groups(sizes, graph, grouped, groups);
	heap_root_sizes_destroy(sizes);
	heap_graph_destroy(graph);
}

static void groups_hold_what_a_search_for_each_finds(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;

		model_init_random(&model);
		check_model(&model);
		model_deinit(&model);
	}
}

// More groups than a pass has bits, in graphs of few edges, where many differ.
static void there_may_be_many_groups(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		struct heap_snapshot model;
		uint32_t objects = 100 + random_below(200), roots = 190;
		struct built_edge edges[MAX_OBJECTS];

		model_init(&model, objects, objects - 1, roots, roots);
		for (uint32_t j = 0; j + 1 < objects; j++)
			edges[j] = (struct built_edge){ .source = j,
							.target = j + random_below(objects - j) };
		model_set_edges(&model, edges);
		for (uint32_t j = 0; j < roots; j++)
			model.root_edges[j] =
				(struct heap_root_edge){ .root = j,
							 .target = random_below(objects) };
		check_model(&model);
		model_deinit(&model);
	}
}

// Columns beyond the budget are in temporary files.
static void without_memory_the_answers_are_the_same(void **state)
{
	heap_column_limit(0);
	there_may_be_many_groups(state);
	heap_column_limit(UINT64_C(1) << 32);
}

static void nothing_is_no_trouble(void **state)
{
	struct heap_snapshot model;

	(void)state;
	model_init(&model, 0, 0, 1, 0);
	check_model(&model);
	model_deinit(&model);
	heap_root_sizes_destroy(NULL);
}

UNIT_TESTS("root-sizes", cmocka_unit_test(groups_hold_what_a_search_for_each_finds),
	   cmocka_unit_test(there_may_be_many_groups),
	   cmocka_unit_test(without_memory_the_answers_are_the_same),
	   cmocka_unit_test(nothing_is_no_trouble))
