// SPDX-License-Identifier: GPL-3.0-or-later
// Classes of leaks, against their definitions, on random graphs; and patterns of suppressions.
#include "t/unit/unit.h"

#include "lib/graph/leaks.h"
#include "lib/graph/suppressions.h"
#include "t/unit/graph_model.h"

#include <inttypes.h>

enum {
	TYPE_COLUMNS = HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS,
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

// True if an object is told rather than another one: of one known type, larger, or the first.
static bool is_told_before(const struct heap_snapshot *model, uint32_t object, uint32_t other)
{
	bool is_single = model->type[object] != HEAP_NO_TYPE && model->elements[object] == 1;
	bool is_other_single = model->type[other] != HEAP_NO_TYPE && model->elements[other] == 1;

	if (is_single != is_other_single)
		return is_single;
	return model->size[object] > model->size[other] ||
	       (model->size[object] == model->size[other] && object < other);
}

// Whatever leads to it is reached by it as well, and it is told before all of these.
static bool stands_for_cycle(const struct heap_snapshot *model, uint32_t object)
{
	for (uint32_t i = 0; i < model->object_count; i++) {
		if (reach[i][object] && (!reach[object][i] || is_told_before(model, i, object)))
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
		} else if (stands_for_cycle(model, i)) {
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

// Objects without a type, single ones and arrays.
static void give_types(struct heap_snapshot *model)
{
	build_columns(model, TYPE_COLUMNS, model->object_count, 0);
	for (uint32_t i = 0; i < model->object_count; i++) {
		model->type[i] = i % 5 == 0 ? HEAP_NO_TYPE : 1;
		model->elements[i] = 1 + i % 3 / 2;
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
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_leaks leaks;
		bool with_suppressions = i % 3 == 0;

		model_init_random(&model);
		give_types(&model);
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
		build_free_columns(&model, TYPE_COLUMNS);
		model_deinit(&model);
	}
}

// --- threads whose registers are not known -------------------------------------------------

enum {
	MOST_THREADS = 10000,
	X = HEAP_LEAK_PERHAPS,
	D = HEAP_LEAK_DIRECT,
	C = HEAP_LEAK_CYCLE,
	I = HEAP_LEAK_INDIRECT,
};

static struct heap_thread threads[MOST_THREADS + 1];

// Finds the leaks of a model without roots, of which so many threads' registers are not known.
static void find_with_threads(struct heap_snapshot *model, uint32_t unknown,
			      struct heap_leaks *leaks)
{
	struct heap_graph *graph = model_graph(model);

	// One more is known, and every third of the others was never stopped.
	memset(threads, 0, sizeof(threads));
	for (uint32_t i = 1; i <= unknown; i++)
		threads[i].state = i % 3 ? HEAP_THREAD_SLEEPING : HEAP_THREAD_MISSING;
	model->threads = threads;
	model->thread_count = unknown + 1;
	assert_null(heap_leaks_find(graph, NULL, NULL, leaks));
	heap_graph_destroy(graph);
}

// Objects 0 to 15:
//
//	site 0   0 ──▶ 9 ──▶ 10            one head
//	site 1   1, 2 ──▶ 10               two
//	site 2   3, 4, 5 ──▶ 11            three
//	site 3   6 ⇄ 7 ──▶ 12              a cycle, one head, and its member, which is none
//	site 4   8 ──▶ 6                   leads to the cycle in the second model alone
//	site 5   9 to 12                   led to
//	site 6   13 (reached), 14, 15      two
static const heap_site_id sites_of[] = { 0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 5, 5, 5, 6, 6, 6 };

enum {
	NUMBER = sizeof(sites_of) / sizeof(sites_of[0]),
};

static void expect_classes(bool leads_to_circle, uint32_t unknown, const uint8_t *classes,
			   const heap_object_id *leaders)
{
	static const struct built_edge edges[] = { { 0, 9, 0, 0 },  { 2, 10, 0, 0 },
						   { 5, 11, 0, 0 }, { 6, 7, 0, 0 },
						   { 7, 6, 0, 0 },  { 7, 12, 0, 0 },
						   { 9, 10, 0, 0 }, { 8, 6, 0, 0 } };
	struct built_edge sorted[8];
	uint32_t count = leads_to_circle ? 8 : 7;
	heap_site_id sites[NUMBER];
	struct heap_snapshot model;
	struct heap_leaks leaks;

	memcpy(sorted, edges, sizeof(edges));
	qsort(sorted, count, sizeof(*sorted), compare_sources);
	memcpy(sites, sites_of, sizeof(sites));
	model_init(&model, NUMBER, count, 1, 1);
	model_set_edges(&model, sorted);
	give_types(&model);
	model.root_edges[0] = (struct heap_root_edge){ .target = 13 };
	model.site = sites;
	model.site_count = 7;
	find_with_threads(&model, unknown, &leaks);
	check_sums(&model, &leaks);
	for (uint32_t i = 0; i < NUMBER; i++) {
		if (leaks.class_of[i] != classes[i] || leaks.leader[i] != leaders[i])
			fail_msg("%" PRIu32 " threads, object %" PRIu32
				 ": class %d, leader %" PRIu32,
				 unknown, i, leaks.class_of[i], leaks.leader[i]);
	}
	heap_leaks_deinit(&leaks);
	build_free_columns(&model, TYPE_COLUMNS);
	model_deinit(&model);
}

static void unknown_registers_may_hold_as_many_of_a_site_as_there_are_threads(void **state)
{
	enum {
		R = HEAP_LEAK_REACHABLE,
		NO = HEAP_NO_OBJECT,
	};

	(void)state;
	expect_classes(
		false, 0, (const uint8_t[]){ D, D, D, D, D, D, C, I, D, I, I, I, I, R, D, D },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 6, 6, 8, 0, 0, 5, 6, NO, 14, 15 });
	// Objects that 0 reaches are perhaps held although 2, which is leaked, reaches them as well.
	expect_classes(
		false, 1, (const uint8_t[]){ X, D, D, D, D, D, X, X, X, X, X, I, X, R, D, D },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 6, 6, 8, 0, 0, 5, 6, NO, 14, 15 });
	expect_classes(
		false, 2, (const uint8_t[]){ X, X, X, D, D, D, X, X, X, X, X, I, X, R, X, X },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 6, 6, 8, 0, 0, 5, 6, NO, 14, 15 });
	expect_classes(
		false, 3, (const uint8_t[]){ X, X, X, X, X, X, X, X, X, X, X, X, X, R, X, X },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 6, 6, 8, 0, 0, 5, 6, NO, 14, 15 });
	// Another leads to the cycle: it has no head of its own, and goes with that.
	expect_classes(
		true, 0, (const uint8_t[]){ D, D, D, D, D, D, I, I, D, I, I, I, I, R, D, D },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 8, 8, 8, 0, 0, 5, 8, NO, 14, 15 });
	expect_classes(
		true, 1, (const uint8_t[]){ X, D, D, D, D, D, X, X, X, X, X, I, X, R, D, D },
		(const heap_object_id[]){ 0, 1, 2, 3, 4, 5, 8, 8, 8, 0, 0, 5, 8, NO, 14, 15 });
}

// A model of so many heads of each site, and nothing else. A site is perhaps held wholly, or not.
// @return how many heads are
static uint32_t count_perhaps(const uint32_t *heads, uint32_t site_count, uint32_t unknown)
{
	uint32_t objects = 0, at = 0, result;
	struct heap_snapshot model;
	struct heap_leaks leaks;

	for (uint32_t i = 0; i < site_count; i++)
		objects += heads[i];
	model_init(&model, objects, 0, 1, 0);
	model.site = calloc(objects, sizeof(*model.site));
	model.site_count = site_count;
	for (uint32_t i = 0; i < site_count; i++) {
		for (uint32_t j = 0; j < heads[i]; j++)
			model.site[at++] = i;
	}
	find_with_threads(&model, unknown, &leaks);
	check_sums(&model, &leaks);
	for (uint32_t i = 1; i < objects; i++) {
		if (model.site[i] == model.site[i - 1])
			assert_int_equal(leaks.class_of[i], leaks.class_of[i - 1]);
	}
	result = (uint32_t)leaks.sums[HEAP_LEAK_PERHAPS].objects;
	assert_int_equal(leaks.sums[HEAP_LEAK_DIRECT].objects, objects - result);
	heap_leaks_deinit(&leaks);
	free(model.site);
	model_deinit(&model);
	return result;
}

static void no_more_is_perhaps_held_than_there_are_registers(void **state)
{
	static const uint32_t ones[] = { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const uint32_t mixed[] = { 3, 2, 3, 2, 1, 3, 3, 2, 1 };
	static const uint32_t many[] = {
		9000, 20, 10001, 30000, 9990, 10000, 9999, 9998, 9997, 9996
	};

	(void)state;
	assert_int_equal(count_perhaps(ones, 5, 1), 5);
	assert_int_equal(count_perhaps(ones, 6, 1), 6);
	assert_int_equal(count_perhaps(ones, 7, 1), 6);
	assert_int_equal(count_perhaps(ones, 10, 1), 6);
	assert_int_equal(count_perhaps(ones, 10, 2), 10);
	assert_int_equal(count_perhaps(mixed, 9, 0), 0);
	assert_int_equal(count_perhaps(mixed, 9, 1), 2);
	assert_int_equal(count_perhaps(mixed, 9, 2), 8);
	// There are 18 registers: 1 + 1 + 2 + 2 + 2 + 3 + 3 + 3 are 17, and the last three do not fit.
	assert_int_equal(count_perhaps(mixed, 9, 3), 17);
	assert_int_equal(count_perhaps(mixed, 9, 4), 20);
	// There are 60,000 registers: seven sites take 59,000, and the next would take 10,000.
	assert_int_equal(count_perhaps(many, 10, MOST_THREADS), 59000);
}

// Memory that is missing may hold any of them; leaders stay as they are.
static void all_is_perhaps_held_where_memory_is_missing(void **state)
{
	struct heap_snapshot model;
	struct heap_leaks known, leaks;

	(void)state;
	for (uint32_t seed = 0; seed < 50; seed++) {
		model_init_random(&model);
		give_types(&model);
		model.site = calloc(model.object_count, sizeof(*model.site));
		model.site_count = 1;
		find_with_threads(&model, 0, &known);
		model.info.lost_bytes = 1;
		find_with_threads(&model, seed % 2 * 100, &leaks);
		check_sums(&model, &leaks);
		for (uint32_t i = 0; i < model.object_count; i++) {
			assert_int_equal(leaks.class_of[i],
					 known.class_of[i] >= D ? X : known.class_of[i]);
			assert_int_equal(leaks.leader[i], known.leader[i]);
		}
		heap_leaks_deinit(&known);
		heap_leaks_deinit(&leaks);
		free(model.site);
		build_free_columns(&model, TYPE_COLUMNS);
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
	   cmocka_unit_test(unknown_registers_may_hold_as_many_of_a_site_as_there_are_threads),
	   cmocka_unit_test(no_more_is_perhaps_held_than_there_are_registers),
	   cmocka_unit_test(all_is_perhaps_held_where_memory_is_missing),
	   cmocka_unit_test(patterns_fit_as_leak_sanitizers_do))
