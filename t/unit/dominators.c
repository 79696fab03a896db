// SPDX-License-Identifier: GPL-3.0-or-later
// Dominators and retained sizes, against their definition: a node dominates what can no longer
// be reached once it is taken away, by pointers that count.
#include "t/unit/unit.h"

#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/graph/dominators.h"
#include "lib/graph/edge_buckets.h"
#include "t/unit/graph_model.h"

enum {
	GRAPHS = 3000,
	MAX_NODES = MAX_OBJECTS + MAX_ROOTS,
	LONG = 1000000,
	MANY = 150000,
};

// lost[node][object]: the object goes when the node goes.
static uint8_t lost[MAX_NODES][MAX_OBJECTS];
static uint8_t reached[MAX_OBJECTS], levels[MAX_OBJECTS];

static void find_lost(const struct heap_snapshot *model, bool is_conservative)
{
	model_reach(model, MODEL_NO_LIMITS, reached);
	model_find_levels(model, levels);
	for (uint32_t node = 0; node < model->object_count + model->root_count; node++) {
		struct model_limits limits = MODEL_NO_LIMITS;

		limits.without = node;
		limits.levels = is_conservative ? NULL : levels;
		model_reach(model, limits, lost[node]);
		for (uint32_t i = 0; i < model->object_count; i++)
			lost[node][i] = reached[i] && !lost[node][i];
	}
}

// Those above an object in the tree are all its dominators, and no others.
static void check_nearest(const struct heap_snapshot *model,
			  const struct heap_dominators *dominators, uint32_t object)
{
	uint32_t expected = 0, found = 0;
	uint32_t nodes = model->object_count + model->root_count;

	for (uint32_t node = 0; node < nodes; node++)
		expected += node != object && lost[node][object];
	for (uint32_t above = dominators->nearest[object]; above != HEAP_NO_NODE;
	     above = dominators->nearest[above]) {
		assert_true(above < nodes && above != object);
		assert_true(lost[above][object]);
		assert_true(found++ < nodes);
	}
	assert_int_equal(found, expected);
}

static void check(const struct heap_snapshot *model, const struct heap_dominators *dominators,
		  bool is_conservative)
{
	assert_int_equal(dominators->objects, model->object_count);
	assert_int_equal(dominators->roots, model->root_count);
	find_lost(model, is_conservative);
	for (uint32_t node = 0; node < model->object_count + model->root_count; node++) {
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < model->object_count; i++)
			bytes += lost[node][i] ? model->size[i] : 0;
		assert_int_equal(dominators->retained[node], bytes);
		if (node < model->object_count)
			check_nearest(model, dominators, node);
		if (node < model->object_count && reached[node])
			assert_int_equal(heap_dominators_level(dominators, node),
					 is_conservative ? 0 : levels[node]);
		if (node >= model->object_count)
			assert_int_equal(dominators->nearest[node], HEAP_NO_NODE);
	}
}

static void random_graphs_have_the_dominators_of_the_definition(void **state)
{
	(void)state;
	for (int i = 0, graphs = model_graphs(GRAPHS); i < graphs; i++) {
		struct heap_snapshot model;
		struct heap_dominators dominators;

		model_init_random(&model);

		struct heap_graph *graph = model_graph(&model);

		graph->is_conservative = i % 3 == 0;
		assert_null(heap_dominators_init(&dominators, graph));
		check(&model, &dominators, graph->is_conservative);
		heap_dominators_deinit(&dominators);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// The picture of lib/graph/dominators.h: root → a → b → d, a → c → d, and a leaked e → d.
static void the_picture_is_right(void **state)
{
	enum {
		A,
		B,
		C,
		D,
		E,
		OBJECTS,
		ROOT = OBJECTS
	};
	static const struct built_edge edges[] = {
		{ A, B, 0, 0 }, { A, C, 0, 0 }, { B, D, 0, 0 }, { C, D, 0, 0 }, { E, D, 0, 0 }
	};
	static const heap_node_id nearest[] = { ROOT, A, A, A, HEAP_NO_NODE, HEAP_NO_NODE };
	// Sizes are 1, 2, 3, 4, 5.
	static const uint64_t retained[] = { 10, 2, 3, 4, 0, 10 };
	struct heap_snapshot model;
	struct heap_dominators dominators;

	(void)state;
	model_init(&model, OBJECTS, 5, 1, 1);
	model_set_edges(&model, edges);

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	assert_memory_equal(dominators.nearest, nearest, sizeof(nearest));
	assert_memory_equal(dominators.retained, retained, sizeof(retained));
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

// A list whose nodes point both ways, held by `roots` roots: at its head, and at its tail.
static void make_list(struct heap_snapshot *model, uint32_t roots)
{
	uint32_t edge = 0;

	model_init(model, LONG, 2 * LONG - 2, roots, roots);
	for (uint32_t i = 0; i < LONG; i++) {
		model->edge_first[i] = edge;
		if (i + 1 < LONG)
			model->edge_target[edge++] = i + 1;
		if (i > 0)
			model->edge_target[edge++] = i - 1;
	}
	model->edge_first[LONG] = edge;
	for (uint32_t i = 0; i < roots; i++)
		model->root_edges[i] =
			(struct heap_root_edge){ .root = i, .target = i ? LONG - 1 : 0 };
}

// Neither recursion nor a pass per node: a million nodes take a moment.
static void a_long_list_held_at_both_ends_retains_nothing_together(void **state)
{
	struct heap_snapshot model;
	struct heap_dominators dominators;

	(void)state;
	make_list(&model, 2);

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	for (uint32_t i = 0; i < LONG; i++) {
		assert_int_equal(dominators.nearest[i], HEAP_NO_NODE);
		assert_int_equal(dominators.retained[i], model.size[i]);
	}
	assert_int_equal(dominators.retained[LONG], 0);
	assert_int_equal(dominators.retained[LONG + 1], 0);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void in_a_long_list_held_at_its_head_each_node_retains_the_rest(void **state)
{
	struct heap_snapshot model;
	struct heap_dominators dominators;
	uint64_t rest = 0;

	(void)state;
	make_list(&model, 1);

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	for (uint32_t i = LONG; i-- > 0;) {
		rest += model.size[i];
		assert_int_equal(dominators.nearest[i], i ? i - 1 : LONG);
		assert_int_equal(dominators.retained[i], rest);
	}
	assert_int_equal(dominators.retained[LONG], rest);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

// --- more nodes and edges than are gone through at a time --------------------

// Nodes 1.. are objects and roots, 0 is above the roots.
struct flow {
	const struct heap_snapshot *model;
	uint32_t *order; // [nodes] nodes as a search has left them
	uint32_t *left;  // [nodes + 1] when; 0: not met
	uint32_t *above; // [nodes + 1] nearest dominator; 0 also where it is not known yet
	uint32_t count;
};

static uint32_t meet_above(const struct flow *flow, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (a && (!b || flow->left[a] < flow->left[b]))
			a = flow->above[a];
		while (b && (!a || flow->left[b] < flow->left[a]))
			b = flow->above[b];
	}
	return a;
}

static void leave_in_order(struct flow *flow)
{
	const struct heap_snapshot *model = flow->model;
	uint32_t *stack = calloc(MANY + 1, sizeof(*stack));
	uint32_t *next = calloc(MANY + 1, sizeof(*next));

	for (uint32_t i = 0; i < model->root_edge_count; i++) {
		size_t depth = 0;

		if (flow->left[model->root_edges[i].target + 1])
			continue;
		stack[depth] = model->root_edges[i].target;
		flow->left[stack[depth] + 1] = UINT32_MAX;
		next[depth] = model->edge_first[stack[depth]];
		depth++;
		while (depth > 0) {
			uint32_t object = stack[depth - 1], target;

			if (next[depth - 1] == model->edge_first[object + 1]) {
				flow->order[flow->count++] = object;
				flow->left[object + 1] = flow->count;
				depth--;
				continue;
			}
			target = model->edge_target[next[depth - 1]++];
			if (flow->left[target + 1])
				continue;
			flow->left[target + 1] = UINT32_MAX;
			stack[depth] = target;
			next[depth++] = model->edge_first[target];
		}
	}
	free(stack);
	free(next);
}

// By what is known of all that point to a node, until nothing changes (Cooper, Harvey, Kennedy);
// each object in root edges has a root of its own.
static void find_by_flow(struct flow *flow, const struct heap_graph *graph)
{
	bool *known = calloc(MANY, sizeof(*known));
	bool more = true;

	leave_in_order(flow);
	while (more) {
		more = false;
		for (uint32_t i = flow->count; i > 0; i--) {
			uint32_t object = flow->order[i - 1], above = UINT32_MAX;

			if (graph->root_in_first[object] != graph->root_in_first[object + 1])
				above = 0;
			for (uint32_t j = graph->in_first[object]; j < graph->in_first[object + 1];
			     j++) {
				uint32_t source = graph->in_source[j];

				if (known[source])
					above = above == UINT32_MAX
							? source + 1
							: meet_above(flow, above, source + 1);
			}
			more |= !known[object] || flow->above[object + 1] != above;
			known[object] = true;
			flow->above[object + 1] = above;
		}
	}
	free(known);
}

static void check_flow(const struct heap_graph *graph)
{
	struct heap_dominators dominators;
	struct flow flow = { .model = graph->snapshot };
	uint64_t *retained = calloc(MANY, sizeof(*retained));

	flow.order = calloc(MANY + 1, sizeof(*flow.order));
	flow.left = calloc(MANY + 2, sizeof(*flow.left));
	flow.above = calloc(MANY + 2, sizeof(*flow.above));
	find_by_flow(&flow, graph);
	assert_null(heap_dominators_init(&dominators, graph));
	// Dominated nodes are left before their dominator.
	for (uint32_t i = 0; i < flow.count; i++) {
		uint32_t object = flow.order[i], above = flow.above[object + 1];

		retained[object] += graph->snapshot->size[object];
		if (above)
			retained[above - 1] += retained[object];
		else
			assert_true(dominators.nearest[object] >= MANY);
		if (above)
			assert_int_equal(dominators.nearest[object], above - 1);
	}
	assert_memory_equal(dominators.retained, retained, MANY * sizeof(*retained));
	heap_dominators_deinit(&dominators);
	free(flow.order);
	free(flow.left);
	free(flow.above);
	free(retained);
}

static void many_nodes_have_the_dominators_that_another_method_finds(void **state)
{
	(void)state;
	for (uint32_t near = 0; near <= 100; near += 50) {
		struct heap_snapshot model;

		model_init(&model, MANY, MANY * 3, 5, 5);
		for (uint32_t i = 0; i < MANY * 3; i++) {
			uint32_t source = i / 3;

			model.edge_first[source + 1]++;
			model.edge_target[i] =
				random_below(100) < near
					? (source + MANY + 20 - random_below(50)) % MANY
					: random_below(random_below(3) ? MANY : 50);
		}
		for (uint32_t i = 0; i < MANY; i++)
			model.edge_first[i + 1] += model.edge_first[i];
		for (uint32_t i = 0; i < 5; i++)
			model.root_edges[i] =
				(struct heap_root_edge){ .root = i, .target = i * 100 };

		struct heap_graph *graph = model_graph(&model);

		check_flow(graph);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// Each points to all: most edges are on the stack at one time, and then in buckets.
static void of_all_that_point_to_all_the_first_retains_the_rest(void **state)
{
	enum {
		ALL = 1800,
	};
	struct heap_snapshot model;
	struct heap_dominators dominators;
	uint64_t bytes = 0;

	(void)state;
	model_init(&model, ALL, ALL * ALL, 1, 1);
	for (uint32_t i = 0; i < ALL * ALL; i++)
		model.edge_target[i] = i % ALL;
	for (uint32_t i = 0; i < ALL; i++) {
		model.edge_first[i + 1] = (i + 1) * ALL;
		bytes += model.size[i];
	}
	model.root_edges[0] = (struct heap_root_edge){ .root = 0, .target = 0 };

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	assert_int_equal(dominators.nearest[0], ALL);
	assert_int_equal(dominators.retained[0], bytes);
	for (uint32_t i = 1; i < ALL; i++) {
		assert_int_equal(dominators.nearest[i], 0);
		assert_int_equal(dominators.retained[i], model.size[i]);
	}
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

// Each points to the two after it, but for the first, and the last to the first: the last ones'
// numbers, which begin at 1 with the root, are at either side of where buckets meet.
static void the_ends_of_buckets_are_no_seams(void **state)
{
	(void)state;
	for (uint32_t objects = 65533; objects <= 65537; objects++) {
		struct heap_snapshot model;
		struct heap_dominators dominators;

		model_init(&model, objects, 2 * objects - 1, 1, 1);
		for (uint32_t i = 0, edge = 0; i < objects; i++) {
			model.edge_target[edge++] = i + 1 < objects ? i + 1 : 0;
			if (i > 0) // past the next one
				model.edge_target[edge++] = i + 2 < objects ? i + 2 : i;
			model.edge_first[i + 1] = edge;
		}
		model.root_edges[0] = (struct heap_root_edge){ .root = 0, .target = 0 };

		struct heap_graph *graph = model_graph(&model);

		assert_null(heap_dominators_init(&dominators, graph));
		assert_int_equal(dominators.nearest[0], objects);
		assert_int_equal(dominators.nearest[1], 0);
		assert_int_equal(dominators.nearest[2], 1);
		for (uint32_t i = 3; i < objects; i++)
			assert_int_equal(dominators.nearest[i], 1);
		heap_dominators_deinit(&dominators);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

// Columns beyond the budget are in temporary files.
static void without_memory_the_answers_are_the_same(void **state)
{
	heap_column_limit(0);
	of_all_that_point_to_all_the_first_retains_the_rest(state);
	the_ends_of_buckets_are_no_seams(state);
	many_nodes_have_the_dominators_that_another_method_finds(state);
	in_a_long_list_held_at_its_head_each_node_retains_the_rest(state);
	a_long_list_held_at_both_ends_retains_nothing_together(state);
	heap_column_limit(UINT64_C(1) << 32);
}

// With one thread nothing is prepared ahead; with more, also where there is but one processor.
static void any_number_of_threads_finds_the_same(void **state)
{
	for (unsigned threads = 1; threads <= 3; threads++) {
		heap_parallel_set_threads(threads);
		of_all_that_point_to_all_the_first_retains_the_rest(state);
		the_ends_of_buckets_are_no_seams(state);
		many_nodes_have_the_dominators_that_another_method_finds(state);
	}
	heap_parallel_set_threads(0);
}

// An edge's place among those to its target, or UINT32_MAX.
static uint32_t find_source(const struct heap_sorted_edges *sorted, uint32_t to, uint32_t from)
{
	for (uint32_t i = sorted->first[to]; i < sorted->first[to + 1]; i++) {
		if (sorted->from[i] == from)
			return i;
	}
	return UINT32_MAX;
}

// Each edge of several batches is in the bucket of its target, however many threads there are.
static void buckets_have_the_edges_that_were_added(void **state)
{
	enum {
		NUMBERS = 3 * HEAP_EDGE_BUCKET + 17,
		EDGES = 6 * HEAP_EDGE_BATCH + 5,
	};
	uint32_t *to = malloc(EDGES * sizeof(*to));

	(void)state;
	for (unsigned threads = 1; threads <= 2; threads++) {
		struct heap_edge_buckets *buckets;
		struct heap_sorted_edges sorted = { 0 };
		uint32_t found = 0;

		heap_parallel_set_threads(threads);
		assert_null(heap_edge_buckets_create(NUMBERS, EDGES, &buckets));
		for (uint32_t i = 0; i < EDGES; i++) {
			to[i] = random_below(4) ? random_below(NUMBERS) : NUMBERS - 1;
			assert_null(heap_edge_buckets_add(buckets, heap_edge_buckets_batch(buckets),
							  i, to[i]));
		}
		assert_null(heap_edge_buckets_finish(buckets));
		assert_null(heap_sorted_edges_init(&sorted, buckets));
		for (uint32_t i = 0; i <= NUMBERS / HEAP_EDGE_BUCKET; i++) {
			heap_edge_buckets_sort(buckets, i, &sorted);
			found += sorted.first[HEAP_EDGE_BUCKET];
			for (uint32_t j = 0; j < EDGES; j++) {
				if (to[j] / HEAP_EDGE_BUCKET == i && to[j] != NUMBERS - 1)
					assert_true(find_source(&sorted, to[j] % HEAP_EDGE_BUCKET,
								j) != UINT32_MAX);
			}
		}
		assert_int_equal(found, EDGES);
		heap_sorted_edges_deinit(&sorted);
		heap_edge_buckets_destroy(buckets);
	}
	heap_parallel_set_threads(0);
	free(to);
}

static bool stop(void *context, const char *what, double share)
{
	assert_non_null(what);
	assert_true(share >= 0 && share <= 1);
	return --*(int *)context >= 0;
}

// Whenever the user says stop, until there is nothing more to be stopped.
static void work_that_is_stopped_ends_with_an_error(void **state)
{
	struct heap_snapshot model;
	struct heap_dominators dominators;
	bool finished = false;

	(void)state;
	make_list(&model, 2);
	for (int patience = 0; !finished; patience++) {
		int left = patience;
		struct heap_progress progress = { stop, &left };
		struct heap_graph *graph = model_graph(&model);
		struct heap_error *error;

		assert_true(patience < 100);
		graph->progress = &progress;
		error = heap_dominators_init(&dominators, graph);
		finished = !error;
		if (error)
			assert_error(error, HEAP_ERROR_INTERRUPTED, "interrupted");
		heap_graph_destroy(graph);
	}
	assert_int_equal(dominators.retained[0], model.size[0]);
	heap_dominators_deinit(&dominators);
	model_deinit(&model);
}

// A stale word of a stack points to the head of a list, and another one to something that nothing
// else holds.
static void a_word_of_a_stack_takes_nothing_from_a_variable(void **state)
{
	enum {
		HEAD,
		NEXT,
		ALONE,
		OBJECTS,
		VARIABLE = OBJECTS,
		WORD
	};
	static const struct built_edge edges[] = { { HEAD, NEXT, 0, 0 }, { ALONE, NEXT, 0, 0 } };
	static const heap_node_id nearest[] = { VARIABLE, HEAD, WORD, HEAP_NO_NODE, HEAP_NO_NODE };
	// Sizes are 1, 2, 3.
	static const uint64_t retained[] = { 3, 2, 3, 3, 3 };
	struct heap_snapshot model;
	struct heap_dominators dominators;

	(void)state;
	model_init(&model, OBJECTS, 2, 2, 3);
	model_set_edges(&model, edges);
	model.roots[1].kind = HEAP_ROOT_STACK;
	model.root_edges[0] = (struct heap_root_edge){ .root = 0, .target = HEAD };
	model.root_edges[1] = (struct heap_root_edge){ .root = 1, .target = HEAD };
	model.root_edges[2] = (struct heap_root_edge){ .root = 1, .target = ALONE };

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	assert_memory_equal(dominators.nearest, nearest, sizeof(nearest));
	assert_memory_equal(dominators.retained, retained, sizeof(retained));
	assert_int_equal(heap_dominators_level(&dominators, HEAD), HEAP_LEVEL_VARIABLE);
	assert_int_equal(heap_dominators_level(&dominators, ALONE), HEAP_LEVEL_WORD);
	heap_dominators_deinit(&dominators);
	graph->is_conservative = true;
	assert_null(heap_dominators_init(&dominators, graph));
	assert_int_equal(dominators.nearest[HEAD], HEAP_NO_NODE);
	assert_int_equal(dominators.retained[VARIABLE], 0);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void sizes_may_be_huge(void **state)
{
	static const struct built_edge edge = { 0, 1, 0, 0 };
	struct heap_snapshot model;
	struct heap_dominators dominators;

	(void)state;
	model_init(&model, 2, 1, 1, 1);
	model_set_edges(&model, &edge);
	model.size[0] = 1ULL << 40;
	model.size[1] = 1ULL << 41;

	struct heap_graph *graph = model_graph(&model);

	assert_null(heap_dominators_init(&dominators, graph));
	assert_int_equal(dominators.retained[2], 3ULL << 40);
	heap_dominators_deinit(&dominators);
	heap_graph_destroy(graph);
	model_deinit(&model);
}

static void nothing_is_no_trouble(void **state)
{
	struct heap_snapshot model;
	struct heap_dominators dominators;

	(void)state;
	for (uint32_t roots = 0; roots < 2; roots++) {
		model_init(&model, 0, 0, roots, 0);

		struct heap_graph *graph = model_graph(&model);

		assert_null(heap_dominators_init(&dominators, graph));
		assert_int_equal(dominators.objects, 0);
		assert_int_equal(dominators.roots, roots);
		assert_int_equal(dominators.retained[0], 0);
		heap_dominators_deinit(&dominators);
		heap_graph_destroy(graph);
		model_deinit(&model);
	}
}

UNIT_TESTS("dominators", cmocka_unit_test(random_graphs_have_the_dominators_of_the_definition),
	   cmocka_unit_test(the_picture_is_right),
	   cmocka_unit_test(a_word_of_a_stack_takes_nothing_from_a_variable),
	   cmocka_unit_test(a_long_list_held_at_both_ends_retains_nothing_together),
	   cmocka_unit_test(in_a_long_list_held_at_its_head_each_node_retains_the_rest),
	   cmocka_unit_test(many_nodes_have_the_dominators_that_another_method_finds),
	   cmocka_unit_test(of_all_that_point_to_all_the_first_retains_the_rest),
	   cmocka_unit_test(the_ends_of_buckets_are_no_seams),
	   cmocka_unit_test(without_memory_the_answers_are_the_same),
	   cmocka_unit_test(any_number_of_threads_finds_the_same),
	   cmocka_unit_test(buckets_have_the_edges_that_were_added),
	   cmocka_unit_test(work_that_is_stopped_ends_with_an_error),
	   cmocka_unit_test(sizes_may_be_huge), cmocka_unit_test(nothing_is_no_trouble))
