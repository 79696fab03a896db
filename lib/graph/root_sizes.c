// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The graph is condensed in two steps.
 *
 * (a) Tops. Each reachable object lies below one child of the virtual root in the dominator
 *     tree, its top: a root, or an object that several roots hold. Whoever reaches an object
 *     reaches its top, and so all that the top dominates: they become one node. An edge from one
 *     top's subtree into another's can only lead to that other top itself. (Edges from one level of
 *     roots to a surer one are left out: none of this would hold for them.)
 * (b) Components. Tops that reach each other become one node as well. Tarjan's algorithm
 *     ("Depth-first search and linear graph algorithms", SIAM J. Comput. 1(2), 1972), with one
 *     number per top as in Pearce's variant ("A space-efficient algorithm for finding strongly
 *     connected components", Inf. Process. Lett. 116(1), 2016), finds each component after all
 *     that it leads to: an edge always leads to a component of a lower number.
 *
 * A pass from the highest number down visits each component after all that lead to it.
 */
#include "lib/graph/root_sizes.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/group_sets.h"
#include "lib/graph/offsets.h"

#include <string.h>

#define NO_TOP UINT32_MAX      // not reachable
#define NOT_KNOWN (NO_TOP - 1) // not found yet

enum {
	BATCH = 64,      // groups whose reach one pass finds
	PREFETCHED = 16, // targets of a top that are prefetched when it is visited
	BELOW = 4,       // distance on the stack at which a top's edges are prefetched again
};

// gcc sees no effect in a function that only prefetches, and drops calls of it.
#define ALWAYS_INLINED __attribute__((always_inline))

struct component_size {
	uint64_t objects;
	uint64_t bytes;
};

struct heap_root_sizes {
	const struct heap_graph *graph;
	const struct heap_dominators *dominators;
	uint32_t components;
	struct component_size *component_sizes; // [components]
	uint32_t *first;                        // [components + 1] edges of a component
	uint32_t *targets;                      // components of lower numbers
	uint32_t *component_of_root;            // [roots]
	uint32_t *component_of;                 // [objects] or NO_TOP
	uint8_t *pointed;                       // a bit per object: some object points to it
};

// The condensed graph in the making. Tops are numbered: roots first.
struct tops {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	const struct heap_dominators *dominators;
	uint32_t *top_of; // [objects]
	uint32_t count;
	uint32_t *first;     // [count + 1]
	uint32_t *targets;   // tops
	uint32_t *component; // [count]
};

// --- tops --------------------------------------------------------------------

// Climbs to the top, or to an object whose top is known; then that is known of all on the path.
static void find_top(struct tops *tops, heap_object_id object)
{
	const struct heap_dominators *dominators = tops->dominators;
	uint32_t objects = tops->snapshot->object_count, top;
	heap_node_id at = object;
	size_t steps = 0;

	// A forged side file may have cycles.
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

	HEAP_TRY(heap_column_create((size_t)snapshot->object_count + 1, sizeof(*tops->top_of),
				    &tops->top_of));
	tops->count = snapshot->root_count;
	for (heap_object_id i = 0; i < snapshot->object_count; i++)
		tops->top_of[i] = NOT_KNOWN;
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (tops->top_of[i] == NOT_KNOWN)
			find_top(tops, i);
		HEAP_TRY(heap_progress_step(tops->progress, "roots: who holds what", i,
					    snapshot->object_count));
	}
	return NULL;
}

// @param level  of what the edge leaves
static void note_edge(struct tops *tops, uint32_t source, enum heap_root_level level,
		      heap_object_id object)
{
	uint32_t target = tops->top_of[object];

	if (source == target || target == NO_TOP ||
	    heap_dominators_level(tops->dominators, object) != level)
		return;
	if (tops->targets)
		tops->targets[tops->first[source]++] = target;
	else
		tops->first[source + 1]++;
}

// Counts the edges between tops, or, once they have been allocated, fills them in.
static void note_edges(struct tops *tops)
{
	const struct heap_snapshot *snapshot = tops->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		note_edge(tops, edge->root, heap_root_edge_level(tops->graph, edge), edge->target);
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		enum heap_root_level level = heap_dominators_level(tops->dominators, i);
		uint32_t source = tops->top_of[i];

		if (source == NO_TOP)
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++)
			note_edge(tops, source, level, snapshot->edge_target[j]);
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
	heap_offsets_from_counts(first, tops->count);
	error = heap_column_create((size_t)first[tops->count] + 1, sizeof(*tops->targets),
				   &tops->targets);
	if (error)
		return error;
	note_edges(tops);
	heap_offsets_rewind(first, tops->count);
	return NULL;
}

// --- components --------------------------------------------------------------

struct search {
	/*
	 * [tops] 0: not visited. While a top is open, the lowest place, in the order of visits, of
	 * an open top that it is known to reach. Then its component, counted down from the number
	 * of tops, which is more than any such place.
	 */
	uint32_t *low;
	uint8_t *moved;  // a bit per top: its own place was not the lowest
	uint32_t *stack; // [tops] from the start of the search to where it is
	uint32_t *next;  // [tops] the next edge to follow, of each top on the stack
	uint32_t *left;  // [tops] open tops that the search has left
	uint32_t depth, open;
	uint32_t place; // the next visit's
	uint32_t components;
};

// The search would wait to learn whether targets have been visited, and for their edges.
static ALWAYS_INLINED inline void prefetch_targets(const struct tops *tops,
						   const struct search *search, uint32_t top)
{
	uint32_t first = tops->first[top], end = tops->first[top + 1];

	for (uint32_t i = first; i < end && i - first < PREFETCHED; i++) {
		__builtin_prefetch(&search->low[tops->targets[i]], 0, 1);
		__builtin_prefetch(&tops->first[tops->targets[i]], 0, 1);
	}
}

static void visit_top(const struct tops *tops, struct search *search, uint32_t top)
{
	search->low[top] = search->place++;
	search->stack[search->depth] = top;
	search->next[search->depth++] = tops->first[top];
	prefetch_targets(tops, search, top);
}

static void add_member(const struct tops *tops, struct search *search, uint32_t top)
{
	search->low[top] = tops->count - search->components;
	search->place--;
}

// The search leaves a top. If it reaches no top that was visited before, then it is the first of a
// component, and the others are those that have been left since.
static void leave_top(const struct tops *tops, struct search *search, uint32_t top)
{
	uint32_t low = search->low[top];

	search->depth--;
	if (search->depth > BELOW)
		__builtin_prefetch(&tops->targets[search->next[search->depth - BELOW]], 0, 1);
	if (heap_bit_get(search->moved, top)) {
		search->left[search->open++] = top;
		return;
	}
	while (search->open > 0 && search->low[search->left[search->open - 1]] >= low)
		add_member(tops, search, search->left[--search->open]);
	add_member(tops, search, top);
	search->components++;
}

static void lower(struct search *search, uint32_t top, uint32_t low)
{
	if (low >= search->low[top])
		return;
	search->low[top] = low;
	heap_bit_set(search->moved, top);
}

static void search_tops(const struct tops *tops, struct search *search, uint32_t start)
{
	visit_top(tops, search, start);
	while (search->depth > 0) {
		uint32_t top = search->stack[search->depth - 1];
		uint32_t *next = &search->next[search->depth - 1];

		if (*next < tops->first[top + 1]) {
			uint32_t target = tops->targets[(*next)++];

			if (!search->low[target])
				visit_top(tops, search, target);
			else
				lower(search, top, search->low[target]);
			continue;
		}
		leave_top(tops, search, top);
		if (search->depth > 0)
			lower(search, search->stack[search->depth - 1], search->low[top]);
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_components(struct tops *tops, uint32_t *components)
{
	size_t count = (size_t)tops->count + 1;
	CLEANUP_COLUMN uint32_t *low = NULL;
	CLEANUP_COLUMN uint8_t *moved = NULL;
	CLEANUP_COLUMN uint32_t *stack = NULL;
	CLEANUP_COLUMN uint32_t *next = NULL;
	CLEANUP_COLUMN uint32_t *left = NULL;

	HEAP_TRY(heap_column_create(count, sizeof(*low), &low));
	HEAP_TRY(heap_column_create(count / 8 + 1, 1, &moved));
	HEAP_TRY(heap_column_create(count, sizeof(*stack), &stack));
	HEAP_TRY(heap_column_create(count, sizeof(*next), &next));
	HEAP_TRY(heap_column_create(count, sizeof(*left), &left));

	struct search search = { low, moved, stack, next, left, .place = 1 };

	for (uint32_t i = 0; i < tops->count; i++) {
		if (!low[i])
			search_tops(tops, &search, i);
	}
	for (uint32_t i = 0; i < tops->count; i++)
		low[i] = tops->count - low[i];
	tops->component = keep(low);
	*components = search.components;
	return NULL;
}

// Sums up components, and makes the tops of objects their components.
static void add_sizes(const struct tops *tops, struct component_size *sizes)
{
	const struct heap_snapshot *snapshot = tops->snapshot;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (tops->top_of[i] == NO_TOP)
			continue;
		tops->top_of[i] = tops->component[tops->top_of[i]];
		sizes[tops->top_of[i]].objects++;
		sizes[tops->top_of[i]].bytes += snapshot->size[i];
	}
}

// Counts the edges between components, or, once they have been allocated, fills them in.
static void note_component_edges(const struct tops *tops, struct heap_root_sizes *sizes)
{
	uint32_t *first = sizes->first, *targets = sizes->targets;

	for (uint32_t top = 0; top < tops->count; top++) {
		uint32_t source = tops->component[top];

		for (uint32_t i = tops->first[top]; i < tops->first[top + 1]; i++) {
			uint32_t target = tops->component[tops->targets[i]];

			if (target == source)
				continue;
			if (targets)
				targets[first[source]++] = target;
			else
				first[source + 1]++;
		}
	}
}

// Drops parallel edges. @param seen  [components] 1 + the last component that has led there
static void drop_parallel_edges(struct heap_root_sizes *sizes, uint32_t *seen)
{
	uint32_t *first = sizes->first, *targets = sizes->targets, edges = 0;

	for (uint32_t i = 0; i < sizes->components; i++) {
		uint32_t begin = first[i];

		first[i] = edges;
		for (uint32_t j = begin; j < first[i + 1]; j++) {
			if (seen[targets[j]] == i + 1)
				continue;
			seen[targets[j]] = i + 1;
			targets[edges++] = targets[j];
		}
	}
	first[sizes->components] = edges;
}

HEAP_MUST_CHECK
static struct heap_error *connect_components(const struct tops *tops, struct heap_root_sizes *sizes)
{
	size_t components = (size_t)sizes->components + 1;
	CLEANUP_COLUMN uint32_t *seen = NULL;
	uint32_t *first;

	HEAP_TRY(heap_column_create(components, sizeof(*seen), &seen));
	HEAP_TRY(heap_column_create(components, sizeof(*first), &sizes->first));
	HEAP_TRY(heap_column_create(components, sizeof(*sizes->component_sizes),
				    &sizes->component_sizes));
	first = sizes->first;
	note_component_edges(tops, sizes);
	heap_offsets_from_counts(first, sizes->components);
	HEAP_TRY(heap_column_create((size_t)first[sizes->components] + 1, sizeof(*sizes->targets),
				    &sizes->targets));
	note_component_edges(tops, sizes);
	heap_offsets_rewind(first, sizes->components);
	drop_parallel_edges(sizes, seen);
	add_sizes(tops, sizes->component_sizes);
	return NULL;
}

static void tops_deinit(struct tops *tops)
{
	heap_column_destroy(tops->top_of);
	heap_column_destroy(tops->first);
	heap_column_destroy(tops->targets);
	heap_column_destroy(tops->component);
}

HEAP_MUST_CHECK
static struct heap_error *condense(struct heap_root_sizes *sizes,
				   const struct heap_dominators *dominators)
{
	const struct heap_snapshot *snapshot = sizes->graph->snapshot;
	CLEANUP(tops_deinit)
	struct tops tops = { .graph = sizes->graph,
			     .snapshot = snapshot,
			     .progress = sizes->graph->progress,
			     .dominators = dominators };

	HEAP_TRY(find_tops(&tops));
	HEAP_TRY(heap_progress_report(tops.progress, "roots: tops", 0, 1));
	HEAP_TRY(connect_tops(&tops));
	// From now on these are only read in order.
	heap_column_rest(tops.top_of);
	heap_column_rest(snapshot->edge_first);
	heap_column_rest(snapshot->edge_target);
	HEAP_TRY(heap_progress_report(tops.progress, "roots: cycles", 0, 1));
	HEAP_TRY(find_components(&tops, &sizes->components));
	HEAP_TRY(connect_components(&tops, sizes));
	HEAP_TRY(heap_column_create((size_t)snapshot->root_count + 1,
				    sizeof(*sizes->component_of_root), &sizes->component_of_root));
	for (uint32_t i = 0; i < snapshot->root_count; i++)
		sizes->component_of_root[i] = tops.component[i];
	sizes->component_of = keep(tops.top_of);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_pointed(struct heap_root_sizes *sizes)
{
	const struct heap_snapshot *snapshot = sizes->graph->snapshot;

	HEAP_TRY(heap_column_create((size_t)snapshot->object_count / 8 + 1, 1, &sizes->pointed));
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		heap_bit_set(sizes->pointed, snapshot->edge_target[i]);
	return NULL;
}

struct heap_error *heap_root_sizes_create(const struct heap_graph *graph,
					  const struct heap_dominators *dominators,
					  struct heap_root_sizes **result)
{
	struct heap_root_sizes *sizes = calloc(1, sizeof(*sizes));
	struct heap_error *error;

	if (!sizes)
		return heap_error_out_of_memory();
	sizes->graph = graph;
	sizes->dominators = dominators;
	error = condense(sizes, dominators);
	if (!error)
		error = find_pointed(sizes);
	heap_column_wake(graph->snapshot->edge_first);
	heap_column_wake(graph->snapshot->edge_target);
	if (error) {
		heap_root_sizes_destroy(sizes);
		return error;
	}
	*result = sizes;
	return NULL;
}

void heap_root_sizes_destroy(struct heap_root_sizes *sizes)
{
	if (!sizes)
		return;
	heap_column_destroy(sizes->component_sizes);
	heap_column_destroy(sizes->first);
	heap_column_destroy(sizes->targets);
	heap_column_destroy(sizes->component_of_root);
	heap_column_destroy(sizes->component_of);
	heap_column_destroy(sizes->pointed);
	free(sizes);
}

// --- measuring ---------------------------------------------------------------

static void add_component(const struct component_size *component, uint64_t *bytes,
			  uint64_t *objects)
{
	*bytes += component->bytes;
	*objects += component->objects;
}

// Adds a component to the class of the groups that lead to it.
static void add_to_class(const struct component_size *component, uint32_t set,
			 struct heap_root_size *result, struct heap_joint_sizes *joint)
{
	uint32_t groups = joint->sets->groups;
	struct heap_joint_size *class;

	if (set == HEAP_NO_GROUP_SET)
		return;
	if (set < groups) {
		add_component(component, &result[set].retained, &result[set].retained_objects);
		return;
	}
	class = set == heap_group_sets_outside(joint->sets) ? &joint->outside
		: set == heap_group_sets_many(joint->sets)  ? &joint->many
							    : &joint->joints[set - groups - 2];
	add_component(component, &class->retained, &class->retained_objects);
}

// Each component takes over who leads to it. @param holders  [components] gets sets of groups
HEAP_MUST_CHECK
static struct heap_error *find_holders(const struct heap_root_sizes *sizes, const uint32_t *group,
				       struct heap_group_sets *sets, uint32_t *holders)
{
	memset(holders, 0xff, ((size_t)sizes->components + 1) * sizeof(*holders));
	for (uint32_t i = 0; i < sizes->graph->snapshot->root_count; i++)
		holders[sizes->component_of_root[i]] =
			group[i] == HEAP_NO_GROUP ? heap_group_sets_outside(sets) : group[i];
	for (uint32_t i = sizes->components; i-- > 0;) {
		if (holders[i] == HEAP_NO_GROUP_SET)
			continue;
		for (uint32_t j = sizes->first[i]; j < sizes->first[i + 1]; j++) {
			uint32_t *other = &holders[sizes->targets[j]];

			HEAP_TRY(heap_group_sets_unite(sets, *other, holders[i], other));
		}
	}
	return NULL;
}

static int compare_joints(const void *left, const void *right)
{
	const struct heap_joint_size *a = left, *b = right;

	if (a->retained != b->retained)
		return a->retained > b->retained ? -1 : 1;
	if (a->count != b->count)
		return a->count < b->count ? -1 : 1;
	for (uint32_t i = 0; i < a->count; i++) {
		if (a->groups[i] != b->groups[i])
			return a->groups[i] < b->groups[i] ? -1 : 1;
	}
	return 0;
}

// Sorts joint sizes, leaving out sets that grew on the way and that no component kept.
HEAP_MUST_CHECK
static struct heap_error *rank_joints(struct heap_joint_sizes *joint)
{
	const struct heap_group_sets *sets = joint->sets;
	size_t kept = 0;

	for (size_t i = 0; i < sets->sets.count; i++) {
		joint->joints[i].groups = sets->members.items + sets->sets.items[i].first;
		joint->joints[i].count = sets->sets.items[i].count;
		joint->joints[i].set = (uint32_t)i;
		if (joint->joints[i].retained_objects > 0)
			joint->joints[kept++] = joint->joints[i];
	}
	joint->count = kept;
	qsort(joint->joints, kept, sizeof(*joint->joints), compare_joints);
	joint->class_of = calloc(sets->sets.count + 1, sizeof(*joint->class_of));
	if (!joint->class_of)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < kept; i++)
		joint->class_of[joint->joints[i].set] =
			HEAP_CLASS_JOINT(sets->groups) + (uint32_t)i;
	return NULL;
}

// Sorts objects into classes by the set of groups that lead to them.
HEAP_MUST_CHECK
static struct heap_error *measure_retained(const struct heap_root_sizes *sizes,
					   const uint32_t *group, struct heap_root_size *result,
					   struct heap_joint_sizes *joint)
{
	HEAP_TRY(heap_column_create((size_t)sizes->components + 1, sizeof(*joint->holders),
				    &joint->holders));
	HEAP_TRY(find_holders(sizes, group, joint->sets, joint->holders));
	joint->joints = calloc(joint->sets->sets.count + 1, sizeof(*joint->joints));
	if (!joint->joints)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < sizes->components; i++)
		add_to_class(&sizes->component_sizes[i], joint->holders[i], result, joint);
	return rank_joints(joint);
}

void heap_joint_sizes_deinit(struct heap_joint_sizes *joint)
{
	free(joint->joints);
	free(joint->class_of);
	heap_column_destroy(joint->holders);
	if (joint->sets)
		heap_group_sets_deinit(joint->sets);
	free(joint->sets);
}

uint32_t heap_joint_class(const struct heap_root_sizes *sizes, const struct heap_joint_sizes *joint,
			  heap_object_id object)
{
	uint32_t component = sizes->component_of[object], groups = joint->sets->groups, set;

	if (component == NO_TOP)
		return HEAP_CLASS_LEAKED;
	set = joint->holders[component];
	if (set < groups || set == HEAP_NO_GROUP_SET)
		return set;
	if (set == heap_group_sets_outside(joint->sets))
		return HEAP_CLASS_OUTSIDE(groups);
	if (set == heap_group_sets_many(joint->sets))
		return HEAP_CLASS_MANY(groups);
	return joint->class_of[set - HEAP_CLASS_JOINT(groups)];
}

static void add_reach(uint64_t groups, const struct component_size *component,
		      struct heap_root_size *result)
{
	for (; groups; groups &= groups - 1) {
		struct heap_root_size *size = &result[__builtin_ctzll(groups)];

		size->reachable += component->bytes;
		size->reachable_objects += component->objects;
	}
}

// Sums up what BATCH groups, from `from` on, reach.
static void measure_reach(const struct heap_root_sizes *sizes, const uint32_t *group, uint32_t from,
			  uint64_t *reached, struct heap_root_size *result)
{
	struct component_size alike = { 0, 0 }; // of components in a row that the same groups reach
	uint64_t last = 0;

	memset(reached, 0, ((size_t)sizes->components + 1) * sizeof(*reached));
	for (uint32_t i = 0; i < sizes->graph->snapshot->root_count; i++) {
		if (group[i] >= from && group[i] - from < BATCH)
			reached[sizes->component_of_root[i]] |= UINT64_C(1) << (group[i] - from);
	}
	for (uint32_t i = sizes->components; i-- > 0;) {
		if (!reached[i])
			continue;
		for (uint32_t j = sizes->first[i]; j < sizes->first[i + 1]; j++)
			reached[sizes->targets[j]] |= reached[i];
		if (reached[i] != last) {
			add_reach(last, &alike, result + from);
			alike = (struct component_size){ 0, 0 };
			last = reached[i];
		}
		alike.bytes += sizes->component_sizes[i].bytes;
		alike.objects += sizes->component_sizes[i].objects;
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
static struct heap_error *measure_exclusive(const struct heap_root_sizes *sizes,
					    const uint32_t *group, struct heap_root_size *result)
{
	const struct heap_snapshot *snapshot = sizes->graph->snapshot;
	CLEANUP_FREE struct held *held = malloc((snapshot->root_edge_count + 1) * sizeof(*held));
	size_t count = 0;

	if (!held)
		return heap_error_out_of_memory();
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		if (!heap_bit_get(sizes->pointed, edge->target) &&
		    heap_root_edge_level(sizes->graph, edge) ==
			    heap_dominators_level(sizes->dominators, edge->target))
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

struct heap_error *heap_root_sizes_measure(const struct heap_root_sizes *sizes,
					   const uint32_t *group, uint32_t count,
					   struct heap_root_size *result,
					   struct heap_joint_sizes *joint)
{
	__attribute__((cleanup(heap_joint_sizes_deinit))) struct heap_joint_sizes found = { 0 };
	CLEANUP_COLUMN uint64_t *reached = NULL;

	found.sets = calloc(1, sizeof(*found.sets));
	if (!found.sets)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_group_sets_init(found.sets, count, joint ? HEAP_JOINT_MOST : 1));
	memset(result, 0, count * sizeof(*result));
	HEAP_TRY(measure_retained(sizes, group, result, &found));
	HEAP_TRY(heap_column_create((size_t)sizes->components + 1, sizeof(*reached), &reached));
	for (uint32_t i = 0; i < count; i += BATCH) {
		HEAP_TRY(heap_progress_report(sizes->graph->progress, "roots: what they reach", i,
					      count));
		measure_reach(sizes, group, i, reached, result);
	}
	HEAP_TRY(measure_exclusive(sizes, group, result));
	if (joint) {
		*joint = found;
		found = (struct heap_joint_sizes){ 0 };
	}
	return NULL;
}
