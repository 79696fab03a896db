// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Three searches over the leaked objects, each of those that the ones before left unvisited:
 *
 * (a) from objects that no other leaked object points to: these are direct leaks;
 * (b) all that is left is reachable from cycles alone. A depth-first search over it, by ascending
 *     address, notes the order in which it leaves objects. In the reverse of that order, the first
 *     object that is not visited yet belongs to a cycle that no other cycle leads to (as in
 *     Kosaraju's algorithm; Sharir, "A strong-connectivity algorithm and its applications in data
 *     flow analysis", 1981);
 * (c) against the pointers, from that object: what is not visited yet is its cycle. The largest object
 *     of one known type stands for it, so that cycles alike are told by the same of their objects, wherever
 *     they lie, and by their owners rather than by what these own.
 */
#include "lib/graph/leaks.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"

#include <stdlib.h>

enum {
	NOT_YET = HEAP_LEAK_CLASSES, // leaked, of no class so far
};

struct work {
	const struct heap_snapshot *snapshot;
	struct heap_snapshot *loaded; // the same, for columns that only cycles need
	uint8_t *class_of;
	heap_object_id *leader;
	heap_object_id *stack; // [objects]
};

// Makes `start` the leader of all objects that it leads to and that have no class yet.
static void mark_reachable(struct work *work, heap_object_id start, enum heap_leak_class first,
			   enum heap_leak_class others)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	size_t top = 0;

	work->class_of[start] = (uint8_t)first;
	work->leader[start] = start;
	work->stack[top++] = start;
	while (top > 0) {
		heap_object_id object = work->stack[--top];

		for (uint32_t i = snapshot->edge_first[object];
		     i < snapshot->edge_first[object + 1]; i++) {
			heap_object_id target = snapshot->edge_target[i];

			if (work->class_of[target] != NOT_YET)
				continue;
			work->class_of[target] = (uint8_t)others;
			work->leader[target] = start;
			work->stack[top++] = target;
		}
	}
}

static void take_suppressed(struct work *work, heap_leak_suppressor *suppress, void *context)
{
	for (heap_object_id i = 0; suppress && i < work->snapshot->object_count; i++) {
		if (work->class_of[i] == NOT_YET && suppress(context, i))
			mark_reachable(work, i, HEAP_LEAK_SUPPRESSED, HEAP_LEAK_SUPPRESSED);
	}
}

// --- (a) ---------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *take_direct(struct work *work)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	CLEANUP_COLUMN uint8_t *pointed = NULL;

	HEAP_TRY(heap_column_create((size_t)snapshot->object_count / 8 + 1, 1, &pointed));
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (work->class_of[i] != NOT_YET)
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (snapshot->edge_target[j] != i)
				heap_bit_set(pointed, snapshot->edge_target[j]);
		}
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (work->class_of[i] == NOT_YET && !heap_bit_get(pointed, i))
			mark_reachable(work, i, HEAP_LEAK_DIRECT, HEAP_LEAK_INDIRECT);
	}
	return NULL;
}

// --- (b) ---------------------------------------------------------------------

struct leaving {
	const struct work *work;
	uint8_t *visited;      // a bit per object
	uint32_t *next;        // [depth] edge that the search follows next
	heap_object_id *order; // [objects] in the order in which the search left them
	size_t left;
};

static void leave_in_order(struct leaving *leaving, heap_object_id start)
{
	const struct heap_snapshot *snapshot = leaving->work->snapshot;
	heap_object_id *path = leaving->work->stack;
	size_t depth = 0;

	heap_bit_set(leaving->visited, start);
	path[depth] = start;
	leaving->next[depth++] = snapshot->edge_first[start];
	while (depth > 0) {
		heap_object_id object = path[depth - 1], target;

		if (leaving->next[depth - 1] == snapshot->edge_first[object + 1]) {
			leaving->order[leaving->left++] = object;
			depth--;
			continue;
		}
		target = snapshot->edge_target[leaving->next[depth - 1]++];
		if (leaving->work->class_of[target] != NOT_YET ||
		    heap_bit_get(leaving->visited, target))
			continue;
		heap_bit_set(leaving->visited, target);
		path[depth] = target;
		leaving->next[depth++] = snapshot->edge_first[target];
	}
}

// --- (c) ---------------------------------------------------------------------

// The pointers between objects without a class, by their targets.
struct reverse {
	uint64_t *
		end; // [objects + 1] in sources: of the pointers to each object, and those before it
	heap_object_id *source; // [number of pointers]
	uint8_t *visited;       // a bit per object
};

static void reverse_deinit(struct reverse *reverse)
{
	heap_column_destroy(reverse->end);
	heap_column_destroy(reverse->source);
	heap_column_destroy(reverse->visited);
}

typedef void edge_visitor(struct reverse *reverse, heap_object_id source, heap_object_id target);

static void count_edge(struct reverse *reverse, heap_object_id source, heap_object_id target)
{
	(void)source;
	reverse->end[target + 1]++;
}

static void put_edge(struct reverse *reverse, heap_object_id source, heap_object_id target)
{
	reverse->source[reverse->end[target]++] = source;
}

static void visit_edges(const struct work *work, edge_visitor *visit, struct reverse *reverse)
{
	const struct heap_snapshot *snapshot = work->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (work->class_of[i] != NOT_YET)
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (work->class_of[snapshot->edge_target[j]] == NOT_YET)
				visit(reverse, i, snapshot->edge_target[j]);
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *reverse_init(const struct work *work, struct reverse *reverse)
{
	size_t objects = work->snapshot->object_count;

	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &reverse->visited));
	HEAP_TRY(heap_column_create(objects + 1, sizeof(*reverse->end), &reverse->end));
	visit_edges(work, count_edge, reverse);
	for (size_t i = 0; i < objects; i++)
		reverse->end[i + 1] += reverse->end[i];
	HEAP_TRY(heap_column_create((size_t)reverse->end[objects] + 1, sizeof(*reverse->source),
				    &reverse->source));
	visit_edges(work, put_edge, reverse);
	return NULL;
}

// True for an object of one known type, rather than an array, a pool or what nothing is known of.
static bool is_single(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->type[object] != HEAP_NO_TYPE && snapshot->elements[object] == 1;
}

// True if an object stands for a cycle rather than another one of it.
static bool is_better(const struct heap_snapshot *snapshot, heap_object_id object,
		      heap_object_id other)
{
	bool single = is_single(snapshot, object);

	if (single != is_single(snapshot, other))
		return single;
	if (snapshot->size[object] != snapshot->size[other])
		return snapshot->size[object] > snapshot->size[other];
	return object < other;
}

// The object that stands for the cycle of another one, to which no other cycle leads.
static heap_object_id find_head(const struct work *work, struct reverse *reverse,
				heap_object_id start)
{
	heap_object_id head = start;
	size_t top = 0;

	heap_bit_set(reverse->visited, start);
	work->stack[top++] = start;
	while (top > 0) {
		heap_object_id object = work->stack[--top];

		if (is_better(work->snapshot, object, head))
			head = object;
		for (uint64_t i = object == 0 ? 0 : reverse->end[object - 1];
		     i < reverse->end[object]; i++) {
			heap_object_id source = reverse->source[i];

			if (work->class_of[source] != NOT_YET ||
			    heap_bit_get(reverse->visited, source))
				continue;
			heap_bit_set(reverse->visited, source);
			work->stack[top++] = source;
		}
	}
	return head;
}

HEAP_MUST_CHECK
static struct heap_error *take_cycles(struct work *work)
{
	size_t objects = work->snapshot->object_count, left = 0;
	CLEANUP_COLUMN uint8_t *visited = NULL;
	CLEANUP_COLUMN uint32_t *next = NULL;
	CLEANUP_COLUMN heap_object_id *order = NULL;
	CLEANUP(reverse_deinit) struct reverse reverse = { 0 };

	for (heap_object_id i = 0; i < objects; i++)
		left += work->class_of[i] == NOT_YET;
	if (left == 0)
		return NULL;
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &visited));
	HEAP_TRY(heap_column_create(left, sizeof(*next), &next));
	HEAP_TRY(heap_column_create(left, sizeof(*order), &order));

	struct leaving leaving = { work, visited, next, order, 0 };

	for (heap_object_id i = 0; i < objects; i++) {
		if (work->class_of[i] == NOT_YET && !heap_bit_get(visited, i))
			leave_in_order(&leaving, i);
	}
	HEAP_TRY(heap_snapshot_load(work->loaded, HEAP_COLUMN_TYPE | HEAP_COLUMN_ELEMENTS));
	HEAP_TRY(reverse_init(work, &reverse));
	while (leaving.left > 0) {
		heap_object_id object = order[--leaving.left];

		if (work->class_of[object] == NOT_YET)
			mark_reachable(work, find_head(work, &reverse, object), HEAP_LEAK_CYCLE,
				       HEAP_LEAK_INDIRECT);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *take_leaked(struct work *work)
{
	HEAP_TRY(take_direct(work));
	return take_cycles(work);
}

// --- perhaps held ------------------------------------------------------------------

uint32_t heap_leaks_unknown_threads(const struct heap_snapshot *snapshot, uint32_t *thread)
{
	uint32_t count = 0;

	for (uint32_t i = snapshot->thread_count; i-- > 0;) {
		if (snapshot->threads[i].state == HEAP_THREAD_EXACT)
			continue;
		count++;
		if (thread)
			*thread = i;
	}
	return count;
}

bool heap_leaks_lack_memory(const struct heap_snapshot *snapshot)
{
	return snapshot->info.lost_bytes > 0;
}

bool heap_leaks_are_uncertain(const struct heap_snapshot *snapshot)
{
	return heap_leaks_lack_memory(snapshot) || heap_leaks_unknown_threads(snapshot, NULL) > 0;
}

// Sets all of them apart, each with its leader.
static void take_all_perhaps(struct work *work)
{
	for (heap_object_id i = 0; i < work->snapshot->object_count; i++) {
		if (work->class_of[i] >= HEAP_LEAK_DIRECT)
			work->class_of[i] = HEAP_LEAK_PERHAPS;
	}
}

static bool leads(const struct work *work, heap_object_id object)
{
	return work->class_of[object] == HEAP_LEAK_DIRECT ||
	       work->class_of[object] == HEAP_LEAK_CYCLE;
}

struct site_heads {
	heap_site_id site;
	uint32_t heads;
};

static int compare_heads(const void *left, const void *right)
{
	const struct site_heads *a = left, *b = right;

	if (a->heads != b->heads)
		return a->heads < b->heads ? -1 : 1;
	return a->site < b->site ? -1 : a->site > b->site;
}

// Counts the heads of each site, and marks the sites whose heads registers may hold: those with
// the fewest heads first, until there are more heads than registers.
//
// @param heads  [site_count]
// @param held   a bit per site
// @return true if there are any
static bool choose_sites(const struct work *work, uint32_t threads, struct site_heads *heads,
			 uint8_t *held)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	uint64_t registers = (uint64_t)HEAP_KEPT_REGISTERS * threads, taken = 0;

	for (heap_site_id i = 0; i < snapshot->site_count; i++)
		heads[i].site = i;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (leads(work, i))
			heads[snapshot->site[i]].heads++;
	}
	qsort(heads, snapshot->site_count, sizeof(*heads), compare_heads);
	for (heap_site_id i = 0; i < snapshot->site_count; i++) {
		if (heads[i].heads > threads || taken + heads[i].heads > registers)
			break;
		if (heads[i].heads > 0)
			heap_bit_set(held, heads[i].site);
		taken += heads[i].heads;
	}
	return taken > 0;
}

// Sets apart what unknown registers may hold. Leaked objects have their classes already; when some
// are set apart, the others are classified again.
HEAP_MUST_CHECK
static struct heap_error *take_perhaps(struct work *work, uint32_t threads)
{
	const struct heap_snapshot *snapshot = work->snapshot;
	CLEANUP_COLUMN struct site_heads *heads = NULL;
	CLEANUP_COLUMN uint8_t *held = NULL;    // a bit per site
	CLEANUP_COLUMN uint8_t *perhaps = NULL; // a bit per object

	HEAP_TRY(heap_column_create((size_t)snapshot->site_count + 1, sizeof(*heads), &heads));
	HEAP_TRY(heap_column_create((size_t)snapshot->site_count / 8 + 1, 1, &held));
	HEAP_TRY(heap_column_create((size_t)snapshot->object_count / 8 + 1, 1, &perhaps));
	if (!choose_sites(work, threads, heads, held))
		return NULL;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (leads(work, i) && heap_bit_get(held, snapshot->site[i]))
			heap_bit_set(perhaps, i);
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (work->class_of[i] < HEAP_LEAK_DIRECT)
			continue;
		work->class_of[i] = NOT_YET;
		work->leader[i] = HEAP_NO_OBJECT;
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (heap_bit_get(perhaps, i))
			mark_reachable(work, i, HEAP_LEAK_PERHAPS, HEAP_LEAK_PERHAPS);
	}
	return take_leaked(work);
}

// --- all of them -------------------------------------------------------------

static void classify_reach(struct work *work, const uint8_t *reach)
{
	static const uint8_t classes[] = {
		[HEAP_REACH_NOT] = NOT_YET,
		[HEAP_REACH_INTERIOR] = HEAP_LEAK_INTERIOR,
		[HEAP_REACH_START] = HEAP_LEAK_REACHABLE,
	};

	for (heap_object_id i = 0; i < work->snapshot->object_count; i++) {
		work->class_of[i] = classes[reach[i]];
		work->leader[i] = HEAP_NO_OBJECT;
	}
}

struct heap_error *heap_leaks_find(struct heap_graph *graph, heap_leak_suppressor *suppress,
				   void *context, struct heap_leaks *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	size_t objects = (size_t)snapshot->object_count + 1;
	CLEANUP_COLUMN uint8_t *class_of = NULL;
	CLEANUP_COLUMN heap_object_id *leader = NULL;
	CLEANUP_COLUMN heap_object_id *stack = NULL;
	struct heap_leaks leaks = { 0 };
	uint32_t threads = heap_leaks_unknown_threads(snapshot, NULL);

	HEAP_TRY(heap_graph_need_reach(graph));
	if (threads > 0)
		HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_SITE));
	HEAP_TRY(heap_column_create(objects, 1, &class_of));
	HEAP_TRY(heap_column_create(objects, sizeof(*leader), &leader));
	HEAP_TRY(heap_column_create(objects, sizeof(*stack), &stack));

	struct work work = { snapshot, graph->snapshot, class_of, leader, stack };

	classify_reach(&work, graph->reach);
	take_suppressed(&work, suppress, context);
	HEAP_TRY(take_leaked(&work));
	if (heap_leaks_lack_memory(snapshot))
		take_all_perhaps(&work);
	else if (threads > 0)
		HEAP_TRY(take_perhaps(&work, threads));
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		leaks.sums[class_of[i]].objects++;
		leaks.sums[class_of[i]].bytes += snapshot->size[i];
	}
	leaks.class_of = keep(class_of);
	leaks.leader = keep(leader);
	*result = leaks;
	return NULL;
}

void heap_leaks_deinit(struct heap_leaks *leaks)
{
	heap_column_destroy(leaks->class_of);
	heap_column_destroy(leaks->leader);
}

const char *heap_leak_class_name(enum heap_leak_class class)
{
	static const char *const names[HEAP_LEAK_CLASSES] = {
		[HEAP_LEAK_REACHABLE] = "reachable",   [HEAP_LEAK_INTERIOR] = "interior",
		[HEAP_LEAK_SUPPRESSED] = "suppressed", [HEAP_LEAK_PERHAPS] = "perhaps",
		[HEAP_LEAK_DIRECT] = "direct",         [HEAP_LEAK_CYCLE] = "cycle",
		[HEAP_LEAK_INDIRECT] = "indirect",
	};

	return names[class];
}
