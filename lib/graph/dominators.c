// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Semi-NCA. Nodes are numbered in the order in which a depth-first search meets them
 * ("number" below, the virtual root is 0), and all arrays are indexed by that number, so
 * that the passes, which go through it from the end or from the beginning, go through
 * memory in order too.
 *
 *	semi[w]   smallest v with a path v → … → w whose inner nodes all come after w
 *	idom[w]   nearest ancestor of w in the tree, from its parent up, that is ≤ semi[w]
 *
 * semi is found backwards, with path compression as in Lengauer and Tarjan's simple
 * algorithm; idom forwards, by climbing. Nothing recurses: lists are millions long.
 *
 * What costs time is to wait for memory, once per edge: has its target been met? So
 *
 * (a) the search puts all edges of a node on its stack when it meets the node, and asks for
 *     what it will want to know of their targets then, long before they are taken off. The
 *     tree is a depth-first one still: whoever is taken off first is the parent.
 * (b) both ends of an edge have their numbers when it is taken off. No reverse edges of the
 *     graph are needed: an edge to a node that has been met is put into that node's bucket.
 * (c) a bucket has the edges to 65,536 numbers in turn, so that they are written one after the
 *     other, and is sorted by number when its turn comes, in the cache.
 *
 * What has to be memory, and not a file, is what is looked up at random. That is little at a
 * time, so two columns serve one purpose after the other:
 *
 *	                search       semidominators   dominators   sizes
 *	numbers         number_of    semi             semi         nearest
 *	pairs           stack        links                         retained
 *	parent          in order     in order         idom         in order
 *	node_of         in order                                   in order, mostly
 *	buckets         in order     in order
 *
 * They are made in this order. What is no longer within the budget of memory (lib/base/column.h) is
 * written once then, and read once.
 */
#include "lib/graph/dominators.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/offsets.h"

#include <string.h>

enum {
	VIRTUAL_ROOT = 0,
	AHEAD = 12,     // nodes or edges before their turn that memory is asked for what they need
	STEPS = 4,      // of a way up that are asked for
	BUCKET = 65536, // numbers
	CHUNK = 2730,   // edges, which are 16 KiB
	SEGMENT = 1024, // chunks that memory is asked for at a time
	FAR_BELOW = 8,  // the top of the stack
	NEAR_BELOW = 3,
};

#define NO_CHUNK UINT32_MAX
#define BY_ROOTS (HEAP_NO_NODE - 1) // nearest, while nothing is known of others

union pair {
	struct {
		uint32_t from; // on the stack: number of the node that an edge leaves
		heap_object_id target;
	};
	struct { // of a node of the search tree, in the forest of those that have been gone through
		uint32_t ancestor; // the way up, compressed
		uint32_t label;    // the best semi on that way
	};
	uint64_t retained;
};

// Edges to nodes of one bucket.
struct chunk {
	uint32_t next; // the one that was filled before, or NO_CHUNK
	uint32_t from[CHUNK];
	uint16_t to[CHUNK]; // number in its bucket
};

// Edges to BUCKET numbers.
struct bucket {
	uint32_t chunk; // the one that is being filled, or NO_CHUNK
	uint32_t used;  // edges in it
	uint32_t count; // edges in all chunks
};

struct work {
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	uint32_t objects, nodes;
	uint32_t *numbers;       // [nodes + 1] number of a node; 0: not met. Then semi, by number
	union pair *pairs;       // [capacity] the stack from 1 on. Then links, by number
	uint32_t *parent;        // [nodes + 1] in the search tree, by number; later idom
	uint32_t *node_of;       // [nodes + 1] node of a number
	struct bucket *buckets;  // [nodes / BUCKET + 1]
	struct chunk **segments; // [segment_count] of segment_size; NULL: not made yet
	size_t capacity, segment_count;
	uint32_t segment_size, chunk_count;
	uint32_t top; // of the stack: its last entry
	uint32_t met;
};

// A function that does nothing but prefetch has no effect, as gcc sees it, and is not called.
#define ALWAYS_INLINED __attribute__((always_inline))

static inline void prefetch(const void *address)
{
	__builtin_prefetch(address, 0, 1);
}

// --- depth-first search ------------------------------------------------------

static uint32_t meet(struct work *work, uint32_t node, uint32_t parent)
{
	uint32_t number = ++work->met;

	work->numbers[node] = number;
	work->node_of[number] = node;
	work->parent[number] = parent;
	return number;
}

// Makes room for so many more edges.
HEAP_MUST_CHECK
static struct heap_error *widen_stack(struct work *work, size_t more)
{
	size_t capacity = (work->top + more + 1) * 2;
	struct heap_error *error;

	if (work->top + more < work->capacity)
		return NULL;
	error = heap_column_resize(capacity * sizeof(*work->pairs), &work->pairs);
	if (!error)
		work->capacity = capacity;
	return error;
}

static void push(struct work *work, uint32_t from, heap_object_id target)
{
	prefetch(&work->numbers[target]);
	prefetch(&work->snapshot->edge_first[target]);
	work->pairs[++work->top] = (union pair){ .from = from, .target = target };
}

// The last one pushed is followed first: from the last edge on, the first.
HEAP_MUST_CHECK
static struct heap_error *push_edges(struct work *work, heap_object_id object, uint32_t number)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	struct heap_error *error = widen_stack(work, end - first);

	for (uint32_t i = end; !error && i > first; i--)
		push(work, number, snapshot->edge_target[i - 1]);
	return error;
}

static struct chunk *get_chunk(const struct work *work, uint32_t chunk)
{
	return &work->segments[chunk / work->segment_size][chunk % work->segment_size];
}

HEAP_MUST_CHECK
static struct heap_error *add_chunk(struct work *work, struct bucket *bucket)
{
	uint32_t segment = work->chunk_count / work->segment_size;
	struct heap_error *error = NULL;

	if (!work->segments[segment])
		error = heap_column_create(work->segment_size, sizeof(**work->segments),
					   &work->segments[segment]);
	if (error)
		return error;
	get_chunk(work, work->chunk_count)->next = bucket->chunk;
	bucket->chunk = work->chunk_count++;
	bucket->used = 0;
	return NULL;
}

// An edge to a node that has been met.
HEAP_MUST_CHECK
static struct heap_error *note_edge(struct work *work, uint32_t from, uint32_t to)
{
	struct bucket *bucket = &work->buckets[to / BUCKET];
	struct chunk *chunk;

	if (bucket->chunk == NO_CHUNK || bucket->used == CHUNK) {
		struct heap_error *error = add_chunk(work, bucket);

		if (error)
			return error;
	}
	chunk = get_chunk(work, bucket->chunk);
	chunk->from[bucket->used] = from;
	chunk->to[bucket->used++] = (uint16_t)(to % BUCKET);
	bucket->count++;
	return NULL;
}

// What was asked for when an edge was pushed may be gone from the cache until its turn comes: so
// again, a few turns before; and, when that is there, the target's own edges.
static inline ALWAYS_INLINED void look_ahead(const struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	heap_object_id far, near;

	if (work->top <= FAR_BELOW)
		return;
	far = work->pairs[work->top - FAR_BELOW].target;
	near = work->pairs[work->top - NEAR_BELOW].target;
	prefetch(&work->numbers[far]);
	prefetch(&snapshot->edge_first[far]);
	prefetch(&snapshot->edge_target[snapshot->edge_first[near]]);
}

HEAP_MUST_CHECK
static struct heap_error *follow_stack(struct work *work)
{
	while (work->top > 0) {
		union pair edge = work->pairs[work->top];
		uint32_t number = work->numbers[edge.target];
		struct heap_error *error;

		look_ahead(work);
		work->top--;
		if (number) {
			error = note_edge(work, edge.from, number);
			if (error)
				return error;
			continue;
		}
		number = meet(work, edge.target, edge.from);
		error = push_edges(work, edge.target, number);
		if (!error)
			error = heap_progress_step(work->progress, "searching", number,
						   work->nodes);
		if (error)
			return error;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *search(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint64_t first = 0, end;

	for (uint32_t root = 0; root < snapshot->root_count; root++, first = end) {
		uint32_t number = meet(work, work->objects + root, VIRTUAL_ROOT);
		struct heap_error *error;

		// Root edges stand by root.
		end = first;
		while (end < snapshot->root_edge_count && snapshot->root_edges[end].root == root)
			end++;
		error = widen_stack(work, end - first);
		for (uint64_t i = first; !error && i < end; i++)
			push(work, number, snapshot->root_edges[i].target);
		if (!error)
			error = follow_stack(work);
		if (error)
			return error;
	}
	return NULL;
}

// --- semidominators ----------------------------------------------------------

// Compresses the way from v up to the last linked ancestor (those after `last` are linked).
static uint32_t evaluate(union pair *links, uint32_t v, uint32_t last)
{
	uint32_t below = 0;

	if (v <= last)
		return v;
	// Going up, each node's ancestor is made to be the one that it was reached from...
	while (links[v].ancestor > last) {
		uint32_t above = links[v].ancestor;

		links[v].ancestor = below;
		below = v;
		v = above;
	}
	// ...which is the way back down; all get the topmost one's.
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

// A bucket's edges by the number that they lead to.
struct sorted {
	uint32_t first[BUCKET + 1]; // in from
	uint32_t *from;             // [as many as the largest bucket has]
};

static void count_edges(const struct work *work, const struct bucket *bucket, uint32_t *first)
{
	uint32_t used = bucket->used;

	for (uint32_t i = bucket->chunk; i != NO_CHUNK; used = CHUNK) {
		const struct chunk *chunk = get_chunk(work, i);

		for (uint32_t j = 0; j < used; j++)
			first[chunk->to[j] + 1]++;
		i = chunk->next;
	}
}

static void sort_bucket(const struct work *work, const struct bucket *bucket, struct sorted *sorted)
{
	uint32_t used = bucket->used;

	memset(sorted->first, 0, sizeof(sorted->first));
	count_edges(work, bucket, sorted->first);
	heap_offsets_from_counts(sorted->first, BUCKET);
	// From their ends: then they begin where they end now.
	for (uint32_t i = bucket->chunk; i != NO_CHUNK; used = CHUNK) {
		const struct chunk *chunk = get_chunk(work, i);

		for (uint32_t j = 0; j < used; j++)
			sorted->from[--sorted->first[chunk->to[j] + 1]] = chunk->from[j];
		i = chunk->next;
	}
	memmove(sorted->first, sorted->first + 1, BUCKET * sizeof(*sorted->first));
	sorted->first[BUCKET] = bucket->count;
}

// Asks for what the ways up from some edges' ends begin with, several steps of each: the further
// ahead an edge is, the fewer of them are here already. What is not linked has old numbers of the
// stack there, which do no harm.
static inline ALWAYS_INLINED void ask_ahead(const union pair *links, const uint32_t *from)
{
	for (int steps = 0; steps < STEPS; steps++) {
		uint32_t at = from[(steps - STEPS) * AHEAD];

		for (int i = 0; i < steps; i++)
			at = links[at].ancestor;
		prefetch(&links[at]);
	}
}

// Of the numbers of a bucket, from the last one down.
HEAP_MUST_CHECK
static struct heap_error *find_in_bucket(struct work *work, uint32_t number,
					 const struct sorted *sorted)
{
	union pair *links = work->pairs;
	uint32_t start = number / BUCKET * BUCKET;
	uint32_t end = work->met - start < BUCKET ? work->met + 1 : start + BUCKET;

	for (number = end - 1; number >= start && number > VIRTUAL_ROOT; number--) {
		uint32_t best = work->parent[number];
		uint32_t first = sorted->first[number - start];

		for (uint32_t i = sorted->first[number - start + 1]; i > first; i--) {
			uint32_t candidate;

			if (i > STEPS * AHEAD)
				ask_ahead(links, &sorted->from[i - 1]);
			candidate = evaluate(links, sorted->from[i - 1], number);
			if (candidate < best)
				best = candidate;
		}
		work->numbers[number] = best;
		links[number] = (union pair){ .ancestor = work->parent[number], .label = best };

		struct heap_error *error = heap_progress_step(work->progress, "dominators",
							      work->met - number, work->met);

		if (error)
			return error;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_semidominators(struct work *work)
{
	CLEANUP_FREE struct sorted *sorted = malloc(sizeof(*sorted));
	CLEANUP_COLUMN uint32_t *from = NULL;
	uint32_t last = work->met / BUCKET, largest = 0;
	struct heap_error *error;

	if (!sorted)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i <= last; i++)
		largest = work->buckets[i].count > largest ? work->buckets[i].count : largest;
	error = heap_column_create((size_t)largest + 1, sizeof(*from), &from);
	sorted->from = from;
	for (uint32_t i = last + 1; !error && i > 0; i--) {
		sort_bucket(work, &work->buckets[i - 1], sorted);
		error = find_in_bucket(work, (i - 1) * BUCKET, sorted);
	}
	return error;
}

// --- dominators and sizes ----------------------------------------------------

static void find_dominators(struct work *work)
{
	const uint32_t *semi = work->numbers;
	uint32_t *idom = work->parent;

	for (uint32_t number = 1; number <= work->met; number++) {
		while (idom[number] > semi[number])
			idom[number] = idom[idom[number]];
	}
}

// @param retained  has each node's own bytes
static void fill(struct work *work, heap_node_id *nearest, uint64_t *retained)
{
	memset(nearest, 0xff, work->nodes * sizeof(*nearest));
	work->node_of[VIRTUAL_ROOT] = 0;
	// Whatever a node dominates comes after it.
	for (uint32_t number = work->met; number > 0; number--) {
		uint32_t node = work->node_of[number];
		uint32_t above = work->parent[number];

		if (number > AHEAD) {
			prefetch(&retained[work->node_of[number - AHEAD]]);
			prefetch(&retained[work->node_of[work->parent[number - AHEAD]]]);
		}
		nearest[node] = above == VIRTUAL_ROOT ? BY_ROOTS : work->node_of[above];
		if (above != VIRTUAL_ROOT)
			retained[work->node_of[above]] += retained[node];
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
	struct heap_error *error = heap_progress_report(work->progress, "retained sizes", 0, 1);

	if (!error)
		error = heap_snapshot_read_sizes(work->snapshot, retained);
	if (error)
		return error;
	memset(retained + work->objects, 0,
	       (size_t)(work->nodes - work->objects) * sizeof(*retained));
	fill(work, work->numbers, retained);
	return NULL;
}

// --- all of it ---------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *prepare_buckets(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	size_t buckets = work->nodes / BUCKET + (size_t)1;
	// The last chunk of each bucket may have room for more.
	uint64_t chunks =
		((uint64_t)snapshot->edge_count + snapshot->root_edge_count) / CHUNK + buckets;

	work->segment_size = chunks < SEGMENT ? (uint32_t)chunks : SEGMENT;
	work->segment_count = chunks / work->segment_size + 1;
	work->segments = calloc(work->segment_count, sizeof(struct chunk *));
	work->buckets = calloc(buckets, sizeof(*work->buckets));
	if (!work->segments || !work->buckets)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < buckets; i++)
		work->buckets[i].chunk = NO_CHUNK;
	return NULL;
}

static void free_buckets(struct work *work)
{
	for (size_t i = 0; work->segments && i < work->segment_count; i++)
		heap_column_destroy(work->segments[i]);
	free(work->segments);
	free(work->buckets);
	work->segments = NULL;
	work->buckets = NULL;
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct work *work)
{
	size_t nodes = (size_t)work->nodes + 1;
	struct heap_error *error = heap_column_create(nodes, sizeof(uint32_t), &work->numbers);

	work->capacity = nodes;
	if (!error)
		error = heap_column_create(nodes, sizeof(union pair), &work->pairs);
	if (!error)
		error = heap_column_create(nodes, sizeof(uint32_t), &work->parent);
	if (!error)
		error = heap_column_create(nodes, sizeof(uint32_t), &work->node_of);
	return error ? error : prepare_buckets(work);
}

// A stack that has needed more room than what comes after it gives it back.
HEAP_MUST_CHECK
static struct heap_error *narrow_stack(struct work *work)
{
	size_t nodes = (size_t)work->nodes + 1;

	if (work->capacity == nodes)
		return NULL;
	heap_column_destroy(work->pairs);
	work->pairs = NULL;
	return heap_column_create(nodes, sizeof(*work->pairs), &work->pairs);
}

HEAP_MUST_CHECK
static struct heap_error *compute(struct work *work)
{
	struct heap_error *error = prepare(work);

	if (!error)
		error = search(work);
	if (!error)
		error = narrow_stack(work);
	if (!error)
		error = find_semidominators(work);
	free_buckets(work);
	if (!error)
		error = heap_progress_report(work->progress, "dominators", 1, 1);
	if (error)
		return error;
	find_dominators(work);
	return add_up(work);
}

struct heap_error *heap_dominators_init(struct heap_dominators *result,
					const struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct work work = { .snapshot = snapshot, .progress = graph->progress };
	struct heap_error *error;

	if (snapshot->root_count > UINT32_MAX - 2 - snapshot->object_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many objects and roots");
	if (snapshot->root_edge_count > UINT32_MAX - 2 - snapshot->edge_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many pointers");
	work.objects = snapshot->object_count;
	work.nodes = snapshot->object_count + snapshot->root_count;
	error = compute(&work);
	heap_column_destroy(work.parent);
	heap_column_destroy(work.node_of);
	if (error) {
		heap_column_destroy(work.numbers);
		heap_column_destroy(work.pairs);
		return error;
	}
	heap_column_rest(work.numbers);
	heap_column_rest(work.pairs);
	*result = (struct heap_dominators){
		.nearest = work.numbers,
		.retained = &work.pairs->retained,
		.objects = work.objects,
		.roots = snapshot->root_count,
	};
	return NULL;
}

// --- the side file -----------------------------------------------------------

static const char side_name[] = "dominators";

// What its CRCs cannot say: whether all that is in it is within bounds.
static bool are_nodes(const heap_node_id *nearest, size_t count)
{
	bool good = true;

	for (size_t i = 0; i < count; i++)
		good &= nearest[i] < count || nearest[i] == HEAP_NO_NODE;
	return good;
}

struct heap_error *heap_dominators_load(struct heap_dominators *result,
					const struct heap_snapshot *snapshot)
{
	size_t nodes = (size_t)snapshot->object_count + snapshot->root_count;
	struct heap_side_file side = { .columns = { { NULL, nodes, sizeof(*result->nearest) },
						    { NULL, nodes, sizeof(*result->retained) } } };
	struct heap_error *error = heap_side_file_open(snapshot, side_name, 2, &side);

	if (error)
		return error;
	if (!are_nodes(side.columns[0].values, nodes)) {
		heap_side_file_close(&side);
		return heap_error_create(HEAP_ERROR_FORMAT, "the kept dominators make no sense");
	}
	*result = (struct heap_dominators){
		.nearest = side.columns[0].values,
		.retained = side.columns[1].values,
		.objects = snapshot->object_count,
		.roots = snapshot->root_count,
		.side = side,
	};
	return NULL;
}

struct heap_error *heap_dominators_store(const struct heap_dominators *dominators,
					 const struct heap_snapshot *snapshot)
{
	size_t nodes = dominators->objects + dominators->roots;
	const struct heap_side_column columns[] = {
		{ dominators->nearest, nodes, sizeof(*dominators->nearest) },
		{ dominators->retained, nodes, sizeof(*dominators->retained) },
	};

	return heap_side_file_store(snapshot, side_name, columns, 2);
}

void heap_dominators_deinit(struct heap_dominators *dominators)
{
	if (dominators->side.mapping) {
		heap_side_file_close(&dominators->side);
		return;
	}
	heap_column_destroy((void *)(uintptr_t)dominators->nearest);
	heap_column_destroy((void *)(uintptr_t)dominators->retained);
}
