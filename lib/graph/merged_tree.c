// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/merged_tree.h"

#include "lib/base/cleanup.h"
#include "lib/base/column.h"

enum {
	FIRST_SLOTS = 1024, // of the hash table; a power of two
	// A program whose types nest without end, or a hostile file: what is beyond belongs to
	// what holds it.
	MAX_DEPTH = 100,
	MAX_HOLDINGS = 1 << 20,
};

struct merging {
	const struct heap_snapshot *snapshot;
	const struct heap_dominator_tree *tree;
	const struct heap_holders *holders; // or NULL
	struct heap_merged *holdings;       // [capacity]
	uint32_t count, capacity;
	uint32_t *slots; // [slot_count] of the hash table: a holding, or 0
	uint32_t slot_count;
	uint32_t *of_node; // [nodes] holding of each that has been met, plus 1; else 0
};

// --- holdings by parent and what they are -------------------------------------

static uint32_t find_slot(const struct merging *merging, uint32_t parent,
			  enum heap_merged_kind kind, uint32_t what)
{
	uint64_t hash = ((uint64_t)parent << 32 | what) * UINT64_C(0x9e3779b97f4a7c15) + kind;
	uint32_t at = (uint32_t)(hash >> 32) & (merging->slot_count - 1);

	while (merging->slots[at]) {
		const struct heap_merged *holding = &merging->holdings[merging->slots[at]];

		if (holding->parent == parent && holding->kind == kind && holding->what == what)
			break;
		at = (at + 1) & (merging->slot_count - 1);
	}
	return at;
}

HEAP_MUST_CHECK
static struct heap_error *grow_slots(struct merging *merging)
{
	uint32_t count = merging->slot_count ? merging->slot_count * 2 : FIRST_SLOTS;
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return heap_error_out_of_memory();
	free(merging->slots);
	merging->slots = slots;
	merging->slot_count = count;
	for (uint32_t i = 1; i < merging->count; i++) {
		const struct heap_merged *holding = &merging->holdings[i];

		slots[find_slot(merging, holding->parent, holding->kind, holding->what)] = i;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *grow_holdings(struct merging *merging)
{
	uint32_t capacity = merging->capacity * 2 + 64;
	void *larger = realloc(merging->holdings, capacity * sizeof(*merging->holdings));

	if (!larger)
		return heap_error_out_of_memory();
	merging->holdings = larger;
	merging->capacity = capacity;
	return NULL;
}

// Makes a holding, whose slot is free.
HEAP_MUST_CHECK
static struct heap_error *add(struct merging *merging, uint32_t parent, enum heap_merged_kind kind,
			      uint32_t what)
{
	struct heap_error *error = NULL;

	if (merging->count == merging->capacity)
		error = grow_holdings(merging);
	if (!error && (merging->count + 1) * 2 > merging->slot_count)
		error = grow_slots(merging);
	if (error)
		return error;
	merging->holdings[merging->count] = (struct heap_merged){
		.kind = kind,
		.what = what,
		.parent = parent,
		.depth = merging->count ? merging->holdings[parent].depth + 1 : 0,
		.example = HEAP_NO_OBJECT,
	};
	if (merging->count > 0)
		merging->slots[find_slot(merging, parent, kind, what)] = merging->count;
	merging->count++;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_or_add(struct merging *merging, uint32_t parent,
				      enum heap_merged_kind kind, uint32_t what, uint32_t *result)
{
	uint32_t found = merging->slots[find_slot(merging, parent, kind, what)];

	*result = found ? found : parent;
	if (found || merging->count == MAX_HOLDINGS || merging->holdings[parent].depth == MAX_DEPTH)
		return NULL;
	*result = merging->count;
	return add(merging, parent, kind, what);
}

// --- objects ------------------------------------------------------------------

static uint64_t weight(const struct merging *merging, heap_object_id object)
{
	uint64_t retained = merging->tree->dominators->retained[object];

	return retained ? retained : merging->snapshot->size[object];
}

static void count_object(struct merging *merging, uint32_t number, heap_object_id object)
{
	struct heap_merged *holding = &merging->holdings[number];

	holding->objects++;
	holding->own += merging->snapshot->size[object];
	if (holding->example == HEAP_NO_OBJECT ||
	    weight(merging, object) > weight(merging, holding->example))
		holding->example = object;
}

// The holding of an object that is held by what is in another: above it, or below.
HEAP_MUST_CHECK
static struct heap_error *put_object(struct merging *merging, uint32_t parent,
				     heap_object_id object)
{
	heap_type_id type = merging->snapshot->type[object];
	enum heap_merged_kind kind = type == HEAP_NO_TYPE ? HEAP_MERGED_SITE : HEAP_MERGED_TYPE;
	uint32_t what = type == HEAP_NO_TYPE ? merging->snapshot->site[object] : type;
	uint32_t above = parent, found = parent;
	struct heap_error *error = NULL;

	while (merging->holdings[above].kind >= HEAP_MERGED_TYPE &&
	       (merging->holdings[above].kind != kind || merging->holdings[above].what != what))
		above = merging->holdings[above].parent;
	if (merging->holdings[above].kind >= HEAP_MERGED_TYPE)
		found = above;
	else
		error = find_or_add(merging, parent, kind, what, &found);
	if (error)
		return error;
	count_object(merging, found, object);
	merging->of_node[object] = found + 1;
	return NULL;
}

// The node that a top of the tree is below.
HEAP_MUST_CHECK
static struct heap_error *find_holder(struct merging *merging, heap_node_id node, uint32_t *result)
{
	const struct heap_holders *holders = merging->holders;
	uint32_t objects = merging->snapshot->object_count, class = HEAP_NO_GROUP;

	*result = 0;
	if (holders && node < objects)
		class = heap_joint_class(holders->sizes, holders->joint, node);
	else if (holders)
		class = holders->group[node - objects];
	if (holders && class == holders->words)
		return find_or_add(merging, 0, HEAP_MERGED_WORDS, 0, result);
	if (node < objects)
		return find_or_add(merging, 0, HEAP_MERGED_SEVERAL, holders ? class : 0, result);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put_top(struct merging *merging, heap_node_id node)
{
	uint32_t objects = merging->snapshot->object_count;
	uint32_t above, top = 0;

	HEAP_TRY(find_holder(merging, node, &above));
	if (node < objects)
		return put_object(merging, above, node);
	HEAP_TRY(find_or_add(merging, above, HEAP_MERGED_ROOT, node - objects, &top));
	merging->of_node[node] = top + 1;
	return NULL;
}

// Level by level, so that each node comes after the one that holds it.
HEAP_MUST_CHECK
static struct heap_error *put_all(struct merging *merging, const struct heap_progress *progress)
{
	const struct heap_dominator_tree *tree = merging->tree;
	CLEANUP_COLUMN heap_node_id *queue = NULL;
	struct heap_error *error =
		heap_column_create((size_t)tree->nodes + 1, sizeof(*queue), &queue);
	size_t tail = 0;

	for (uint32_t i = tree->first[tree->nodes]; !error && i < tree->first[tree->nodes + 1];
	     i++) {
		queue[tail++] = tree->child[i];
		error = put_top(merging, tree->child[i]);
	}
	for (size_t head = 0; !error && head < tail; head++) {
		heap_node_id node = queue[head];

		error = heap_progress_step(progress, "holdings", head, tree->nodes);
		for (uint32_t i = tree->first[node]; !error && i < tree->first[node + 1]; i++) {
			queue[tail++] = tree->child[i];
			error = put_object(merging, merging->of_node[node] - 1, tree->child[i]);
		}
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *put_unreachable(struct merging *merging)
{
	struct heap_error *error = NULL;
	uint32_t unreachable = 0;

	for (heap_object_id i = 0; !error && i < merging->snapshot->object_count; i++) {
		if (merging->of_node[i] != 0)
			continue;
		error = find_or_add(merging, 0, HEAP_MERGED_UNREACHABLE, 0, &unreachable);
		if (!error)
			error = put_object(merging, unreachable, i);
	}
	return error;
}

static void add_up(struct merging *merging)
{
	for (uint32_t i = merging->count; i-- > 0;) {
		struct heap_merged *holding = &merging->holdings[i];

		holding->bytes += holding->own;
		if (i > 0)
			merging->holdings[holding->parent].bytes += holding->bytes;
	}
}

struct heap_error *heap_merged_tree_find(const struct heap_snapshot *snapshot,
					 const struct heap_dominator_tree *tree,
					 const struct heap_holders *holders,
					 const struct heap_progress *progress,
					 struct heap_merged **result, uint32_t *count)
{
	CLEANUP_COLUMN uint32_t *of_node = NULL;
	struct merging merging = { .snapshot = snapshot, .tree = tree, .holders = holders };
	struct heap_error *error =
		heap_column_create((size_t)tree->nodes + 1, sizeof(*of_node), &of_node);

	merging.of_node = of_node;
	if (!error)
		error = add(&merging, 0, HEAP_MERGED_ALL, 0);
	if (!error)
		error = put_all(&merging, progress);
	if (!error)
		error = put_unreachable(&merging);
	free(merging.slots);
	if (error) {
		free(merging.holdings);
		return error;
	}
	add_up(&merging);
	*result = merging.holdings;
	*count = merging.count;
	return NULL;
}
