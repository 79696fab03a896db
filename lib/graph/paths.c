// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/paths.h"

#include "lib/base/array.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/edge_bits.h"
#include "lib/graph/bfs.h"
#include "lib/types/member_path.h"
#include "lib/base/parallel.h"

#include <string.h>

enum {
	PIECE = 1 << 14, // objects whose edges a thread takes at a time
	NEAR = 30,       // objects that a linear search passes before a binary one
};

// The doubt about a pointer: an untyped one is worse than one into the middle. The low bits of a
// typed one may be a tag.
static uint32_t cost_of(uint32_t interior, uint8_t flags)
{
	bool typed = flags & HEAP_EDGE_TYPED;

	return (typed ? 0 : 2) + (interior >= (typed ? 8 : 1));
}

// Objects of one distance from the end.
struct level {
	heap_object_id *objects; // ascending
	size_t count, capacity;
};

// A search backwards from the object, a level at a time. As long as the graph is not transposed, the
// referrers of a level are found by a pass over all edges.
struct search {
	struct heap_graph *graph;
	struct heap_graph
		*nodes; // that is searched: the same, or one in which parts of pools are objects
	const struct heap_path_limits *limits;
	uint32_t *next_edge;  // [objects] edge that leads on; UINT32_MAX: not visited
	uint32_t *cost;       // [objects] of all edges from it on
	uint8_t *settled;     // [objects / 8 + 1] bitmap: of this level or an earlier one
	uint8_t *is_in_level; // [objects / 8 + 1] bitmap: of this level; 0 outside a pass
	struct level level;
};

// The snapshot's edge that one of the nodes is; UINT32_MAX: it leads from a pool to its part, or back.
static uint32_t origin_of(const struct search *search, uint32_t edge)
{
	const struct heap_divided *divided = search->limits->divided;

	return divided ? heap_divided_edge(divided, edge) : edge;
}

// Where in a block a node begins.
static uint64_t start_of(const struct search *search, heap_node_id node)
{
	const struct heap_divided *divided = search->limits->divided;
	const struct heap_part *part = divided ? heap_divided_part(divided, node) : NULL;

	return part ? part->offset : 0;
}

static uint32_t edge_cost(const struct search *search, uint32_t edge)
{
	const struct heap_snapshot *snapshot = search->graph->snapshot;
	uint32_t origin = origin_of(search, edge);
	uint64_t start = start_of(search, search->nodes->snapshot->edge_target[edge]);

	return origin == UINT32_MAX ? 0
				    : cost_of(snapshot->edge_interior[origin] - (uint32_t)start,
					      snapshot->edge_flags[origin]);
}

static bool is_allowed(const struct search *search, uint32_t nodes_edge)
{
	const struct heap_path_limits *limits = search->limits;
	uint32_t edge = origin_of(search, nodes_edge);

	if (edge == UINT32_MAX)
		return true;
	return (!limits->typed_only ||
		(search->graph->snapshot->edge_flags[edge] & HEAP_EDGE_TYPED)) &&
	       !(limits->no_edge && heap_bit_get(limits->no_edge, edge));
}

static bool is_root_allowed(const struct search *search, uint32_t edge)
{
	const struct heap_path_limits *limits = search->limits;

	return (!limits->typed_only ||
		(search->graph->snapshot->root_edges[edge].flags & HEAP_EDGE_TYPED)) &&
	       !(limits->no_root_edge && heap_bit_get(limits->no_root_edge, edge));
}

HEAP_MUST_CHECK
static struct heap_error *add_to_level(struct level *level, heap_object_id object)
{
	if (level->count == level->capacity) {
		size_t capacity = level->capacity * 2 + 64;

		HEAP_TRY(heap_column_resize(capacity * sizeof(*level->objects), &level->objects));
		level->capacity = capacity;
	}
	level->objects[level->count++] = object;
	return NULL;
}

// Adds an object that points to one of this level to the next one, unless it has been visited. Of its
// edges the one with the best path on counts, or else the first.
HEAP_MUST_CHECK
static struct heap_error *offer_referrer(const struct search *search, heap_object_id holder,
					 uint32_t edge, struct level *next)
{
	uint32_t best = search->next_edge[holder];
	uint32_t cost;

	if (heap_bit_get(search->settled, holder) || !is_allowed(search, edge))
		return NULL;
	cost = search->cost[search->nodes->snapshot->edge_target[edge]] + edge_cost(search, edge);
	if (best != UINT32_MAX &&
	    (search->cost[holder] < cost || (search->cost[holder] == cost && best < edge)))
		return NULL;
	search->next_edge[holder] = edge;
	search->cost[holder] = cost;
	return best == UINT32_MAX ? add_to_level(next, holder) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow_reverse(const struct search *search, struct level *next)
{
	const struct heap_graph *graph = search->nodes;
	const struct level *level = &search->level;

	for (size_t i = 0; i < level->count; i++) {
		heap_object_id object = level->objects[i];

		for (uint32_t j = graph->in_first[object]; j < graph->in_first[object + 1]; j++)
			HEAP_TRY(offer_referrer(search, graph->in_source[j], graph->in_edge[j],
						next));
	}
	return NULL;
}

// --- a pass ------------------------------------------------------------------

// The object that an edge leaves. @param source  that an earlier edge leaves: mostly a near one
static heap_object_id source_after(const struct heap_graph *graph, heap_object_id source,
				   uint32_t edge)
{
	const uint32_t *first = graph->snapshot->edge_first;

	for (unsigned i = 0; i < NEAR; i++) {
		if (edge < first[source + 1])
			return source;
		source++;
	}
	return heap_graph_source(graph, edge);
}

// Threads take pieces of objects, so that one thread alone writes to an object's entries.
struct pass {
	const struct search *search;
	struct level *found; // [pieces]
};

HEAP_MUST_CHECK
static struct heap_error *search_piece(void *context, size_t number)
{
	const struct pass *pass = context;
	const struct heap_graph *graph = pass->search->nodes;
	const struct heap_snapshot *snapshot = graph->snapshot;
	heap_object_id source = (heap_object_id)number * PIECE;
	heap_object_id end =
		snapshot->object_count - source < PIECE ? snapshot->object_count : source + PIECE;
	const uint8_t *is_in_level = pass->search->is_in_level;

	for (uint32_t i = snapshot->edge_first[source]; i < snapshot->edge_first[end]; i++) {
		if (!heap_bit_get(is_in_level, snapshot->edge_target[i]))
			continue;
		source = source_after(graph, source, i);
		HEAP_TRY(offer_referrer(pass->search, source, i, &pass->found[number]));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *join(const struct pass *pass, size_t pieces, struct level *next)
{
	for (size_t i = 0; i < pieces; i++) {
		for (size_t j = 0; j < pass->found[i].count; j++)
			HEAP_TRY(add_to_level(next, pass->found[i].objects[j]));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *follow_by_pass(struct search *search, struct level *next)
{
	size_t pieces = ((size_t)search->nodes->snapshot->object_count + PIECE - 1) / PIECE;
	CLEANUP_FREE struct level *found = calloc(pieces + 1, sizeof(*found));
	struct pass pass = { search, found };
	const struct level *level = &search->level;
	struct heap_error *error;

	if (!found)
		return heap_error_out_of_memory();
	search->nodes->passes++;
	for (size_t i = 0; i < level->count; i++)
		heap_bit_set(search->is_in_level, level->objects[i]);
	error = heap_parallel_run(pieces, search_piece, &pass);
	for (size_t i = 0; i < level->count; i++)
		search->is_in_level[level->objects[i] / 8] = 0;
	if (!error)
		error = join(&pass, pieces, next);
	for (size_t i = 0; i < pieces; i++)
		heap_column_destroy(found[i].objects);
	return error;
}

// --- levels ------------------------------------------------------------------

// Takes a root edge into the level if it is better: by the root's rank, then the cost of the path.
static void offer_root_edge(const struct search *search, uint64_t index, uint64_t *best,
			    uint64_t *root_edge)
{
	const struct heap_root_edge *edge = &search->nodes->snapshot->root_edges[index];
	const struct heap_root *root = &search->graph->snapshot->roots[edge->root];
	uint64_t rank = heap_root_rank(search->graph, root);
	uint64_t offer =
		(rank << 48) + search->cost[edge->target] + cost_of(edge->interior, edge->flags);

	if ((offer < *best || (offer == *best && index < *root_edge)) &&
	    is_root_allowed(search, (uint32_t)index)) {
		*best = offer;
		*root_edge = index;
	}
}

// Finds the best root edge into the level. @return false if there is none
static bool find_best_root_edge(const struct search *search, uint64_t *root_edge)
{
	const struct heap_graph *graph = search->nodes;
	const struct heap_snapshot *snapshot = graph->snapshot;
	uint64_t best = UINT64_MAX;

	for (size_t i = 0; graph->in_first && i < search->level.count; i++) {
		heap_object_id object = search->level.objects[i];

		for (uint32_t j = graph->root_in_first[object];
		     j < graph->root_in_first[object + 1]; j++)
			offer_root_edge(search, graph->root_in[j], &best, root_edge);
	}
	for (uint64_t i = 0; !graph->in_first && i < snapshot->root_edge_count; i++) {
		// Objects of earlier levels have no root edge that is allowed.
		if (heap_bit_get(search->settled, snapshot->root_edges[i].target))
			offer_root_edge(search, i, &best, root_edge);
	}
	return best != UINT64_MAX;
}

HEAP_MUST_CHECK
static struct heap_error *follow(struct search *search, struct level *next)
{
	struct heap_graph *graph = search->nodes;

	if (!graph->in_first && graph->passes >= HEAP_GRAPH_PASSES)
		HEAP_TRY(heap_graph_need_reverse(graph));
	return graph->in_first ? follow_reverse(search, next) : follow_by_pass(search, next);
}

static void level_deinit(struct level *level)
{
	heap_column_destroy(level->objects);
}

// Finds the best root edge into the first level that has any.
HEAP_MUST_CHECK
static struct heap_error *find_root_edge(struct search *search, uint64_t *root_edge)
{
	const struct heap_graph *graph = search->nodes;
	CLEANUP(level_deinit) struct level next = { 0 };
	uint64_t settled = 0, reported = 0;

	while (search->level.count > 0) {
		struct level level = search->level;

		for (size_t i = 0; i < level.count; i++)
			heap_bit_set(search->settled, level.objects[i]);
		if (find_best_root_edge(search, root_edge))
			return NULL;
		next.count = 0;
		HEAP_TRY(follow(search, &next));
		search->level = next;
		next = level;
		settled += level.count;
		if (settled - reported >= HEAP_PROGRESS_STEP) {
			reported = settled;
			HEAP_TRY(heap_progress_report(graph->progress, "a path from a root",
						      settled, graph->snapshot->object_count));
		}
	}
	return heap_error_create(HEAP_ERROR_ABSENT, "no root reaches it");
}

// Follows the path that was found twice: to count its edges, and to copy them.
HEAP_MUST_CHECK
static struct heap_error *copy_path(const struct search *search, uint64_t root_edge,
				    heap_node_id object, struct heap_path *result)
{
	const struct heap_snapshot *nodes = search->nodes->snapshot;
	heap_node_id start = nodes->root_edges[root_edge].target;
	struct heap_path path = { .root_edge = root_edge };
	size_t most = 1;

	for (heap_node_id at = start; at != object; at = nodes->edge_target[search->next_edge[at]])
		most++;
	path.edges = malloc(most * sizeof(*path.edges));
	if (!path.edges)
		return heap_error_out_of_memory();
	for (heap_node_id at = start; at != object;
	     at = nodes->edge_target[search->next_edge[at]]) {
		uint32_t origin = origin_of(search, search->next_edge[at]);

		if (origin == UINT32_MAX)
			continue;
		path.edges[path.count++] = origin;
		path.last = search->next_edge[at];
	}
	*result = path;
	return NULL;
}

static void search_deinit(struct search *search)
{
	level_deinit(&search->level);
}

// The graph that is searched.
static struct heap_graph *nodes_of(struct heap_graph *graph, const struct heap_path_limits *limits)
{
	return limits->divided && limits->divided->graph ? limits->divided->graph : graph;
}

struct heap_error *heap_path_find_within(struct heap_graph *graph, heap_node_id object,
					 const struct heap_path_limits *limits,
					 struct heap_path *result)
{
	struct heap_graph *nodes = nodes_of(graph, limits);
	size_t objects = (size_t)nodes->snapshot->object_count + 1;
	CLEANUP_COLUMN uint32_t *next_edge = NULL;
	CLEANUP_COLUMN uint32_t *cost = NULL;
	CLEANUP_COLUMN uint8_t *settled = NULL;
	CLEANUP_COLUMN uint8_t *is_in_level = NULL;
	uint64_t root_edge = 0;

	HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_QUALITY));
	HEAP_TRY(heap_column_create(objects, sizeof(*next_edge), &next_edge));
	HEAP_TRY(heap_column_create(objects, sizeof(*cost), &cost));
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &settled));
	HEAP_TRY(heap_column_create(objects / 8 + 1, 1, &is_in_level));

	CLEANUP(search_deinit)
	struct search search = {
		graph, nodes, limits, next_edge, cost, settled, is_in_level, { 0 }
	};

	memset(next_edge, 0xff, objects * sizeof(*next_edge));
	HEAP_TRY(add_to_level(&search.level, object));
	HEAP_TRY(find_root_edge(&search, &root_edge));
	return copy_path(&search, root_edge, object, result);
}

struct heap_error *heap_path_find(struct heap_graph *graph, heap_object_id object,
				  struct heap_path *result)
{
	static const struct heap_path_limits none = { 0 };

	return heap_path_find_within(graph, object, &none, result);
}

void heap_path_deinit(struct heap_path *path)
{
	free(path->edges);
}

// --- several paths ------------------------------------------------------------

// Forbids the last step of a path, so that the next ones come from other roots or referrers.
static void forbid(struct heap_graph *graph, const struct heap_path_limits *limits,
		   const struct heap_path *path)
{
	const struct heap_graph *nodes = nodes_of(graph, limits);
	const struct heap_snapshot *snapshot = nodes->snapshot;
	uint8_t *no_edge = (uint8_t *)(uintptr_t)limits->no_edge;
	uint8_t *no_root_edge = (uint8_t *)(uintptr_t)limits->no_root_edge;
	heap_node_id holder;

	if (path->count == 0) {
		const struct heap_root_edge *edge = &snapshot->root_edges[path->root_edge];

		for (uint64_t i = heap_snapshot_first_root_edge(graph->snapshot, edge->root);
		     i < snapshot->root_edge_count && snapshot->root_edges[i].root == edge->root;
		     i++) {
			if (snapshot->root_edges[i].target == edge->target)
				heap_bit_set(no_root_edge, (uint32_t)i);
		}
		return;
	}
	holder = heap_graph_source(nodes, path->last);
	for (uint32_t i = snapshot->edge_first[holder]; i < snapshot->edge_first[holder + 1]; i++) {
		uint32_t origin = limits->divided ? heap_divided_edge(limits->divided, i) : i;

		if (origin != UINT32_MAX &&
		    snapshot->edge_target[i] == snapshot->edge_target[path->last])
			heap_bit_set(no_edge, origin);
	}
}

static heap_object_id block_of(const struct heap_path_limits *limits, heap_node_id node)
{
	return limits->divided ? heap_divided_block(limits->divided, node) : node;
}

// Finds paths of one quality.
HEAP_MUST_CHECK
static struct heap_error *find_of_quality(struct heap_graph *graph, heap_node_id object,
					  const struct heap_path_limits *limits, size_t limit,
					  struct heap_path *result, size_t *count)
{
	while (*count < limit) {
		struct heap_error *error =
			heap_path_find_within(graph, object, limits, &result[*count]);

		if (error && heap_error_code(error) == HEAP_ERROR_ABSENT) {
			heap_error_destroy(error);
			return NULL;
		}
		if (error)
			return error;
		forbid(graph, limits, &result[(*count)++]);
	}
	return NULL;
}

// True if typed pointers alone lead from a root to an object, as far as no edge is forbidden. To find
// that out backwards would take one level after the other to the last.
HEAP_MUST_CHECK
static struct heap_error *is_held_by_types(const struct heap_graph *graph, heap_object_id object,
					   bool *result)
{
	const struct heap_snapshot *snapshot = graph->snapshot;
	CLEANUP_COLUMN uint8_t *typed = NULL;
	struct heap_bfs bfs;
	struct heap_error *error;

	HEAP_TRY(heap_snapshot_load(graph->snapshot, HEAP_COLUMN_QUALITY));
	HEAP_TRY(heap_edge_bits_create(graph->snapshot, HEAP_EDGE_BY_TYPE, &typed));
	HEAP_TRY(heap_bfs_init(&bfs, snapshot));
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++) {
		if (snapshot->root_edges[i].flags & HEAP_EDGE_TYPED)
			heap_bfs_add(&bfs, snapshot->root_edges[i].target);
	}
	error = heap_bfs_run(&bfs, &(struct heap_bfs_options){ .edges = typed,
							       .progress = graph->progress,
							       .what = "typed paths" });
	*result = heap_bfs_has(&bfs, object);
	heap_bfs_deinit(&bfs);
	return error;
}

struct heap_error *heap_paths_find(struct heap_graph *graph, const struct heap_divided *divided,
				   heap_node_id object, const uint8_t *no_edge, size_t limit,
				   struct heap_path *result, size_t *count)
{
	size_t edge_bytes = (size_t)graph->snapshot->edge_count / 8 + 1;
	CLEANUP_COLUMN uint8_t *edges = NULL;
	CLEANUP_COLUMN uint8_t *root_edges = NULL;
	size_t found = 0;
	bool by_types = false;
	struct heap_error *error;

	HEAP_TRY(heap_column_create(edge_bytes, 1, &edges));
	HEAP_TRY(heap_column_create(graph->snapshot->root_edge_count / 8 + 1, 1, &root_edges));
	if (no_edge)
		memcpy(edges, no_edge, edge_bytes);

	struct heap_path_limits limits = { divided, true, edges, root_edges };

	error = is_held_by_types(graph, block_of(&limits, object), &by_types);
	if (!error && by_types)
		error = find_of_quality(graph, object, &limits, limit, result, &found);
	limits.typed_only = false;
	if (!error)
		error = find_of_quality(graph, object, &limits, limit, result, &found);
	if (!error) {
		*count = found;
		return NULL;
	}
	while (found > 0)
		heap_path_deinit(&result[--found]);
	return error;
}

// --- fields ------------------------------------------------------------------

enum {
	MAX_BASES = 512, // visited for one class
	MAX_DEPTH = 24,  // of base classes inside each other
};

// Bytes of objects of a type.
struct range {
	uint64_t start, size;
	uint32_t next; // of the same type, a number; 0: none
};

struct ranges {
	const struct heap_types *types;
	uint32_t *first; // [types.count] the number of its first range; 0: none
	struct range *list;
	uint32_t count, capacity; // the first one is not used
};

HEAP_MUST_CHECK
static struct heap_error *add_range(struct ranges *ranges, heap_type_id type, uint64_t start,
				    uint64_t size)
{
	ranges->count += ranges->count == 0;
	HEAP_TRY(heap_reserve(ranges->list, ranges->capacity, (size_t)ranges->count + 1));
	ranges->list[ranges->count] = (struct range){ start, size, ranges->first[type] };
	ranges->first[type] = ranges->count++;
	return NULL;
}

// The field in all types of a name.
HEAP_MUST_CHECK
static struct heap_error *find_fields(struct ranges *ranges, const char *type_name,
				      const char *field, bool *is_virtual)
{
	const struct heap_types *types = ranges->types;
	heap_type_id type = HEAP_NO_TYPE;

	while ((type = heap_types_find(types, type_name, type ? type + 1 : 0)) != HEAP_NO_TYPE) {
		struct heap_member_place place;

		if (heap_member_is_virtual(types, type, field))
			*is_virtual = true;
		else if (heap_member_find(types, type, field, &place))
			HEAP_TRY(add_range(ranges, heap_types_strip(types, type), place.offset,
					   heap_types_size(types, place.type)));
	}
	return NULL;
}

// Where type and field part is not clear: types have dots, too, as std::ratio<1.5> would.
HEAP_MUST_CHECK
static struct heap_error *find_named(struct ranges *ranges, const char *name)
{
	bool is_virtual = false;

	for (const char *dot = strchr(name, '.'); dot && ranges->count == 0;
	     dot = strchr(dot + 1, '.')) {
		CLEANUP_FREE char *type_name = strndup(name, (size_t)(dot - name));

		if (!type_name)
			return heap_error_out_of_memory();
		if (dot > name && dot[1])
			HEAP_TRY(find_fields(ranges, type_name, dot + 1, &is_virtual));
	}
	if (ranges->count > 0)
		return NULL;
	return heap_error_create(HEAP_ERROR_ABSENT,
				 is_virtual ? "%s: in a virtual base class, whose place in an "
					      "object is not known"
					    : "%s: no such type or field",
				 name);
}

struct bases {
	struct ranges *ranges;
	heap_type_id class;
	uint32_t own; // ranges below that number are of fields that were named
	unsigned visits;
};

// A field of a base is one of the classes that have it.
HEAP_MUST_CHECK
static struct heap_error *inherit(struct bases *bases, heap_type_id type, uint64_t offset,
				  int depth)
{
	const struct heap_types *types = bases->ranges->types;
	const struct heap_type *all = &types->types[type];

	if ((all->kind != HEAP_TYPE_STRUCT && all->kind != HEAP_TYPE_CLASS) || depth > MAX_DEPTH ||
	    bases->visits++ > MAX_BASES)
		return NULL;
	for (uint32_t i = 0; i < all->members; i++) {
		const struct heap_member *member = &types->members[all->first_member + i];
		heap_type_id base = heap_types_strip(types, member->type);
		uint64_t at = offset + member->offset;

		if (!(member->flags & HEAP_MEMBER_BASE) ||
		    (member->flags & HEAP_MEMBER_VIRTUAL_BASE))
			continue;
		for (uint32_t j = bases->ranges->first[base]; j; j = bases->ranges->list[j].next) {
			const struct range range = bases->ranges->list[j];

			if (j < bases->own)
				HEAP_TRY(add_range(bases->ranges, bases->class, at + range.start,
						   range.size));
		}
		HEAP_TRY(inherit(bases, base, at, depth + 1));
	}
	return NULL;
}

static bool is_in_ranges(const struct ranges *ranges, heap_type_id type, uint64_t offset)
{
	for (uint32_t i = ranges->first[type]; i; i = ranges->list[i].next) {
		if (offset >= ranges->list[i].start &&
		    offset - ranges->list[i].start < ranges->list[i].size)
			return true;
	}
	return false;
}

// Marks the edges that leave objects by the ranges of their types.
static void mark_ranges(const struct heap_snapshot *snapshot, const struct ranges *ranges,
			uint8_t *bits)
{
	const struct heap_types *types = &snapshot->types;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		heap_type_id type = heap_types_strip(types, snapshot->type[i]);
		uint64_t element = heap_types_size(types, type);

		if (!ranges->first[type] || element == 0)
			continue;
		// No second structure follows a flexible one.
		if (heap_types_flexible(types, type, NULL, NULL))
			element = UINT64_MAX;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			if (is_in_ranges(ranges, type,
					 (uint64_t)snapshot->edge_slot[j] * 8 % element))
				heap_bit_set(bits, j);
		}
	}
}

static void ranges_deinit(struct ranges *ranges)
{
	free(ranges->list);
}

struct heap_error *heap_path_mark_field(struct heap_snapshot *snapshot, const char *name,
					uint8_t *bits)
{
	const struct heap_types *types = &snapshot->types;
	const char *dot = strchr(name, '.');
	CLEANUP_FREE uint32_t *first = NULL;

	if (!dot || dot == name || !dot[1])
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: not a field, TYPE.FIELD as in node.next; "
					 "variables cannot be avoided",
					 name);
	first = calloc((size_t)types->count + 1, sizeof(*first));
	if (!first)
		return heap_error_out_of_memory();

	CLEANUP(ranges_deinit) struct ranges ranges = { .types = types, .first = first };

	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_TYPE | HEAP_COLUMN_SLOTS));
	HEAP_TRY(find_named(&ranges, name));
	for (heap_type_id i = 1, own = ranges.count; i < types->count; i++) {
		struct bases bases = { &ranges, i, own, 0 };

		HEAP_TRY(inherit(&bases, i, 0, 0));
	}
	mark_ranges(snapshot, &ranges, bits);
	return NULL;
}
