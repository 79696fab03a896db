// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The graph is condensed in two steps.
 *
 * (a) Components. Objects that reach each other become one node (components.h). What is left is
 *     acyclic.
 * (b) Tops. If all edges to a component come from what one top holds, then whoever reaches the
 *     component reaches that top, and they become one node; or else the component is a top itself.
 *     So is each root. One pass over the components, each after all that lead to it, finds the top
 *     of each: its child of the virtual root in the dominator tree. (Edges from one level of roots
 *     to a surer one are left out: none of this would hold for them.)
 *
 * Tops have the order of their components, and roots come last: an edge leads to a top of a lower
 * number, so a pass from the highest number down visits each top after all that lead to it. An edge
 * between tops leads to a top that is a component, since all that lead to others come from one top.
 */
#include "lib/graph/root_sizes.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/base/prefetch.h"
#include "lib/graph/components.h"
#include "lib/graph/group_sets.h"
#include "lib/graph/offsets.h"

#include <inttypes.h>
#include <string.h>

#define NO_TOP UINT32_MAX    // not reachable
#define SEVERAL (NO_TOP - 1) // edges come from several tops

enum {
	BATCH = 64,       // groups whose reach one pass finds
	FAR_AHEAD = 24,   // prefetch distances, in objects: of an object's first edge
	AHEAD = 12,       // of its targets
	NEAR_AHEAD = 6,   // of what is known of these
	PREFETCHED = 8,   // targets of an object
	EDGES_AHEAD = 24, // prefetch distance, in edges
};

struct top_size {
	uint64_t objects;
	uint64_t bytes;
};

struct heap_root_sizes {
	const struct heap_graph *graph;
	uint32_t tops;              // those of roots come last
	struct top_size *top_sizes; // [tops]
	uint32_t *first;            // [tops + 1] edges of a top
	uint32_t *targets;          // tops of lower numbers
	uint32_t *top_of;           // [objects] or NO_TOP
	uint8_t *levels;            // [objects] enum heap_root_level
	uint8_t *pointed;           // a bit per object: some object points to it
};

// The condensed graph in the making.
struct tops {
	const struct heap_graph *graph;
	const struct heap_snapshot *snapshot;
	const struct heap_progress *progress;
	struct heap_components components;
	uint32_t *top_of; // [components] a component, or the number of components + a root
	uint32_t *number; // [components] its top's number
	uint32_t start[HEAP_LEVELS + 1]; // a level's tops are [start, the next level's); then roots
};

static uint32_t top_of_root(const struct heap_root_sizes *sizes, heap_root_id root)
{
	return sizes->tops - sizes->graph->snapshot->root_count + root;
}

// --- tops --------------------------------------------------------------------

// Notes that an edge from what a top holds leads to a component.
static inline void add_source(uint32_t *top, uint32_t source)
{
	if (*top == NO_TOP)
		*top = source;
	else if (*top != source)
		*top = SEVERAL;
}

// Prefetches what add_sources() needs of members that are next.
static inline void prefetch_member(const struct tops *tops, uint32_t at)
{
	const struct heap_snapshot *snapshot = tops->snapshot;
	const heap_object_id *member = tops->components.members + at;
	uint32_t first, end;

	if (at < FAR_AHEAD)
		return;
	heap_prefetch(&snapshot->edge_first[*(member - FAR_AHEAD)]);
	heap_prefetch(&snapshot->edge_target[snapshot->edge_first[*(member - AHEAD)]]);
	first = snapshot->edge_first[*(member - NEAR_AHEAD)];
	end = snapshot->edge_first[*(member - NEAR_AHEAD) + 1];
	for (uint32_t i = first; i < end && i - first < PREFETCHED; i++)
		heap_prefetch(&tops->components.of[snapshot->edge_target[i]]);
}

// Notes the edges of a component's member.
static void add_sources(const struct tops *tops, heap_object_id object, uint32_t level_start)
{
	const struct heap_snapshot *snapshot = tops->snapshot;
	uint32_t component = tops->components.of[object], top = tops->top_of[component];

	if (top == SEVERAL)
		top = tops->top_of[component] = component;
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		uint32_t target = tops->components.of[snapshot->edge_target[i]];

		if (target != component && target >= level_start)
			add_source(&tops->top_of[target], top);
	}
}

HEAP_MUST_CHECK
static struct heap_error *find_tops(struct tops *tops)
{
	const struct heap_snapshot *snapshot = tops->snapshot;
	const struct heap_components *components = &tops->components;
	enum heap_root_level level = HEAP_LEVELS - 1;

	HEAP_TRY(heap_column_create((size_t)components->count + 1, sizeof(*tops->top_of),
				    &tops->top_of));
	memset(tops->top_of, 0xff, (size_t)components->count * sizeof(*tops->top_of));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		uint32_t target = components->of[edge->target];

		if (heap_components_level(components, target) ==
		    heap_root_edge_level(tops->graph, edge))
			add_source(&tops->top_of[target], components->count + edge->root);
	}
	for (uint32_t i = components->reached; i-- > 0;) {
		heap_object_id object = components->members[i];

		prefetch_member(tops, i);
		while (components->of[object] < components->start[level])
			level--;
		add_sources(tops, object, components->start[level]);
		HEAP_TRY(heap_progress_step(tops->progress, "roots: who holds what",
					    components->reached - i, components->reached));
	}
	return NULL;
}

// Numbers tops in the order of their components. @return how many there are, roots included
HEAP_MUST_CHECK
static struct heap_error *number_tops(struct tops *tops, uint32_t *result)
{
	const struct heap_components *components = &tops->components;
	uint32_t *number, count = 0;

	HEAP_TRY(heap_column_create((size_t)components->count + 1, sizeof(*number), &number));
	tops->number = number;
	for (enum heap_root_level level = 0; level < HEAP_LEVELS; level++) {
		tops->start[level] = count;
		for (uint32_t i = components->start[level]; i < components->start[level + 1]; i++) {
			if (tops->top_of[i] == i)
				number[i] = count++;
		}
	}
	tops->start[HEAP_LEVELS] = count;
	for (uint32_t i = 0; i < components->count; i++) {
		uint32_t top = tops->top_of[i];

		if (top >= components->count)
			number[i] = count + (top - components->count);
		else if (top != i)
			number[i] = number[top];
	}
	*result = count + tops->snapshot->root_count;
	return NULL;
}

// Makes an object's component its top, and adds the object to that.
static inline void add_size(const struct tops *tops, struct heap_root_sizes *sizes,
			    heap_object_id object, uint64_t bytes)
{
	const struct heap_components *components = &tops->components;
	uint32_t component = components->of[object];
	struct top_size *size;

	if (component == HEAP_NO_COMPONENT)
		return;
	sizes->levels[object] = (uint8_t)heap_components_level(components, component);
	components->of[object] = tops->number[component];
	size = &sizes->top_sizes[components->of[object]];
	size->objects++;
	size->bytes += bytes;
}

// Sums up tops. The column of sizes would take memory that edges and components need now.
HEAP_MUST_CHECK
static struct heap_error *add_sizes(const struct tops *tops, struct heap_root_sizes *sizes)
{
	const struct heap_snapshot *snapshot = tops->snapshot;
	CLEANUP_FREE uint64_t *bytes = malloc(HEAP_SIZES_PIECE * sizeof(*bytes));

	if (!bytes)
		return heap_error_out_of_memory();
	for (heap_object_id first = 0, count; first < snapshot->object_count; first += count) {
		count = snapshot->object_count - first;
		count = count < HEAP_SIZES_PIECE ? count : HEAP_SIZES_PIECE;
		HEAP_TRY(heap_snapshot_read_some_sizes(snapshot, first, count, bytes));
		for (uint32_t i = 0; i < count; i++)
			add_size(tops, sizes, first + i, bytes[i]);
	}
	return NULL;
}

// --- edges between tops ------------------------------------------------------

struct connecting {
	const struct tops *tops;
	const uint32_t *top_of; // [objects]
	uint32_t *first;
	uint32_t *targets; // NULL: edges are counted
};

static inline void note_edge(const struct connecting *connecting, uint32_t source,
			     enum heap_root_level level, heap_object_id object)
{
	const uint32_t *start = connecting->tops->start;
	uint32_t target = connecting->top_of[object];

	if (target == source || target < start[level] || target >= start[level + 1])
		return;
	if (connecting->targets)
		connecting->targets[connecting->first[source]++] = target;
	else
		connecting->first[source + 1]++;
}

// Counts the edges between tops, or, once they have been allocated, fills them in.
static void note_edges(const struct connecting *connecting, const struct heap_root_sizes *sizes)
{
	const struct heap_graph *graph = sizes->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		note_edge(connecting, top_of_root(sizes, edge->root),
			  heap_root_edge_level(graph, edge), edge->target);
	}
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		enum heap_root_level level = sizes->levels[i];
		uint32_t source = sizes->top_of[i];

		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (snapshot->edge_count - j > EDGES_AHEAD)
				heap_prefetch(
					&sizes->top_of[snapshot->edge_target[j + EDGES_AHEAD]]);
			if (source != NO_TOP)
				note_edge(connecting, source, level, snapshot->edge_target[j]);
		}
	}
}

// Drops parallel edges. @param seen  [tops] 1 + the last top that has led there
static void drop_parallel_edges(struct heap_root_sizes *sizes, uint32_t *seen)
{
	uint32_t *first = sizes->first, *targets = sizes->targets, edges = 0;

	for (uint32_t i = 0; i < sizes->tops; i++) {
		uint32_t begin = first[i];

		first[i] = edges;
		for (uint32_t j = begin; j < first[i + 1]; j++) {
			if (seen[targets[j]] == i + 1)
				continue;
			seen[targets[j]] = i + 1;
			targets[edges++] = targets[j];
		}
	}
	first[sizes->tops] = edges;
}

HEAP_MUST_CHECK
static struct heap_error *connect_tops(const struct tops *tops, struct heap_root_sizes *sizes)
{
	struct connecting connecting = { .tops = tops, .top_of = sizes->top_of };
	size_t count = (size_t)sizes->tops + 1;
	CLEANUP_COLUMN uint32_t *seen = NULL;

	HEAP_TRY(heap_column_create(count + 1, sizeof(*sizes->first), &sizes->first));
	connecting.first = sizes->first;
	note_edges(&connecting, sizes);
	heap_offsets_from_counts(sizes->first, sizes->tops);
	HEAP_TRY(heap_column_create((size_t)sizes->first[sizes->tops] + 1, sizeof(*sizes->targets),
				    &sizes->targets));
	connecting.targets = sizes->targets;
	note_edges(&connecting, sizes);
	heap_offsets_rewind(sizes->first, sizes->tops);
	HEAP_TRY(heap_column_create(count, sizeof(*seen), &seen));
	drop_parallel_edges(sizes, seen);
	return NULL;
}

static void tops_deinit(struct tops *tops)
{
	heap_components_deinit(&tops->components);
	heap_column_destroy(tops->top_of);
	heap_column_destroy(tops->number);
}

HEAP_MUST_CHECK
static struct heap_error *condense(struct heap_root_sizes *sizes)
{
	const struct heap_graph *graph = sizes->graph;
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP(tops_deinit)
	struct tops tops = {
		.graph = graph,
		.snapshot = snapshot,
		.progress = graph->progress,
	};

	// A top's number is none of NO_TOP and SEVERAL.
	if ((uint64_t)snapshot->object_count + snapshot->root_count > UINT32_MAX - 3)
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "roots: %" PRIu32 " objects and %" PRIu32
					 " roots are too many for 32 bits",
					 snapshot->object_count, snapshot->root_count);
	HEAP_TRY(heap_components_init(&tops.components, graph));
	HEAP_TRY(find_tops(&tops));
	HEAP_TRY(number_tops(&tops, &sizes->tops));
	heap_column_destroy(tops.components.members);
	tops.components.members = NULL;
	HEAP_TRY(heap_progress_report(tops.progress, "roots: tops", 0, 1));
	HEAP_TRY(heap_column_create((size_t)snapshot->object_count + 1, 1, &sizes->levels));
	HEAP_TRY(heap_column_create((size_t)sizes->tops + 1, sizeof(*sizes->top_sizes),
				    &sizes->top_sizes));
	HEAP_TRY(add_sizes(&tops, sizes));
	sizes->top_of = keep(tops.components.of);
	// From now on these are only read in order.
	heap_column_rest(snapshot->edge_first);
	heap_column_rest(snapshot->edge_target);
	return connect_tops(&tops, sizes);
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
					  struct heap_root_sizes **result)
{
	struct heap_root_sizes *sizes = calloc(1, sizeof(*sizes));
	struct heap_error *error;

	if (!sizes)
		return heap_error_out_of_memory();
	sizes->graph = graph;
	error = condense(sizes);
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
	heap_column_destroy(sizes->top_sizes);
	heap_column_destroy(sizes->first);
	heap_column_destroy(sizes->targets);
	heap_column_destroy(sizes->top_of);
	heap_column_destroy(sizes->levels);
	heap_column_destroy(sizes->pointed);
	free(sizes);
}

// --- measuring ---------------------------------------------------------------

static void add_top(const struct top_size *top, uint64_t *bytes, uint64_t *objects)
{
	*bytes += top->bytes;
	*objects += top->objects;
}

// Adds a top to the class of the groups that lead to it.
static void add_to_class(const struct top_size *top, uint32_t set, struct heap_root_size *result,
			 struct heap_joint_sizes *joint)
{
	uint32_t groups = joint->sets->groups;
	struct heap_joint_size *class;

	if (set == HEAP_NO_GROUP_SET)
		return;
	if (set < groups) {
		add_top(top, &result[set].retained, &result[set].retained_objects);
		return;
	}
	class = set == heap_group_sets_outside(joint->sets) ? &joint->outside
		: set == heap_group_sets_many(joint->sets)  ? &joint->many
							    : &joint->joints[set - groups - 2];
	add_top(top, &class->retained, &class->retained_objects);
}

// Each top takes over who leads to it. @param holders  [tops] gets sets of groups
HEAP_MUST_CHECK
static struct heap_error *find_holders(const struct heap_root_sizes *sizes, const uint32_t *group,
				       struct heap_group_sets *sets, uint32_t *holders)
{
	memset(holders, 0xff, ((size_t)sizes->tops + 1) * sizeof(*holders));
	for (uint32_t i = 0; i < sizes->graph->snapshot->root_count; i++)
		holders[top_of_root(sizes, i)] =
			group[i] == HEAP_NO_GROUP ? heap_group_sets_outside(sets) : group[i];
	for (uint32_t i = sizes->tops; i-- > 0;) {
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

// Sorts joint sizes, leaving out sets that grew on the way and that no top kept.
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
	HEAP_TRY(heap_column_create((size_t)sizes->tops + 1, sizeof(*joint->holders),
				    &joint->holders));
	HEAP_TRY(find_holders(sizes, group, joint->sets, joint->holders));
	joint->joints = calloc(joint->sets->sets.count + 1, sizeof(*joint->joints));
	if (!joint->joints)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < sizes->tops; i++)
		add_to_class(&sizes->top_sizes[i], joint->holders[i], result, joint);
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
	uint32_t top = sizes->top_of[object], groups = joint->sets->groups, set;

	if (top == NO_TOP)
		return HEAP_CLASS_LEAKED;
	set = joint->holders[top];
	if (set < groups || set == HEAP_NO_GROUP_SET)
		return set;
	if (set == heap_group_sets_outside(joint->sets))
		return HEAP_CLASS_OUTSIDE(groups);
	if (set == heap_group_sets_many(joint->sets))
		return HEAP_CLASS_MANY(groups);
	return joint->class_of[set - HEAP_CLASS_JOINT(groups)];
}

static void add_reach(uint64_t groups, const struct top_size *top, struct heap_root_size *result)
{
	for (; groups; groups &= groups - 1) {
		struct heap_root_size *size = &result[__builtin_ctzll(groups)];

		size->reachable += top->bytes;
		size->reachable_objects += top->objects;
	}
}

// Sums up what BATCH groups, from `from` on, reach.
static void measure_reach(const struct heap_root_sizes *sizes, const uint32_t *group, uint32_t from,
			  uint64_t *reached, struct heap_root_size *result)
{
	struct top_size alike = { 0, 0 }; // of tops in a row that the same groups reach
	uint64_t last = 0;

	memset(reached, 0, ((size_t)sizes->tops + 1) * sizeof(*reached));
	for (uint32_t i = 0; i < sizes->graph->snapshot->root_count; i++) {
		if (group[i] >= from && group[i] - from < BATCH)
			reached[top_of_root(sizes, i)] |= UINT64_C(1) << (group[i] - from);
	}
	for (uint32_t i = sizes->tops; i-- > 0;) {
		if (!reached[i])
			continue;
		for (uint32_t j = sizes->first[i]; j < sizes->first[i + 1]; j++)
			reached[sizes->targets[j]] |= reached[i];
		if (reached[i] != last) {
			add_reach(last, &alike, result + from);
			alike = (struct top_size){ 0, 0 };
			last = reached[i];
		}
		alike.bytes += sizes->top_sizes[i].bytes;
		alike.objects += sizes->top_sizes[i].objects;
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
		    heap_root_edge_level(sizes->graph, edge) == sizes->levels[edge->target])
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
	HEAP_TRY(heap_column_create((size_t)sizes->tops + 1, sizeof(*reached), &reached));
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
