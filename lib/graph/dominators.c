// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Semi-NCA. Nodes are numbered in the order in which a depth-first search visits them
 * ("number" below, the virtual root is 0), and all arrays are indexed by that number, so
 * that the passes, which run over the numbers from either end, run over memory in order too.
 *
 *	semi[w]   smallest v with a path v → … → w whose inner nodes all come after w
 *	idom[w]   nearest ancestor of w in the tree, from its parent up, that is ≤ semi[w]
 *
 * semi is found backwards, with path compression as in Lengauer and Tarjan's simple
 * algorithm; idom forwards, by climbing. Nothing recurses: lists are millions long.
 *
 * Levels of roots take one search each, from the surest down. Each search numbers what the ones
 * before have not reached, and drops edges to what they have: no search leaves its own numbers, and
 * the rest is one run of Semi-NCA over them all. A root with edges of two levels is a node of both
 * searches and has two numbers, since all numbers below a node must follow its own.
 *
 * The cost is that of waiting for memory, once per edge: has its target been visited? So
 *
 * (a) the search pushes all edges of a node when it visits the node, and prefetches then what it
 *     will need to know of their targets, long before they are popped. The tree is a depth-first
 *     one still: the edge that is popped first makes the parent.
 * (b) both ends of an edge have their numbers when it is popped. No reverse edges of the graph
 *     are needed: an edge to a visited node goes into the bucket of that node.
 * (c) a bucket has the edges to 65,536 numbers in turn (edge_buckets.h), and is sorted by number
 *     when its turn comes, in the cache.
 * (d) a second thread touches new memory first, which takes as long as several searches of it: it
 *     distributes edges over the buckets, and prepares the next bucket with the links of its nodes.
 *
 * Columns that are accessed at random have to be memory, and not a file. That is little at a time, so two
 * columns serve one purpose after the other:
 *
 *	                search       semidominators   dominators   sizes
 *	numbers         number_of    semi             semi         nearest
 *	pairs           stack        links                         retained
 *	parent          in order     in order         idom         in order
 *	node_of         in order                                   in order, mostly
 *	buckets         in order     in order
 *
 * They are made in this order. A column that exceeds the budget of memory (lib/base/column.h) is
 * written once then, and read once.
 */
#include "lib/graph/dominators.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/parallel.h"
#include "lib/base/prefetch.h"
#include "lib/graph/edge_buckets.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

enum {
	VIRTUAL_ROOT = 0,
	PREFETCH_DISTANCE = 12, // in nodes or edges
	STEPS = 4,              // of a path up that are prefetched
	BUCKET = HEAP_EDGE_BUCKET,
	POPULATED = 1 << 20, // numbers of a column at a time
	FAR_BELOW = 8,       // the top of the stack
	NEAR_BELOW = 3,
};

#define BY_ROOTS (HEAP_NO_NODE - 1) // nearest, until all nodes are known

union pair {
	struct {
		uint32_t from; // on the stack: number of the node that an edge leaves
		heap_object_id target;
	};
	struct { // of a node of the search tree, in the forest of the nodes that are linked
		uint32_t ancestor; // the path up, compressed
		uint32_t label;    // the best semi on that path
	};
	uint64_t retained;
};

struct work {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	uint32_t objects, nodes;
	uint32_t most;     // numbers, at most
	uint32_t *numbers; // [most + 1] number of a node; 0: not visited. Then semi, by number
	union pair *pairs; // [capacity] the stack from 1 on. Then links, by number
	uint32_t *parent;  // [most + 1] in the search tree, by number; later idom
	uint32_t *node_of; // [most + 1] node of a number
	uint8_t *levels;   // [objects] of the result
	struct heap_edge_buckets *buckets;
	struct heap_edge_batch *batch; // of edges that are on their way to the buckets
	size_t capacity;
	uint32_t top;                 // of the stack: its last entry
	uint32_t visited;             // the last number
	uint32_t before[HEAP_LEVELS]; // the last number before each level's search
};

// --- depth-first search ------------------------------------------------------

static uint32_t visit(struct work *work, uint32_t node, uint32_t parent)
{
	uint32_t number = ++work->visited;

	work->numbers[node] = number;
	work->node_of[number] = node;
	work->parent[number] = parent;
	return number;
}

// Makes room for more edges on the stack.
HEAP_MUST_CHECK
static struct heap_error *widen_stack(struct work *work, size_t more)
{
	size_t capacity = (work->top + more + 1) * 2;

	if (work->top + more < work->capacity)
		return NULL;
	HEAP_TRY(heap_column_resize(capacity * sizeof(*work->pairs), &work->pairs));
	work->capacity = capacity;
	return NULL;
}

static void push(struct work *work, uint32_t from, heap_object_id target)
{
	heap_prefetch(&work->numbers[target]);
	heap_prefetch(&work->snapshot->edge_first[target]);
	work->pairs[++work->top] = (union pair){ .from = from, .target = target };
}

// Pushes the last edge first, so that the first is popped first.
HEAP_MUST_CHECK
static struct heap_error *push_edges(struct work *work, heap_object_id object, uint32_t number)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];

	HEAP_TRY(widen_stack(work, end - first));
	for (uint32_t i = end; i > first; i--)
		push(work, number, snapshot->edge_target[i - 1]);
	return NULL;
}

// Data that push() prefetched may have left the cache by the time the edge is popped: so prefetch it
// again a few edges before, and, once that has arrived, the target's own edges.
static inline void look_ahead(const struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	heap_object_id far, near;

	if (work->top <= FAR_BELOW)
		return;
	far = work->pairs[work->top - FAR_BELOW].target;
	near = work->pairs[work->top - NEAR_BELOW].target;
	heap_prefetch(&work->numbers[far]);
	heap_prefetch(&snapshot->edge_first[far]);
	heap_prefetch(&snapshot->edge_target[snapshot->edge_first[near]]);
}

// @param before  the last number before this level's search
HEAP_MUST_CHECK
static struct heap_error *follow_stack(struct work *work, uint32_t before)
{
	while (work->top > 0) {
		union pair edge = work->pairs[work->top];
		uint32_t number = work->numbers[edge.target];

		look_ahead(work);
		work->top--;
		if (number) {
			if (number > before)
				HEAP_TRY(heap_edge_buckets_add(work->buckets, work->batch,
							       edge.from, number));
			continue;
		}
		number = visit(work, edge.target, edge.from);
		HEAP_TRY(push_edges(work, edge.target, number));
		HEAP_TRY(heap_progress_step(work->progress, "searching", number, work->nodes));
	}
	return NULL;
}

// Searches from a root by its edges [first, end) of one level.
HEAP_MUST_CHECK
static struct heap_error *search_root(struct work *work, uint64_t first, uint64_t end,
				      enum heap_root_level level)
{
	const struct heap_root_edge *edges = work->snapshot->root_edges;
	uint32_t number = 0;

	HEAP_TRY(widen_stack(work, end - first));
	for (uint64_t i = first; i < end; i++) {
		if (heap_root_edge_level(work->graph, &edges[i]) != level)
			continue;
		if (!number)
			number = visit(work, work->objects + edges[i].root, VIRTUAL_ROOT);
		push(work, number, edges[i].target);
	}
	return follow_stack(work, work->before[level]);
}

HEAP_MUST_CHECK
static struct heap_error *search(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;

	for (enum heap_root_level level = 0; level < HEAP_LEVELS; level++) {
		work->before[level] = work->visited;
		if (!heap_graph_has_level(work->graph, level))
			continue;
		// Root edges are sorted by root.
		for (uint64_t first = 0, end; first < snapshot->root_edge_count; first = end) {
			for (end = first + 1;
			     end < snapshot->root_edge_count &&
			     snapshot->root_edges[end].root == snapshot->root_edges[first].root;)
				end++;
			HEAP_TRY(search_root(work, first, end, level));
		}
	}
	return NULL;
}

// --- semidominators ----------------------------------------------------------

// Compresses the path from v up to the last linked ancestor (those after `last` are linked).
static uint32_t evaluate(union pair *links, uint32_t v, uint32_t last)
{
	uint32_t below = 0;

	if (v <= last)
		return v;
	// Going up, each node's ancestor becomes the node that it was reached from...
	while (links[v].ancestor > last) {
		uint32_t above = links[v].ancestor;

		links[v].ancestor = below;
		below = v;
		v = above;
	}
	// ...which is the path back down; all get the topmost ancestor.
	while (below) {
		uint32_t next = links[below].ancestor;

		if (links[v].label < links[below].label)
			links[below].label = links[v].label;
		links[below].ancestor = links[v].ancestor;
		v = below;
		below = next;
	}
	return links[v].label;
}

// Prefetches the beginnings of the paths up from some edges' sources, several steps of each: the
// further away an edge, the fewer of its steps have arrived. A link of a node that is not linked yet
// is an old entry of the stack, which does no harm.
static inline void prefetch_paths(const union pair *links, const uint32_t *from)
{
	for (int steps = 0; steps < STEPS; steps++) {
		uint32_t at = from[(steps - STEPS) * PREFETCH_DISTANCE];

		for (int i = 0; i < steps; i++)
			at = links[at].ancestor;
		heap_prefetch(&links[at]);
	}
}

// Finds the semidominators of a bucket's numbers, from the last one down.
HEAP_MUST_CHECK
static struct heap_error *find_in_bucket(struct work *work, uint32_t number,
					 const struct heap_sorted_edges *sorted)
{
	union pair *links = work->pairs;
	uint32_t start = number / BUCKET * BUCKET;
	uint32_t end = work->visited - start < BUCKET ? work->visited + 1 : start + BUCKET;

	for (number = end - 1; number >= start && number > VIRTUAL_ROOT; number--) {
		uint32_t best = work->parent[number];
		uint32_t first = sorted->first[number - start];

		for (uint32_t i = sorted->first[number - start + 1]; i > first; i--) {
			uint32_t candidate;

			if (i > STEPS * PREFETCH_DISTANCE)
				prefetch_paths(links, &sorted->from[i - 1]);
			candidate = evaluate(links, sorted->from[i - 1], number);
			if (candidate < best)
				best = candidate;
		}
		work->numbers[number] = best;
		links[number] = (union pair){ .ancestor = work->parent[number], .label = best };

		HEAP_TRY(heap_progress_step(work->progress, "dominators", work->visited - number,
					    work->visited));
	}
	return NULL;
}

// A bucket that another thread prepares while the one above is processed.
struct preparation {
	const struct work *work;
	uint32_t bucket;
	struct heap_sorted_edges sorted;
	struct heap_parallel_job job;
};

static void *prepare_bucket(void *context)
{
	struct preparation *preparation = context;
	uint32_t start = preparation->bucket * BUCKET;

	heap_column_populate(preparation->work->pairs + start, BUCKET * sizeof(union pair));
	heap_edge_buckets_sort(preparation->work->buckets, preparation->bucket,
			       &preparation->sorted);
	return NULL;
}

static void begin_preparing(struct preparation *preparation, uint32_t bucket)
{
	preparation->bucket = bucket;
	if (!heap_parallel_begin(&preparation->job, prepare_bucket, preparation))
		prepare_bucket(preparation);
}

static void preparation_deinit(struct preparation *preparation)
{
	heap_parallel_await(&preparation->job);
	heap_sorted_edges_deinit(&preparation->sorted);
}

HEAP_MUST_CHECK
static struct heap_error *find_semidominators(struct work *work)
{
	CLEANUP(preparation_deinit) struct preparation even = { .work = work };
	CLEANUP(preparation_deinit) struct preparation odd = { .work = work };
	struct preparation *ready = &even, *next = &odd;

	HEAP_TRY(heap_sorted_edges_init(&even.sorted, work->buckets));
	HEAP_TRY(heap_sorted_edges_init(&odd.sorted, work->buckets));
	begin_preparing(next, work->visited / BUCKET);
	for (uint32_t i = work->visited / BUCKET + 1; i > 0; i--) {
		struct preparation *prepared = next;

		next = ready;
		ready = prepared;
		heap_parallel_await(&ready->job);
		if (i > 1)
			begin_preparing(next, i - 2);
		HEAP_TRY(find_in_bucket(work, (i - 1) * BUCKET, &ready->sorted));
	}
	return NULL;
}

// --- dominators and sizes ----------------------------------------------------

static void find_dominators(struct work *work)
{
	const uint32_t *semi = work->numbers;
	uint32_t *idom = work->parent;

	for (uint32_t number = 1; number <= work->visited; number++) {
		while (idom[number] > semi[number])
			idom[number] = idom[idom[number]];
	}
}

// @param retained  has each node's own bytes
static void fill(struct work *work, heap_node_id *nearest, uint64_t *retained)
{
	enum heap_root_level level = HEAP_LEVELS - 1;

	memset(nearest, 0xff, work->nodes * sizeof(*nearest));
	work->node_of[VIRTUAL_ROOT] = 0;
	// Whatever a node dominates comes after it.
	for (uint32_t number = work->visited; number > 0; number--) {
		uint32_t node = work->node_of[number];
		uint32_t above = work->parent[number];

		if (number > PREFETCH_DISTANCE) {
			heap_prefetch(&retained[work->node_of[number - PREFETCH_DISTANCE]]);
			heap_prefetch(
				&retained[work->node_of[work->parent[number - PREFETCH_DISTANCE]]]);
		}
		nearest[node] = above == VIRTUAL_ROOT ? BY_ROOTS : work->node_of[above];
		if (above != VIRTUAL_ROOT)
			retained[work->node_of[above]] += retained[node];
		while (number <= work->before[level])
			level--;
		if (level != HEAP_LEVEL_VARIABLE && node < work->objects)
			work->levels[node] = (uint8_t)level;
	}
	for (uint32_t node = 0; node < work->nodes; node++) {
		if (nearest[node] == HEAP_NO_NODE)
			retained[node] = 0;
		else if (nearest[node] == BY_ROOTS)
			nearest[node] = HEAP_NO_NODE;
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_up(struct work *work)
{
	uint64_t *retained = &work->pairs->retained;

	HEAP_TRY(heap_progress_report(work->progress, "retained sizes", 0, 1));
	HEAP_TRY(heap_snapshot_read_sizes(work->snapshot, retained));
	memset(retained + work->objects, 0,
	       (size_t)(work->nodes - work->objects) * sizeof(*retained));
	fill(work, work->numbers, retained);
	return NULL;
}

// --- all of it ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *prepare(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	size_t numbers = (size_t)work->most + 1;

	HEAP_TRY(heap_column_create(numbers, sizeof(uint32_t), &work->numbers));
	HEAP_TRY(heap_column_create(numbers, sizeof(union pair), &work->pairs));
	work->capacity = numbers;
	HEAP_TRY(heap_column_create(numbers, sizeof(uint32_t), &work->parent));
	HEAP_TRY(heap_column_create(numbers, sizeof(uint32_t), &work->node_of));
	HEAP_TRY(heap_column_create((size_t)work->objects + 1, 1, &work->levels));
	HEAP_TRY(heap_edge_buckets_create(
		work->most + 1, (uint64_t)snapshot->edge_count + snapshot->root_edge_count,
		&work->buckets));
	work->batch = heap_edge_buckets_batch(work->buckets);
	return NULL;
}

// A stack that has outgrown what comes after it gives the room back.
HEAP_MUST_CHECK
static struct heap_error *narrow_stack(struct work *work)
{
	size_t numbers = (size_t)work->most + 1;

	if (work->capacity == numbers)
		return NULL;
	heap_column_destroy(work->pairs);
	work->pairs = NULL;
	return heap_column_create(numbers, sizeof(*work->pairs), &work->pairs);
}

// Another thread that touches the columns of the search first.
struct populating {
	const struct work *work;
	atomic_bool is_over;
	struct heap_parallel_job job;
};

static void populate_column(const struct populating *populating, const uint32_t *column)
{
	for (uint64_t first = 0; first < populating->work->most && !populating->is_over;
	     first += POPULATED)
		heap_column_populate(column + first, POPULATED * sizeof(*column));
}

static void *populate(void *context)
{
	const struct populating *populating = context;

	// The one that is accessed at random first.
	populate_column(populating, populating->work->numbers);
	populate_column(populating, populating->work->parent);
	populate_column(populating, populating->work->node_of);
	return NULL;
}

static void stop_populating(struct populating *populating)
{
	populating->is_over = true;
	heap_parallel_await(&populating->job);
}

HEAP_MUST_CHECK
static struct heap_error *number_nodes(struct work *work)
{
	CLEANUP(stop_populating) struct populating populating = { .work = work };

	if (work->most >= POPULATED)
		heap_parallel_begin(&populating.job, populate, &populating);
	HEAP_TRY(search(work));
	return heap_edge_buckets_finish(work->buckets);
}

HEAP_MUST_CHECK
static struct heap_error *compute(struct work *work)
{
	HEAP_TRY(prepare(work));
	HEAP_TRY(number_nodes(work));
	HEAP_TRY(narrow_stack(work));
	HEAP_TRY(find_semidominators(work));
	heap_edge_buckets_destroy(keep(work->buckets));
	HEAP_TRY(heap_progress_report(work->progress, "dominators", 1, 1));
	find_dominators(work);
	return add_up(work);
}

static void work_deinit(struct work *work)
{
	heap_edge_buckets_destroy(work->buckets);
	heap_column_destroy(work->numbers);
	heap_column_destroy(work->pairs);
	heap_column_destroy(work->parent);
	heap_column_destroy(work->node_of);
	heap_column_destroy(work->levels);
}

// Checks that numbers of nodes and edges fit into 32 bits.
HEAP_MUST_CHECK
static struct heap_error *check_numbers(const struct heap_snapshot *snapshot)
{
	uint64_t most = UINT32_MAX - 2;

	// A root may have two numbers.
	if (snapshot->object_count + UINT64_C(2) * snapshot->root_count > most)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "dominators: %" PRIu32 " objects and %" PRIu32
					 " roots are too many for 32 bits",
					 snapshot->object_count, snapshot->root_count);
	if (snapshot->edge_count > most || snapshot->root_edge_count > most - snapshot->edge_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "dominators: %" PRIu32 " pointers and %" PRIu64
					 " of roots are too many for 32 bits",
					 snapshot->edge_count, snapshot->root_edge_count);
	return NULL;
}

struct heap_error *heap_dominators_init(struct heap_dominators *result,
					const struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	__attribute__((cleanup(work_deinit))) struct work work = {
		.graph = graph,
		.snapshot = snapshot,
		.progress = graph->progress,
	};

	HEAP_TRY(check_numbers(snapshot));
	work.objects = snapshot->object_count;
	work.nodes = snapshot->object_count + snapshot->root_count;
	work.most = work.nodes + snapshot->root_count;
	HEAP_TRY(compute(&work));
	heap_column_rest(work.numbers);
	heap_column_rest(work.pairs);
	*result =
		(struct heap_dominators){ .objects = work.objects, .roots = snapshot->root_count };
	result->nearest = keep(work.numbers);
	result->retained = &keep(work.pairs)->retained;
	result->levels = keep(work.levels);
	return NULL;
}

// --- the side file -----------------------------------------------------------

static const char *side_name(bool is_conservative)
{
	return is_conservative ? "conservative.dominators" : "dominators";
}

// Checks what CRCs cannot: that all nodes are within bounds.
static bool are_nodes(const heap_node_id *nearest, size_t count)
{
	bool good = true;

	for (size_t i = 0; i < count; i++)
		good &= nearest[i] < count || nearest[i] == HEAP_NO_NODE;
	return good;
}

struct heap_error *heap_dominators_load(struct heap_dominators *result,
					const struct heap_snapshot *snapshot, size_t objects,
					bool is_conservative)
{
	size_t nodes = objects + snapshot->root_count;
	struct heap_side_file side = {
		.columns = { { NULL, nodes, sizeof(*result->nearest) },
			     { NULL, nodes, sizeof(*result->retained) },
			     { NULL, objects + 1, 1 } },
	};

	HEAP_TRY(heap_side_file_open(snapshot, side_name(is_conservative), 3, &side));
	if (!are_nodes(side.columns[0].values, nodes)) {
		heap_side_file_close(&side);
		return heap_error_create(HEAP_ERROR_FORMAT, "the kept dominators make no sense");
	}
	*result = (struct heap_dominators){
		.nearest = side.columns[0].values,
		.retained = side.columns[1].values,
		.levels = side.columns[2].values,
		.objects = objects,
		.roots = snapshot->root_count,
		.side = side,
	};
	return NULL;
}

struct heap_error *heap_dominators_store(const struct heap_dominators *dominators,
					 const struct heap_snapshot *snapshot, bool is_conservative)
{
	size_t nodes = dominators->objects + dominators->roots;
	const struct heap_side_column columns[] = {
		{ dominators->nearest, nodes, sizeof(*dominators->nearest) },
		{ dominators->retained, nodes, sizeof(*dominators->retained) },
		{ dominators->levels, dominators->objects + 1, 1 },
	};

	return heap_side_file_store(snapshot, side_name(is_conservative), columns, 3);
}

void heap_dominators_deinit(struct heap_dominators *dominators)
{
	if (dominators->side.mapping) {
		heap_side_file_close(&dominators->side);
		return;
	}
	heap_column_destroy((void *)(uintptr_t)dominators->nearest);
	heap_column_destroy((void *)(uintptr_t)dominators->retained);
	heap_column_destroy((void *)(uintptr_t)dominators->levels);
}
