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
 *     An edge from a lower number comes from an ancestor, whose own number is all that it
 *     has to say; it is not even put there.
 * (c) a bucket has the edges to 65,536 numbers in turn, so that they are written one after the
 *     other, and is sorted by number when its turn comes, in the cache.
 *
 * An edge is on the stack or in a bucket, so both share one array of little more entries than
 * there are edges: the stack grows up from its start, the buckets' chunks down from its end.
 */
#include "lib/dominators.h"

#include "lib/cleanup.h"
#include "lib/column.h"

#include <string.h>

enum {
	VIRTUAL_ROOT = 0,
	AHEAD = 12,     // nodes or edges before their turn that memory is asked for what they need
	BUCKET = 65536, // numbers
	CHUNK = 2048,   // entries, of which the first says where the chunk before is
};

// A node of the search tree in the forest of those that have been gone through.
struct link {
	uint32_t ancestor; // the way up, compressed
	uint32_t label;    // the best semi on that way
};

struct entry {
	uint32_t from; // number of the node that the edge leaves
	union {
		uint32_t target; // on the stack: the object
		uint32_t to;     // in a bucket: its number
		uint32_t next;   // at the start of a chunk: another chunk; 0: none
	};
};

// Edges to BUCKET numbers, from higher ones.
struct bucket {
	uint32_t chunk; // the last one's first entry; 0: none
	uint32_t used;  // entries of that chunk
	uint32_t count; // edges in all chunks
};

struct work {
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	uint32_t objects, nodes, entry_count;
	uint32_t *number_of;    // [nodes + 1] number of a node; 0: not met
	uint32_t *node_of;      // [nodes + 1] node of a number
	uint32_t *parent;       // [nodes + 1] in the search tree; later idom
	uint32_t *semi;         // [nodes + 1] by number, as all below
	struct link *links;     // [nodes + 1]
	struct entry *entries;  // [entry_count] 0 is unused
	struct bucket *buckets; // [nodes / BUCKET + 1]
	uint32_t top;           // of the stack: its last entry
	uint32_t bottom;        // of the buckets: the first entry of their last chunk
	uint32_t met;
};

static inline void prefetch(const void *address)
{
	__builtin_prefetch(address, 0, 1);
}

// --- depth-first search ------------------------------------------------------

static uint32_t meet(struct work *work, uint32_t node, uint32_t parent)
{
	uint32_t number = ++work->met;

	work->number_of[node] = number;
	work->node_of[number] = node;
	work->parent[number] = parent;
	work->semi[number] = parent;
	return number;
}

static void push(struct work *work, uint32_t from, heap_object_id target)
{
	prefetch(&work->number_of[target]);
	prefetch(&work->snapshot->edge_first[target]);
	work->entries[++work->top] = (struct entry){ .from = from, .target = target };
}

// The last one pushed is followed first: from the last edge on, the first.
static void push_edges(struct work *work, heap_object_id object, uint32_t number)
{
	const struct heap_snapshot *snapshot = work->snapshot;

	for (uint32_t i = snapshot->edge_first[object + 1]; i > snapshot->edge_first[object]; i--)
		push(work, number, snapshot->edge_target[i - 1]);
}

// An edge to a node that has been met.
static void note_edge(struct work *work, uint32_t from, uint32_t to)
{
	struct bucket *bucket = &work->buckets[to / BUCKET];

	if (from < to && from < work->semi[to])
		work->semi[to] = from;
	if (from <= to)
		return;
	if (bucket->used == 0 || bucket->used == CHUNK) {
		work->bottom -= CHUNK;
		work->entries[work->bottom].next = bucket->chunk;
		bucket->chunk = work->bottom;
		bucket->used = 1;
	}
	work->entries[bucket->chunk + bucket->used++] = (struct entry){ .from = from, .to = to };
	bucket->count++;
}

// The entry below the top has been on its way to the cache for a while: now its edges.
static void look_ahead(const struct work *work)
{
	if (work->top > 2) {
		heap_object_id next = work->entries[work->top - 1].target;

		prefetch(&work->snapshot->edge_target[work->snapshot->edge_first[next]]);
	}
}

HEAP_MUST_CHECK
static struct heap_error *follow_stack(struct work *work)
{
	while (work->top > 0) {
		struct entry entry = work->entries[work->top];
		uint32_t number = work->number_of[entry.target];

		look_ahead(work);
		work->top--;
		if (number) {
			note_edge(work, entry.from, number);
			continue;
		}
		number = meet(work, entry.target, entry.from);
		push_edges(work, entry.target, number);

		struct heap_error *error =
			heap_progress_step(work->progress, "searching", number, work->nodes);

		if (error)
			return error;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *search(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint64_t edge = 0;

	work->bottom = work->entry_count;
	for (uint32_t root = 0; root < snapshot->root_count; root++) {
		uint32_t number = meet(work, work->objects + root, VIRTUAL_ROOT);

		// Root edges stand by root.
		for (; edge < snapshot->root_edge_count && snapshot->root_edges[edge].root == root;
		     edge++)
			push(work, number, snapshot->root_edges[edge].target);

		struct heap_error *error = follow_stack(work);

		if (error)
			return error;
	}
	return NULL;
}

// --- semidominators ----------------------------------------------------------

// Compresses the way from v up to the last linked ancestor (those after `last` are linked).
static uint32_t evaluate(struct link *links, uint32_t v, uint32_t last)
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

static void sort_bucket(const struct work *work, const struct bucket *bucket, struct sorted *sorted)
{
	const struct entry *entries = work->entries;
	uint32_t used = bucket->used;

	memset(sorted->first, 0, sizeof(sorted->first));
	for (uint32_t chunk = bucket->chunk; chunk; chunk = entries[chunk].next, used = CHUNK) {
		for (uint32_t i = 1; i < used; i++)
			sorted->first[entries[chunk + i].to % BUCKET + 1]++;
	}
	for (uint32_t i = 0; i < BUCKET; i++)
		sorted->first[i + 1] += sorted->first[i];
	used = bucket->used;
	// From their ends: then they begin where they end now.
	for (uint32_t chunk = bucket->chunk; chunk; chunk = entries[chunk].next, used = CHUNK) {
		for (uint32_t i = 1; i < used; i++)
			sorted->from[--sorted->first[entries[chunk + i].to % BUCKET + 1]] =
				entries[chunk + i].from;
	}
	memmove(sorted->first, sorted->first + 1, BUCKET * sizeof(*sorted->first));
	sorted->first[BUCKET] = bucket->count;
}

// Of the numbers of a bucket, from the last one down.
HEAP_MUST_CHECK
static struct heap_error *find_in_bucket(struct work *work, uint32_t number,
					 const struct sorted *sorted)
{
	struct link *links = work->links;
	uint32_t start = number / BUCKET * BUCKET;
	uint32_t end = work->met - start < BUCKET ? work->met + 1 : start + BUCKET;

	for (number = end - 1; number >= start && number > VIRTUAL_ROOT; number--) {
		uint32_t best = work->semi[number];
		uint32_t first = sorted->first[number - start];

		for (uint32_t i = sorted->first[number - start + 1]; i > first; i--) {
			uint32_t candidate;

			if (i > 2 * AHEAD)
				prefetch(&links[sorted->from[i - 1 - 2 * AHEAD]]);
			candidate = evaluate(links, sorted->from[i - 1], number);
			if (candidate < best)
				best = candidate;
		}
		work->semi[number] = best;
		links[number] = (struct link){ .ancestor = work->parent[number], .label = best };

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
	uint32_t *idom = work->parent;

	for (uint32_t number = 1; number <= work->met; number++) {
		while (idom[number] > work->semi[number])
			idom[number] = idom[idom[number]];
	}
}

static void fill(const struct work *work, heap_node_id *nearest, uint64_t *retained)
{
	memset(nearest, 0xff, work->nodes * sizeof(*nearest));
	// Whatever a node dominates comes after it.
	for (uint32_t number = work->met; number > 0; number--) {
		uint32_t node = work->node_of[number];
		uint32_t above = work->parent[number];

		if (number > AHEAD) {
			prefetch(&retained[work->node_of[number - AHEAD]]);
			prefetch(&retained[work->node_of[work->parent[number - AHEAD]]]);
		}
		if (node < work->objects)
			retained[node] += work->snapshot->size[node];
		if (above != VIRTUAL_ROOT) {
			nearest[node] = work->node_of[above];
			retained[work->node_of[above]] += retained[node];
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *make_result(struct work *work, heap_node_id *nearest,
				      struct heap_dominators *result)
{
	uint64_t *retained;
	struct heap_error *error =
		heap_column_create((size_t)work->nodes + 1, sizeof(*retained), &retained);

	if (error)
		return error;
	work->node_of[VIRTUAL_ROOT] = 0;
	fill(work, nearest, retained);
	*result = (struct heap_dominators){
		.nearest = nearest,
		.retained = retained,
		.objects = work->objects,
		.roots = work->snapshot->root_count,
	};
	return NULL;
}

// The last passes need neither the numbers of nodes nor links and edges: the former's memory
// becomes a result, the latter's is given back first. Only then sizes are asked for.
HEAP_MUST_CHECK
static struct heap_error *compute(struct work *work, struct heap_snapshot *snapshot,
				  struct heap_dominators *result)
{
	size_t nodes = (size_t)work->nodes + 1;
	CLEANUP_COLUMN uint32_t *number_of = NULL;
	CLEANUP_COLUMN uint32_t *node_of = NULL;
	CLEANUP_COLUMN uint32_t *parent = NULL;
	CLEANUP_COLUMN uint32_t *semi = NULL;
	CLEANUP_COLUMN struct link *links = NULL;
	CLEANUP_COLUMN struct entry *entries = NULL;
	CLEANUP_FREE struct bucket *buckets = calloc(nodes / BUCKET + 1, sizeof(*buckets));
	struct heap_error *error = heap_column_create(nodes, sizeof(*number_of), &number_of);

	if (!error)
		error = heap_column_create(nodes, sizeof(*links), &links);
	if (!error)
		error = heap_column_create(nodes, sizeof(*semi), &semi);
	if (!error)
		error = heap_column_create(work->entry_count, sizeof(*entries), &entries);
	if (!error)
		error = heap_column_create(nodes, sizeof(*parent), &parent);
	if (!error)
		error = heap_column_create(nodes, sizeof(*node_of), &node_of);
	if (!error && !buckets)
		error = heap_error_out_of_memory();
	if (error)
		return error;
	work->buckets = buckets;
	work->number_of = number_of;
	work->node_of = node_of;
	work->parent = parent;
	work->semi = semi;
	work->links = links;
	work->entries = entries;
	error = search(work);
	if (!error)
		error = find_semidominators(work);
	if (!error)
		error = heap_progress_report(work->progress, "dominators", 1, 1);
	if (error)
		return error;
	find_dominators(work);
	error = heap_progress_report(work->progress, "retained sizes", 0, 1);
	if (error)
		return error;
	heap_column_destroy(keep(entries));
	heap_column_destroy(keep(links));
	error = heap_snapshot_load(snapshot, HEAP_COLUMN_SIZE);
	if (!error)
		error = make_result(work, number_of, result);
	if (!error)
		keep(number_of);
	return error;
}

struct heap_error *heap_dominators_init(struct heap_dominators *result,
					const struct heap_graph *graph)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	struct work work = { .snapshot = snapshot, .progress = graph->progress };
	uint64_t edges = (uint64_t)snapshot->edge_count + snapshot->root_edge_count;

	if (snapshot->root_count > UINT32_MAX - 2 - snapshot->object_count)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many objects and roots");
	work.objects = snapshot->object_count;
	work.nodes = snapshot->object_count + snapshot->root_count;
	// The last chunk of each bucket may have room for more.
	edges += edges / (CHUNK - 1) + ((uint64_t)work.nodes / BUCKET + 2) * CHUNK;
	if (edges > UINT32_MAX - 2)
		return heap_error_create(HEAP_ERROR_ARGUMENT, "too many pointers");
	work.entry_count = (uint32_t)edges + 2;
	return compute(&work, graph->snapshot, result);
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
