// SPDX-License-Identifier: GPL-3.0-or-later
// Classes of leaks, against their definitions, on random graphs; and patterns of suppressions.
#include "t/unit/unit.h"

#include "lib/leaks.h"
#include "lib/suppressions.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 3000,
};

// reach[a][b]: b can be reached from a by leaked objects alone, in at least one step.
static uint8_t reach[MAX_OBJECTS][MAX_OBJECTS];
static uint8_t suppressed[MAX_OBJECTS];

static void find_reach(const struct heap_snapshot *model, const uint8_t *leaked)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		uint32_t pending[MAX_OBJECTS + 1], count = 0;

		memset(reach[i], 0, model->object_count);
		if (!leaked[i])
			continue;
		pending[count++] = i;
		while (count > 0) {
			uint32_t object = pending[--count];

			for (uint32_t j = model->edge_first[object];
			     j < model->edge_first[object + 1]; j++) {
				uint32_t target = model->edge_target[j];

				if (leaked[target] && !reach[i][target]) {
					reach[i][target] = 1;
					pending[count++] = target;
				}
			}
		}
	}
}

static bool is_direct(const struct heap_snapshot *model, const uint8_t *leaked, uint32_t object)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		for (uint32_t j = model->edge_first[i]; leaked[i] && j < model->edge_first[i + 1];
		     j++) {
			if (i != object && model->edge_target[j] == object)
				return false;
		}
	}
	return true;
}

// Whatever leads to it is reached by it as well, and it is the first of them.
static bool begins_circle(const struct heap_snapshot *model, uint32_t object)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		if (reach[i][object] && (!reach[object][i] || i < object))
			return false;
	}
	return reach[object][object];
}

static void check(const struct heap_graph *graph, const struct heap_leaks *leaks)
{
	const struct heap_snapshot *model = graph->snapshot;
	uint8_t leaked[MAX_OBJECTS];

	for (uint32_t i = 0; i < model->object_count; i++)
		leaked[i] = graph->reach[i] == HEAP_REACH_NOT;
	find_reach(model, leaked);
	for (uint32_t i = 0; i < model->object_count; i++) {
		bool wanted = leaked[i];

		for (uint32_t j = 0; j < model->object_count; j++)
			wanted &= !(leaked[j] && suppressed[j] && (j == i || reach[j][i]));
		assert_int_equal(leaked[i] && !wanted, leaks->class_of[i] == HEAP_LEAK_SUPPRESSED);
		if (!leaked[i])
			assert_int_equal(leaks->class_of[i], graph->reach[i] == HEAP_REACH_START
								     ? HEAP_LEAK_REACHABLE
								     : HEAP_LEAK_INTERIOR);
	}
	for (uint32_t i = 0; i < model->object_count; i++)
		leaked[i] = leaks->class_of[i] >= HEAP_LEAK_DIRECT;
	find_reach(model, leaked);
	for (uint32_t i = 0; i < model->object_count; i++) {
		heap_object_id leader = leaks->leader[i];

		if (!leaked[i])
			continue;
		if (is_direct(model, leaked, i)) {
			assert_int_equal(leaks->class_of[i], HEAP_LEAK_DIRECT);
			assert_int_equal(leader, i);
		} else if (begins_circle(model, i)) {
			assert_int_equal(leaks->class_of[i], HEAP_LEAK_CYCLE);
			assert_int_equal(leader, i);
		} else {
			assert_int_equal(leaks->class_of[i], HEAP_LEAK_INDIRECT);
			assert_true(leaks->class_of[leader] == HEAP_LEAK_DIRECT ||
				    leaks->class_of[leader] == HEAP_LEAK_CYCLE);
			assert_true(reach[leader][i]);
		}
	}
}

static void check_sums(const struct heap_snapshot *model, const struct heap_leaks *leaks)
{
	uint64_t objects = 0, bytes = 0, all = 0;

	for (int i = 0; i < HEAP_LEAK_CLASSES; i++) {
		objects += leaks->sums[i].objects;
		bytes += leaks->sums[i].bytes;
	}
	for (uint32_t i = 0; i < model->object_count; i++)
		all += model->size[i];
	assert_int_equal(objects, model->object_count);
	assert_int_equal(bytes, all);
}

static bool is_suppressed(void *context, heap_object_id object)
{
	(void)context;
	return suppressed[object];
}

static void random_graphs_have_the_classes_of_the_definition(void **state)
{
	(void)state;
	for (int i = 0; i < GRAPHS; i++) {
		struct heap_snapshot model;
		struct heap_leaks leaks;
		bool with_suppressions = i % 3 == 0;

		model_init_random(&model);
		// Without most roots, so that much is leaked.
		model.root_edge_count = model.root_edge_count ? random_below(2) : 0;
		for (uint32_t j = 0; j < model.object_count; j++)
			suppressed[j] = with_suppressions && random_below(20) == 0;

		struct heap_graph *graph = model_graph(&model);

		assert_null(heap_leaks_find(graph, with_suppressions ? is_suppressed : NULL, NULL,
					    &leaks));
		check(graph, &leaks);
		check_sums(&model, &leaks);
		heap_leaks_deinit(&leaks);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

static void patterns_fit_as_leak_sanitizers_do(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool fits;
	} cases[] = {
		{ "main", "main", true },
		{ "main", "domain_new", true },
		{ "main", "mai", false },
		{ "^main", "domain", false },
		{ "^main", "main_loop", true },
		{ "main$", "domain", true },
		{ "main$", "main_loop", false },
		{ "^main$", "main", true },
		{ "^main$", "main2", false },
		{ "a*b", "xaxxbx", true },
		{ "a*b", "b a", false },
		{ "^a*b$", "aabab", true },
		{ "^a*b$", "aaba", false },
		{ "*", "", true },
		{ "*.so", "/usr/lib/libc.so.6", true },
		{ "*.so$", "/usr/lib/libc.so.6", false },
		{ "a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false },
		{ "$", "anything", true },
		{ "^", "anything", true },
		{ "^$", "anything", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (heap_suppression_fits(cases[i].pattern, cases[i].text) != cases[i].fits)
			fail_msg("'%s' in '%s'", cases[i].pattern, cases[i].text);
	}
}

UNIT_TESTS("leaks", cmocka_unit_test(random_graphs_have_the_classes_of_the_definition),
	   cmocka_unit_test(patterns_fit_as_leak_sanitizers_do))
