// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/print/referrer_tree.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/referrers.h"
#include "shell/print/describe.h"

#include <stdlib.h>

// --- the order of an object's holders -----------------------------------------

// One pointer to an object.
struct pointer {
	uint64_t rank; // less is better
	struct holder holder;
};

// Named roots, nearer objects, other roots, other objects, the object itself.
enum place {
	PLACE_NAMED,
	PLACE_NEARER,
	PLACE_NAMELESS,
	PLACE_FARTHER,
	PLACE_ITSELF,
};

enum {
	PLACE_SHIFT = 40,
	UNTYPED = 1 << 1,
	INTERIOR = 1 << 0,
	DOUBT_SHIFT = 32,
};

static struct pointer root_pointer(const struct holder_tree *tree, uint32_t edge)
{
	const struct heap_snapshot *snapshot = tree->graph->snapshot;
	uint32_t root = snapshot->root_edges[edge].root;
	uint64_t rank = heap_root_rank(tree->graph, &snapshot->roots[root]);
	uint64_t place = heap_root_is_named(&snapshot->roots[root]) ? PLACE_NAMED : PLACE_NAMELESS;

	return (struct pointer){
		.rank = place << PLACE_SHIFT | rank << DOUBT_SHIFT | root,
		.holder = { .object = HEAP_NO_NODE, .root_edge = edge, .fields = 1 },
	};
}

static int compare_qualities(const void *left, const void *right)
{
	const struct heap_edge_quality *a = left, *b = right;

	return a->edge < b->edge ? -1 : a->edge > b->edge;
}

static struct heap_edge_quality quality_of(const struct holder_tree *tree, uint32_t edge)
{
	struct heap_edge_quality key = { .edge = edge };
	const struct heap_edge_quality *found =
		bsearch(&key, tree->qualities, tree->quality_count, sizeof(key), compare_qualities);

	return found ? *found : key;
}

static struct pointer object_pointer(const struct holder_tree *tree, heap_node_id object,
				     heap_node_id source, uint32_t edge)
{
	const uint32_t *distance = tree->graph->distance;
	struct heap_edge_quality quality = quality_of(tree, edge);
	uint64_t doubt =
		(quality.flags & HEAP_EDGE_TYPED ? 0 : UNTYPED) | (quality.interior ? INTERIOR : 0);
	uint64_t place = source == object                      ? PLACE_ITSELF
			 : distance[source] < distance[object] ? PLACE_NEARER
							       : PLACE_FARTHER;

	quality.edge = heap_divided_edge(tree->session->divided, edge);
	return (struct pointer){
		.rank = place << PLACE_SHIFT | doubt << DOUBT_SHIFT | distance[source],
		.holder = { .object = source, .quality = quality, .fields = 1 },
	};
}

// Root edges and edges are numbered apart.
static int compare_edges(const struct holder *a, const struct holder *b)
{
	if (a->object == HEAP_NO_NODE)
		return a->root_edge < b->root_edge ? -1 : a->root_edge > b->root_edge;
	return a->quality.edge < b->quality.edge ? -1 : a->quality.edge > b->quality.edge;
}

static int compare_ranks(const void *left, const void *right)
{
	const struct pointer *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare_edges(&a->holder, &b->holder);
}

static int compare_objects(const void *left, const void *right)
{
	const struct pointer *a = left, *b = right;

	if (a->holder.object != b->holder.object)
		return a->holder.object < b->holder.object ? -1 : 1;
	return compare_ranks(a, b);
}

static bool is_same_holder(const struct holder_tree *tree, const struct holder *a,
			   const struct holder *b)
{
	const struct heap_root_edge *edges = tree->session->snapshot->root_edges;

	if (a->object != b->object)
		return false;
	return a->object != HEAP_NO_NODE || edges[a->root_edge].root == edges[b->root_edge].root;
}

// Leaves the best pointer of each holder. @return how many holders
static uint32_t merge(const struct holder_tree *tree, struct pointer *pointers, uint32_t count)
{
	uint32_t kept = 0;

	qsort(pointers, count, sizeof(*pointers), compare_objects);
	for (uint32_t i = 0; i < count; i++) {
		if (kept > 0 &&
		    is_same_holder(tree, &pointers[kept - 1].holder, &pointers[i].holder))
			pointers[kept - 1].holder.fields++;
		else
			pointers[kept++] = pointers[i];
	}
	qsort(pointers, kept, sizeof(*pointers), compare_ranks);
	return kept;
}

HEAP_MUST_CHECK
static struct heap_error *fill(struct holder_tree *tree, struct held *held)
{
	struct heap_referrer_list of = heap_referrers_get(tree->all, held->object);
	uint32_t count = of.root_count + of.count;
	CLEANUP_FREE struct pointer *pointers = calloc((size_t)count + 1, sizeof(*pointers));

	if (!pointers)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < of.root_count; i++)
		pointers[i] = root_pointer(tree, of.root_edges[i]);
	for (uint32_t i = 0; i < of.count; i++)
		pointers[of.root_count + i] =
			object_pointer(tree, held->object, of.sources[i], of.edges[i]);
	held->count = merge(tree, pointers, count);
	held->holders = session_allocate(tree->session, held->count * sizeof(*held->holders));
	if (!held->holders)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < held->count; i++) {
		held->holders[i] = pointers[i].holder;
		held->roots += pointers[i].holder.object == HEAP_NO_NODE;
	}
	return NULL;
}

// --- level by level -------------------------------------------------------------

// Objects whose holders are found together.
struct level HEAP_ARRAY(heap_node_id);

// Reads the quality of an edge of the graph of nodes, whose columns are all loaded.
static void read_quality(const struct holder_tree *tree, struct heap_edge_quality *quality)
{
	const struct heap_snapshot *snapshot = tree->session->snapshot;
	const struct heap_divided *divided = tree->session->divided;
	heap_node_id target = tree->graph->snapshot->edge_target[quality->edge];
	const struct heap_part *part = heap_divided_part(divided, target);
	uint32_t edge = heap_divided_edge(divided, quality->edge);

	if (edge == UINT32_MAX)
		return;
	quality->interior = snapshot->edge_interior[edge] - (part ? (uint32_t)part->offset : 0);
	quality->flags = snapshot->edge_flags[edge];
}

// Finds the quality of the pointers to a level's objects, all at once.
HEAP_MUST_CHECK
static struct heap_error *find_qualities(struct holder_tree *tree, const struct level *level)
{
	size_t count = 0;

	for (size_t i = 0; i < level->count; i++)
		count += heap_referrers_get(tree->all, level->items[i]).count;
	free(tree->qualities);
	tree->quality_count = 0;
	tree->qualities = calloc(count + 1, sizeof(*tree->qualities));
	if (!tree->qualities)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < level->count; i++) {
		struct heap_referrer_list of = heap_referrers_get(tree->all, level->items[i]);

		for (uint32_t j = 0; j < of.count; j++)
			tree->qualities[tree->quality_count++].edge = of.edges[j];
	}
	qsort(tree->qualities, count, sizeof(*tree->qualities), compare_qualities);
	if (!tree->session->divided->graph)
		return heap_snapshot_find_quality(tree->session->snapshot, tree->qualities, count);
	for (size_t i = 0; i < count; i++)
		read_quality(tree, &tree->qualities[i]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_known(struct holder_tree *tree, heap_node_id object)
{
	struct held *held = session_allocate(tree->session, sizeof(*held));

	if (!held)
		return heap_error_out_of_memory();
	HEAP_TRY(heap_reserve(tree->known, tree->known_capacity, tree->known_count + 1));
	tree->known[tree->known_count++] = held;
	tree->place[object] = (uint32_t)tree->known_count;
	held->object = object;
	return fill(tree, held);
}

// Gathers those holders of an object that are to be followed and are not known yet.
HEAP_MUST_CHECK
static struct heap_error *add_holders(struct holder_tree *tree, const struct held *held,
				      uint64_t width, struct level *next)
{
	for (uint64_t i = 0; i < held->count && i < width; i++) {
		heap_node_id object = held->holders[i].object;

		if (object != HEAP_NO_NODE && tree->place[object] == 0)
			HEAP_TRY(heap_array_append(next, object));
	}
	return NULL;
}

// Makes a level known, and gathers the next one.
HEAP_MUST_CHECK
static struct heap_error *find_level(struct holder_tree *tree, const struct level *level,
				     uint64_t width, struct level *next)
{
	size_t first = tree->known_count;

	HEAP_TRY(heap_referrers_need(tree->all, level->items, level->count));
	HEAP_TRY(find_qualities(tree, level));
	for (size_t i = 0; i < level->count; i++) {
		if (tree->place[level->items[i]] == 0)
			HEAP_TRY(add_known(tree, level->items[i]));
	}
	next->count = 0;
	for (size_t i = first; i < tree->known_count; i++)
		HEAP_TRY(add_holders(tree, tree->known[i], width, next));
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_levels(struct holder_tree *tree, heap_node_id object,
				      const struct holder_widths *widths)
{
	CLEANUP_ARRAY struct level level = { 0 };
	CLEANUP_ARRAY struct level next = { 0 };

	HEAP_TRY(heap_array_append(&level, object));
	for (uint64_t i = 0; level.count > 0 && !session_must_stop(tree->session); i++) {
		struct level found = level;

		HEAP_TRY(
			find_level(tree, &level, i < widths->levels ? widths->width[i] : 1, &next));
		level = next;
		next = found;
	}
	return NULL;
}

// Loads what is said of all that may be shown.
HEAP_MUST_CHECK
static struct heap_error *load(const struct holder_tree *tree)
{
	CLEANUP_FREE heap_object_id *objects = calloc(tree->known_count + 1, sizeof(*objects));

	if (!objects)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < tree->known_count; i++)
		objects[i] = heap_divided_block(tree->session->divided, tree->known[i]->object);
	HEAP_TRY(describe_load_around(tree->session, objects, tree->known_count));
	return heap_snapshot_load_neighbours(tree->session->snapshot, HEAP_COLUMN_SLOTS, objects,
					     tree->known_count);
}

struct heap_error *holder_tree_find(struct holder_tree *result, struct session *session,
				    heap_node_id object, const struct holder_widths *widths)
{
	*result = (struct holder_tree){ .session = session };
	HEAP_TRY(session_nodes(session, &result->graph));
	HEAP_TRY(heap_graph_need_distance(result->graph));
	HEAP_TRY(heap_referrers_create(result->graph, &result->all));
	HEAP_TRY(heap_column_create_sparse((size_t)result->graph->snapshot->object_count + 1,
					   sizeof(*result->place), &result->place));
	HEAP_TRY(find_levels(result, object, widths));
	return load(result);
}

void holder_tree_deinit(struct holder_tree *tree)
{
	heap_referrers_destroy(tree->all);
	heap_column_destroy(tree->place);
	free(tree->known);
	free(tree->qualities);
}

// --- paths up ----------------------------------------------------------------------

struct held *holder_tree_get(const struct holder_tree *tree, heap_node_id object)
{
	uint32_t place = object == HEAP_NO_NODE ? 0 : tree->place[object];

	return place == 0 ? NULL : tree->known[place - 1];
}

struct held *holder_tree_next(const struct holder_tree *tree, const struct held *held)
{
	return held->count > 0 ? holder_tree_get(tree, held->holders[0].object) : NULL;
}

// A path of leaked objects may be a cycle; it is no longer than there are objects.
size_t holder_tree_walk(const struct holder_tree *tree, const struct held *held,
			const struct held **end)
{
	size_t steps = 0;

	*end = held;
	while (steps < tree->known_count) {
		const struct held *next = holder_tree_next(tree, *end);

		if (!next)
			break;
		*end = next;
		steps++;
	}
	return steps;
}
