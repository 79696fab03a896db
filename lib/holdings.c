// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The graph is made small in two steps.
 *
 * (a) Tops. Each reachable object lies below one child of the virtual root in the dominator
 *     tree, its top: a root, or an object that several roots hold. Whoever reaches an object
 *     reaches its top, and so all that the top dominates: they are one. An edge from one
 *     top's subtree into another's can only lead to that other top itself.
 * (b) Components. Tops that reach each other are one as well. Tarjan's algorithm ("Depth-first
 *     search and linear graph algorithms", SIAM J. Comput. 1(2), 1972) finds them, each after
 *     all that it leads to: an edge always leads to a component of a lower number.
 *
 * A pass from the highest number down meets each component after all that lead to it.
 */
#include "lib/holdings.h"

#include "lib/bits.h"
#include "lib/cleanup.h"
#include "lib/column.h"

#include <string.h>

#define NO_TOP UINT32_MAX      // not reachable
#define NOT_KNOWN (NO_TOP - 1) // nobody has asked yet
#define SEVERAL (NO_TOP - 1)   // groups
#define NOBODY NO_TOP          // of them

enum {
	BATCH = 64, // groups whose reach one pass finds
};

struct holding_size {
	uint64_t objects;
	uint64_t bytes;
};

struct heap_holdings {
	const struct heap_graph *graph;
	uint32_t components;
	struct holding_size *sizes;  // [components]
	uint32_t *first;             // [components + 1] edges of a component
	uint32_t *targets;           // components of lower numbers
	uint32_t *component_of_root; // [roots]
	uint8_t *pointed;            // a bit per object: some object points to it
};

// The small graph while it is being made. Tops are numbered: roots first.
struct tops {
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	const struct heap_dominators *dominators;
	uint32_t *top_of; // [objects]
	uint32_t count;
	struct holding_size *sizes; // [count]
	uint32_t *first;            // [count + 1]
	uint32_t *targets;          // tops
	uint32_t *component;        // [count]
	uint32_t *members;          // [count] tops by component
};

// --- tops --------------------------------------------------------------------

// Climbs to the top, or to an object whose top is known; then that is known of all on the way.
static void find_top(struct tops *tops, heap_object_id object)
{
	const struct heap_dominators *dominators = tops->dominators;
	uint32_t objects = tops->snapshot->object_count, top;
	heap_node_id at = object;
	size_t steps = 0;

	// A side file that somebody has made up may go round in circles.
	while (at < objects && tops->top_of[at] == NOT_KNOWN &&
	       dominators->nearest[at] != HEAP_NO_NODE && steps++ < objects)
		at = dominators->nearest[at];
	if (at >= objects)
		top = at - objects;
	else if (tops->top_of[at] != NOT_KNOWN)
		top = tops->top_of[at];
	else
		top = dominators->retained[at] > 0 ? tops->count++ : NO_TOP;
	for (heap_node_id i = object; i != at && steps-- > 0; i = dominators->nearest[i])
		tops->top_of[i] = top;
	if (at < objects)
		tops->top_of[at] = top;
}

HEAP_MUST_CHECK
static struct heap_error *find_tops(struct tops *tops)
{
	const struct heap_snapshot *snapshot = tops->snapshot;
	struct heap_error *error = heap_column_create((size_t)snapshot->object_count + 1,
						      sizeof(*tops->top_of), &tops->top_of);

	if (error)
		return error;
	tops->count = snapshot->root_count;
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		tops->top_of[i] = NOT_KNOWN;
	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++) {
		if (tops->top_of[i] == NOT_KNOWN)
			find_top(tops, i);
		error = heap_progress_step(tops->progress, "roots: who holds what", i,
					   snapshot->object_count);
	}
	if (!error)
		error = heap_column_create((size_t)tops->count + 1, sizeof(*tops->sizes),
					   &tops->sizes);
	for (heap_object_id i = 0; !error && i < snapshot->object_count; i++) {
		if (tops->top_of[i] == NO_TOP)
			continue;
		tops->sizes[tops->top_of[i]].objects++;
		tops->sizes[tops->top_of[i]].bytes += snapshot->size[i];
	}
	return error;
}

static void note_edge(struct tops *tops, uint32_t source, heap_object_id object)
{
	uint32_t target = tops->top_of[object];

	if (source == target || target == NO_TOP)
		return;
	if (tops->targets)
		tops->targets[tops->first[source]++] = target;
	else
		tops->first[source + 1]++;
}

// Counts edges between tops, or, once there is room for them, writes them down.
static void note_edges(struct tops *tops)
{
	const struct heap_snapshot *snapshot = tops->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		note_edge(tops, snapshot->root_edges[i].root, snapshot->root_edges[i].target);
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		uint32_t source = tops->top_of[i];

		if (source == NO_TOP)
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++)
			note_edge(tops, source, snapshot->edge_target[j]);
	}
}

HEAP_MUST_CHECK
static struct heap_error *connect_tops(struct tops *tops)
{
	uint32_t *first;
	struct heap_error *error =
		heap_column_create((size_t)tops->count + 2, sizeof(*first), &tops->first);

	if (error)
		return error;
	first = tops->first;
	note_edges(tops);
	for (uint32_t i = 0; i < tops->count; i++)
		first[i + 1] += first[i];
	error = heap_column_create((size_t)first[tops->count] + 1, sizeof(*tops->targets),
				   &tops->targets);
	if (error)
		return error;
	note_edges(tops);
	memmove(first + 1, first, (size_t)tops->count * sizeof(*first));
	first[0] = 0;
	return NULL;
}

// --- components --------------------------------------------------------------

struct tarjan {
	uint32_t *low;  // [tops] lowest number that is known to be reached; 0: not met
	uint32_t *next; // [tops] edge to be followed next
	uint32_t *way;  // [tops] from the start of the search to where it is
	uint32_t *open; // [tops] met, and of no component yet
	uint32_t way_length, open_length;
	uint32_t met, components, done;
};

static void meet_top(const struct tops *tops, struct tarjan *tarjan, uint32_t top)
{
	tarjan->low[top] = ++tarjan->met;
	tarjan->next[top] = tops->first[top];
	tarjan->way[tarjan->way_length++] = top;
	tarjan->open[tarjan->open_length++] = top;
}

// The search leaves a top. Whether it was the first one met of its component shows in the
// number that it was given, which is its place in the order of meeting.
static void leave_top(struct tops *tops, struct tarjan *tarjan, uint32_t top, uint32_t number)
{
	uint32_t member;

	tarjan->way_length--;
	if (tarjan->low[top] < number)
		return;
	do {
		member = tarjan->open[--tarjan->open_length];
		tops->component[member] = tarjan->components;
		tops->members[tarjan->done++] = member;
	} while (member != top);
	tarjan->components++;
}

static void search_tops(struct tops *tops, struct tarjan *tarjan, uint32_t *number, uint32_t start)
{
	meet_top(tops, tarjan, start);
	number[start] = tarjan->met;
	while (tarjan->way_length > 0) {
		uint32_t top = tarjan->way[tarjan->way_length - 1];

		if (tarjan->next[top] < tops->first[top + 1]) {
			uint32_t target = tops->targets[tarjan->next[top]++];

			if (!tarjan->low[target]) {
				meet_top(tops, tarjan, target);
				number[target] = tarjan->met;
			} else if (tops->component[target] == NO_TOP &&
				   number[target] < tarjan->low[top]) {
				tarjan->low[top] = number[target];
			}
			continue;
		}
		leave_top(tops, tarjan, top, number[top]);
		if (tarjan->way_length > 0) {
			uint32_t above = tarjan->way[tarjan->way_length - 1];

			if (tarjan->low[top] < tarjan->low[above])
				tarjan->low[above] = tarjan->low[top];
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_components(struct tops *tops, uint32_t *components)
{
	size_t count = (size_t)tops->count + 1;
	CLEANUP_COLUMN uint32_t *low = NULL;
	CLEANUP_COLUMN uint32_t *next = NULL;
	CLEANUP_COLUMN uint32_t *way = NULL;
	CLEANUP_COLUMN uint32_t *open = NULL;
	CLEANUP_COLUMN uint32_t *number = NULL;
	struct heap_error *error = heap_column_create(count, sizeof(*low), &low);

	if (!error)
		error = heap_column_create(count, sizeof(*next), &next);
	if (!error)
		error = heap_column_create(count, sizeof(*way), &way);
	if (!error)
		error = heap_column_create(count, sizeof(*open), &open);
	if (!error)
		error = heap_column_create(count, sizeof(*number), &number);
	if (!error)
		error = heap_column_create(count, sizeof(*tops->component), &tops->component);
	if (!error)
		error = heap_column_create(count, sizeof(*tops->members), &tops->members);
	if (error)
		return error;

	struct tarjan tarjan = { low, next, way, open, 0, 0, 0, 0, 0 };

	memset(tops->component, 0xff, count * sizeof(*tops->component));
	for (uint32_t i = 0; i < tops->count; i++) {
		if (!low[i])
			search_tops(tops, &tarjan, number, i);
	}
	*components = tarjan.components;
	return NULL;
}

// Edges between components, each once. Members stand by component.
HEAP_MUST_CHECK
static struct heap_error *connect_components(const struct tops *tops,
					     struct heap_holdings *holdings)
{
	uint32_t edges = 0, at = 0;
	CLEANUP_COLUMN uint32_t *seen = NULL; // [components] 1 + the last that has led there
	struct heap_error *error =
		heap_column_create((size_t)holdings->components + 1, sizeof(*seen), &seen);

	if (!error)
		error = heap_column_create((size_t)holdings->components + 1,
					   sizeof(*holdings->first), &holdings->first);
	if (!error)
		error = heap_column_create((size_t)holdings->components + 1,
					   sizeof(*holdings->sizes), &holdings->sizes);
	if (!error)
		error = heap_column_create((size_t)tops->first[tops->count] + 1,
					   sizeof(*holdings->targets), &holdings->targets);
	if (error)
		return error;
	for (uint32_t component = 0; component < holdings->components; component++) {
		holdings->first[component] = edges;
		for (; at < tops->count && tops->component[tops->members[at]] == component; at++) {
			uint32_t top = tops->members[at];

			holdings->sizes[component].objects += tops->sizes[top].objects;
			holdings->sizes[component].bytes += tops->sizes[top].bytes;
			for (uint32_t i = tops->first[top]; i < tops->first[top + 1]; i++) {
				uint32_t target = tops->component[tops->targets[i]];

				if (target == component || seen[target] == component + 1)
					continue;
				seen[target] = component + 1;
				holdings->targets[edges++] = target;
			}
		}
	}
	holdings->first[holdings->components] = edges;
	return NULL;
}

static void tops_deinit(struct tops *tops)
{
	heap_column_destroy(tops->top_of);
	heap_column_destroy(tops->sizes);
	heap_column_destroy(tops->first);
	heap_column_destroy(tops->targets);
	heap_column_destroy(tops->component);
	heap_column_destroy(tops->members);
}

HEAP_MUST_CHECK
static struct heap_error *make_small(struct heap_holdings *holdings,
				     const struct heap_dominators *dominators)
{
	const struct heap_snapshot *snapshot = holdings->graph->snapshot;
	struct tops tops = { .snapshot = snapshot,
			     .progress = holdings->graph->progress,
			     .dominators = dominators };
	struct heap_error *error = find_tops(&tops);

	if (!error)
		error = heap_progress_report(tops.progress, "roots: tops", 0, 1);
	if (!error)
		error = connect_tops(&tops);
	heap_column_destroy(tops.top_of);
	tops.top_of = NULL;
	if (!error)
		error = heap_progress_report(tops.progress, "roots: circles", 0, 1);
	if (!error)
		error = find_components(&tops, &holdings->components);
	if (!error)
		error = connect_components(&tops, holdings);
	if (!error)
		error = heap_column_create((size_t)snapshot->root_count + 1,
					   sizeof(*holdings->component_of_root),
					   &holdings->component_of_root);
	for (uint32_t i = 0; !error && i < snapshot->root_count; i++)
		holdings->component_of_root[i] = tops.component[i];
	tops_deinit(&tops);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *find_pointed(struct heap_holdings *holdings)
{
	const struct heap_snapshot *snapshot = holdings->graph->snapshot;
	struct heap_error *error =
		heap_column_create((size_t)snapshot->object_count / 8 + 1, 1, &holdings->pointed);

	for (uint32_t i = 0; !error && i < snapshot->edge_count; i++)
		heap_bit_set(holdings->pointed, snapshot->edge_target[i]);
	return error;
}

struct heap_error *heap_holdings_create(const struct heap_graph *graph,
					const struct heap_dominators *dominators,
					struct heap_holdings **result)
{
	struct heap_holdings *holdings = calloc(1, sizeof(*holdings));
	struct heap_error *error;

	if (!holdings)
		return heap_error_out_of_memory();
	holdings->graph = graph;
	error = make_small(holdings, dominators);
	if (!error)
		error = find_pointed(holdings);
	if (error) {
		heap_holdings_destroy(holdings);
		return error;
	}
	*result = holdings;
	return NULL;
}

void heap_holdings_destroy(struct heap_holdings *holdings)
{
	if (!holdings)
		return;
	heap_column_destroy(holdings->sizes);
	heap_column_destroy(holdings->first);
	heap_column_destroy(holdings->targets);
	heap_column_destroy(holdings->component_of_root);
	heap_column_destroy(holdings->pointed);
	free(holdings);
}

// --- measuring ---------------------------------------------------------------

// What only one group leads to: each component takes over who leads to it.
static void measure_retained(const struct heap_holdings *holdings, const uint32_t *group,
			     uint32_t *holder, struct heap_holding *result)
{
	uint32_t roots = holdings->graph->snapshot->root_count;

	memset(holder, 0xff, ((size_t)holdings->components + 1) * sizeof(*holder));
	for (uint32_t i = 0; i < roots; i++)
		holder[holdings->component_of_root[i]] =
			group[i] == HEAP_NO_GROUP ? SEVERAL : group[i];
	for (uint32_t i = holdings->components; i-- > 0;) {
		if (holder[i] == NOBODY)
			continue;
		for (uint32_t j = holdings->first[i]; j < holdings->first[i + 1]; j++) {
			uint32_t *other = &holder[holdings->targets[j]];

			*other = *other == NOBODY || *other == holder[i] ? holder[i] : SEVERAL;
		}
		if (holder[i] != SEVERAL) {
			result[holder[i]].retained += holdings->sizes[i].bytes;
			result[holder[i]].retained_objects += holdings->sizes[i].objects;
		}
	}
}

static void add_reach(uint64_t groups, const struct holding_size *size, struct heap_holding *result)
{
	for (; groups; groups &= groups - 1) {
		struct heap_holding *holding = &result[__builtin_ctzll(groups)];

		holding->reachable += size->bytes;
		holding->reachable_objects += size->objects;
	}
}

// What the groups from `from` on reach, BATCH of them.
static void measure_reach(const struct heap_holdings *holdings, const uint32_t *group,
			  uint32_t from, uint64_t *reached, struct heap_holding *result)
{
	struct holding_size alike = { 0, 0 }; // of components in a row that the same groups reach
	uint64_t last = 0;

	memset(reached, 0, ((size_t)holdings->components + 1) * sizeof(*reached));
	for (uint32_t i = 0; i < holdings->graph->snapshot->root_count; i++) {
		if (group[i] >= from && group[i] - from < BATCH)
			reached[holdings->component_of_root[i]] |= UINT64_C(1) << (group[i] - from);
	}
	for (uint32_t i = holdings->components; i-- > 0;) {
		if (!reached[i])
			continue;
		for (uint32_t j = holdings->first[i]; j < holdings->first[i + 1]; j++)
			reached[holdings->targets[j]] |= reached[i];
		if (reached[i] != last) {
			add_reach(last, &alike, result + from);
			alike = (struct holding_size){ 0, 0 };
			last = reached[i];
		}
		alike.bytes += holdings->sizes[i].bytes;
		alike.objects += holdings->sizes[i].objects;
	}
	add_reach(last, &alike, result + from);
}

struct held {
	heap_object_id object;
	uint32_t group;
};

static int compare_held(const void *left, const void *right)
{
	const struct held *a = left, *b = right;

	return a->object < b->object ? -1 : a->object > b->object;
}

HEAP_MUST_CHECK
static struct heap_error *measure_exclusive(const struct heap_holdings *holdings,
					    const uint32_t *group, struct heap_holding *result)
{
	const struct heap_snapshot *snapshot = holdings->graph->snapshot;
	CLEANUP_FREE struct held *held = malloc((snapshot->root_edge_count + 1) * sizeof(*held));
	size_t count = 0;

	if (!held)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (!heap_bit_get(holdings->pointed, edge->target))
			held[count++] = (struct held){ edge->target, group[edge->root] };
	}
	qsort(held, count, sizeof(*held), compare_held);
	for (size_t i = 0, next; i < count; i = next) {
		bool alone = held[i].group != HEAP_NO_GROUP;

		for (next = i + 1; next < count && held[next].object == held[i].object; next++)
			alone &= held[next].group == held[i].group;
		if (alone)
			result[held[i].group].exclusive += snapshot->size[held[i].object];
	}
	return NULL;
}

struct heap_error *heap_holdings_measure(const struct heap_holdings *holdings,
					 const uint32_t *group, uint32_t count,
					 struct heap_holding *result)
{
	CLEANUP_COLUMN uint64_t *reached = NULL;
	struct heap_error *error =
		heap_column_create((size_t)holdings->components + 1, sizeof(*reached), &reached);

	if (error)
		return error;
	memset(result, 0, count * sizeof(*result));
	// The same memory serves both.
	measure_retained(holdings, group, (uint32_t *)reached, result);
	for (uint32_t i = 0; !error && i < count; i += BATCH) {
		error = heap_progress_report(holdings->graph->progress, "roots: what they reach", i,
					     count);
		if (!error)
			measure_reach(holdings, group, i, reached, result);
	}
	return error ? error : measure_exclusive(holdings, group, result);
}
