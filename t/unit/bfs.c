// SPDX-License-Identifier: GPL-3.0-or-later
// Reachability from some objects, by wide levels and by narrow ones, by one thread and by
// several: the same as a queue finds. And who points to some objects: the same as all reverse
// edges say.
#include "t/unit/unit.h"

#include "lib/base/column.h"
#include "lib/graph/edge_bits.h"
#include "lib/graph/bfs.h"
#include "lib/graph/referrers.h"
#include "lib/base/parallel.h"
#include "t/unit/graph_model.h"

enum {
	OBJECTS = 60000,
	EDGES = 150000,
	ROOT_EDGES = 30,
};

// Edges by ascending source; `near` of 100 lead to an object a few further on.
static void make_graph(struct heap_snapshot *model, uint32_t near)
{
	model_init(model, OBJECTS, EDGES, 3, ROOT_EDGES);
	for (uint32_t i = 0; i < EDGES; i++) {
		uint32_t source = (uint32_t)((uint64_t)i * OBJECTS / EDGES);
		bool is_near = random_below(100) < near;

		model->edge_first[source + 1]++;
		model->edge_target[i] =
			is_near ? (source + 1 + random_below(3)) % OBJECTS : random_below(OBJECTS);
		model->edge_interior[i] = random_below(4) ? 0 : random_below(20);
		model->edge_flags[i] = random_below(2) ? HEAP_EDGE_TYPED : 0;
	}
	for (uint32_t i = 0; i < OBJECTS; i++)
		model->edge_first[i + 1] += model->edge_first[i];
	for (uint32_t i = 0; i < ROOT_EDGES; i++) {
		model->root_edges[i].root = i / 10;
		model->root_edges[i].target = random_below(OBJECTS / 20);
	}
}

// The same by a queue, from what has a distance of 0 on.
static void find_distances(const struct heap_snapshot *model, bool starts_only, bool typed_only,
			   uint32_t *distance)
{
	static uint32_t queue[OBJECTS];
	size_t tail = 0;

	for (uint32_t i = 0; i < OBJECTS; i++) {
		if (distance[i] == 0)
			queue[tail++] = i;
	}
	for (size_t head = 0; head < tail; head++) {
		uint32_t object = queue[head];

		for (uint32_t i = model->edge_first[object]; i < model->edge_first[object + 1];
		     i++) {
			uint32_t *next = &distance[model->edge_target[i]];

			if (*next != UINT32_MAX ||
			    (starts_only &&
			     !heap_edge_is_start(model->edge_interior[i], model->edge_flags[i])) ||
			    (typed_only && !(model->edge_flags[i] & HEAP_EDGE_TYPED)))
				continue;
			*next = distance[object] + 1;
			queue[tail++] = model->edge_target[i];
		}
	}
}

static void check_bfs(struct heap_snapshot *model, bool starts_only, bool typed_only)
{
	static uint32_t expected[OBJECTS], found[OBJECTS];
	struct heap_bfs_options options = { .distance = found };
	unsigned demands =
		(starts_only ? HEAP_EDGE_TO_START : 0u) | (typed_only ? HEAP_EDGE_BY_TYPE : 0u);
	uint8_t *edges = NULL;
	struct heap_bfs bfs;

	memset(expected, 0xff, sizeof(expected));
	memset(found, 0xff, sizeof(found));
	assert_null(heap_bfs_init(&bfs, model));
	for (uint32_t i = 0; i < ROOT_EDGES; i++) {
		heap_bfs_add(&bfs, model->root_edges[i].target);
		expected[model->root_edges[i].target] = 0;
	}
	if (demands)
		assert_null(heap_edge_bits_create(model, demands, &edges));
	options.edges = edges;
	assert_null(heap_bfs_run(&bfs, &options));
	heap_column_destroy(edges);
	find_distances(model, starts_only, typed_only, expected);
	assert_memory_equal(found, expected, sizeof(found));

	// Then by all pointers, from all of them on: the first level is wide.
	for (uint32_t i = 0; i < OBJECTS; i++)
		expected[i] = expected[i] == UINT32_MAX ? UINT32_MAX : 0;
	heap_bfs_continue(&bfs, NULL);
	assert_null(heap_bfs_run(&bfs, &(struct heap_bfs_options){ .distance = NULL }));
	find_distances(model, false, false, expected);
	for (uint32_t i = 0; i < OBJECTS; i++)
		assert_int_equal(heap_bfs_has(&bfs, i), expected[i] != UINT32_MAX);
	heap_bfs_deinit(&bfs);
}

static void bfs_visits_what_a_queue_visits(void **state)
{
	static const uint32_t nearness[] = { 0, 50, 98, 100 };

	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		heap_parallel_set_threads(threads);
		for (size_t i = 0; i < sizeof(nearness) / sizeof(nearness[0]); i++) {
			struct heap_snapshot model;

			make_graph(&model, nearness[i]);
			check_bfs(&model, true, false);
			check_bfs(&model, false, false);
			check_bfs(&model, false, true);
			check_bfs(&model, true, true);
			model_deinit(&model);
		}
	}
	heap_parallel_set_threads(0);
}

static bool stop(void *context, const char *what, double share)
{
	(void)context;
	(void)what;
	(void)share;
	return false;
}

static void a_search_can_be_interrupted(void **state)
{
	static const struct heap_progress progress = { stop, NULL };
	struct heap_bfs_options options = { .progress = &progress, .what = "bfs" };
	struct heap_snapshot model;
	struct heap_bfs bfs;

	(void)state;
	model_init(&model, HEAP_PROGRESS_STEP + 10, HEAP_PROGRESS_STEP + 9, 0, 0);
	for (uint32_t i = 0; i < model.edge_count; i++) {
		model.edge_first[i + 1] = i + 1;
		model.edge_target[i] = i + 1;
	}
	model.edge_first[model.object_count] = model.edge_count;
	assert_null(heap_bfs_init(&bfs, &model));
	heap_bfs_add(&bfs, 0);
	assert_error(heap_bfs_run(&bfs, &options), HEAP_ERROR_INTERRUPTED, "interrupted");
	heap_bfs_deinit(&bfs);
	model_deinit(&model);
}

// --- referrers -----------------------------------------------------------------

static void check_referrers(const struct heap_graph *reverse,
			    const struct heap_referrers *referrers, heap_object_id object)
{
	struct heap_referrer_list of = heap_referrers_get(referrers, object);
	uint32_t first = reverse->in_first[object], root_first = reverse->root_in_first[object];

	assert_int_equal(of.count, reverse->in_first[object + 1] - first);
	assert_int_equal(of.root_count, reverse->root_in_first[object + 1] - root_first);
	for (uint32_t i = 0; i < of.count; i++) {
		assert_int_equal(of.edges[i], reverse->in_edge[first + i]);
		assert_int_equal(of.sources[i], reverse->in_source[first + i]);
	}
	for (uint32_t i = 0; i < of.root_count; i++)
		assert_int_equal(of.root_edges[i], reverse->root_in[root_first + i]);
}

// More passes than pay, each for some that are known and some that are not.
static void referrers_are_the_reverse_edges(void **state)
{
	struct heap_snapshot model;
	struct heap_graph *graph, *other;
	struct heap_referrers *referrers;

	(void)state;
	heap_parallel_set_threads(2);
	make_graph(&model, 50);
	graph = model_graph(&model);
	assert_null(heap_graph_create(&model, &other));
	assert_null(heap_referrers_create(other, &referrers));
	for (uint32_t pass = 0; pass < 40; pass++) {
		heap_object_id objects[50];
		uint32_t start = random_below(OBJECTS / 20);

		for (uint32_t i = 0; i < 50; i++)
			objects[i] = start + 49 - i / 2;
		assert_null(heap_referrers_need(referrers, objects, 50));
		for (uint32_t i = 0; i < 50; i++)
			check_referrers(graph, referrers, objects[i]);
	}
	assert_non_null(other->in_first);
	heap_referrers_destroy(referrers);
	heap_graph_destroy(other);
	heap_graph_destroy(graph);
	model_deinit(&model);
	heap_parallel_set_threads(0);
}

UNIT_TESTS("bfs", cmocka_unit_test(bfs_visits_what_a_queue_visits),
	   cmocka_unit_test(a_search_can_be_interrupted),
	   cmocka_unit_test(referrers_are_the_reverse_edges))
