// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/merged_tree.h"

#include "lib/base/array.h"
#include "lib/base/column.h"
#include "lib/base/hash_table.h"

enum {
	// For programs whose types nest without end, and hostile files: objects that are deeper, or
	// would need more nodes, belong to the node above.
	MAX_DEPTH = 100,
	MAX_NODES = 1 << 20,
};

struct merging {
	const struct heap_snapshot *snapshot;
	const struct heap_dominator_tree *tree;
	const struct heap_holders *holders; // or NULL
	struct HEAP_ARRAY(struct heap_merged) merged;
	struct heap_hash_table table; // of merged nodes, by parent, kind and what
	uint32_t *of_node;            // [nodes of the tree] merged node + 1; 0: not visited
};

// --- merged nodes -------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *add(struct merging *merging, uint32_t parent, enum heap_merged_kind kind,
			      uint32_t what)
{
	size_t count = merging->merged.count;
	struct heap_merged node = {
		.kind = kind,
		.what = what,
		.parent = parent,
		.depth = count ? merging->merged.items[parent].depth + 1 : 0,
		.example = HEAP_NO_OBJECT,
	};

	return heap_array_append(&merging->merged, node);
}

// @param result  the parent, where there may be no more nodes
HEAP_MUST_CHECK
static struct heap_error *find_or_add(struct merging *merging, uint32_t parent,
				      enum heap_merged_kind kind, uint32_t what, uint32_t *result)
{
	const struct heap_merged *merged = merging->merged.items;
	uint64_t hash = heap_hash_mix(heap_hash_pair(parent, what), kind);
	uint32_t found = heap_hash_find(&merging->table, hash, i,
					merged[i].parent == parent && merged[i].kind == kind &&
						merged[i].what == what);

	*result = found != HEAP_HASH_NONE ? found : parent;
	if (found != HEAP_HASH_NONE || merging->merged.count == MAX_NODES ||
	    merged[parent].depth == MAX_DEPTH)
		return NULL;
	*result = (uint32_t)merging->merged.count;
	HEAP_TRY(add(merging, parent, kind, what));
	return heap_hash_add(&merging->table, hash, *result);
}

// --- objects ------------------------------------------------------------------

static uint64_t weight(const struct merging *merging, heap_object_id object)
{
	uint64_t retained = merging->tree->dominators->retained[object];

	return retained ? retained : merging->snapshot->size[object];
}

static void count_object(struct merging *merging, uint32_t number, heap_object_id object)
{
	struct heap_merged *merged = &merging->merged.items[number];

	merged->objects++;
	merged->own += merging->snapshot->size[object];
	if (merged->example == HEAP_NO_OBJECT ||
	    weight(merging, object) > weight(merging, merged->example))
		merged->example = object;
}

// Puts an object into its own type's node above, or below the parent.
HEAP_MUST_CHECK
static struct heap_error *put_object(struct merging *merging, uint32_t parent,
				     heap_object_id object)
{
	heap_type_id type = merging->snapshot->type[object];
	enum heap_merged_kind kind = type == HEAP_NO_TYPE ? HEAP_MERGED_SITE : HEAP_MERGED_TYPE;
	uint32_t what = type == HEAP_NO_TYPE ? merging->snapshot->site[object] : type;
	uint32_t above = parent, found = parent;

	while (merging->merged.items[above].kind >= HEAP_MERGED_TYPE &&
	       (merging->merged.items[above].kind != kind ||
		merging->merged.items[above].what != what))
		above = merging->merged.items[above].parent;
	if (merging->merged.items[above].kind >= HEAP_MERGED_TYPE)
		found = above;
	else
		HEAP_TRY(find_or_add(merging, parent, kind, what, &found));
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
	size_t tail = 0;

	HEAP_TRY(heap_column_create((size_t)tree->nodes + 1, sizeof(*queue), &queue));
	for (uint32_t i = tree->first[tree->nodes]; i < tree->first[tree->nodes + 1]; i++) {
		queue[tail++] = tree->child[i];
		HEAP_TRY(put_top(merging, tree->child[i]));
	}
	for (size_t head = 0; head < tail; head++) {
		heap_node_id node = queue[head];

		HEAP_TRY(heap_progress_step(progress, "holdings", head, tree->nodes));
		for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
			queue[tail++] = tree->child[i];
			HEAP_TRY(put_object(merging, merging->of_node[node] - 1, tree->child[i]));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *put_unreachable(struct merging *merging)
{
	uint32_t unreachable = 0;

	for (heap_object_id i = 0; i < merging->snapshot->object_count; i++) {
		if (merging->of_node[i] != 0)
			continue;
		HEAP_TRY(find_or_add(merging, 0, HEAP_MERGED_UNREACHABLE, 0, &unreachable));
		HEAP_TRY(put_object(merging, unreachable, i));
	}
	return NULL;
}

static void add_up(struct merging *merging)
{
	for (size_t i = merging->merged.count; i-- > 0;) {
		struct heap_merged *merged = &merging->merged.items[i];

		merged->bytes += merged->own;
		if (i > 0)
			merging->merged.items[merged->parent].bytes += merged->bytes;
	}
}

static void merging_deinit(struct merging *merging)
{
	heap_hash_table_deinit(&merging->table);
	heap_array_deinit(&merging->merged);
}

struct heap_error *heap_merged_tree_find(const struct heap_snapshot *snapshot,
					 const struct heap_dominator_tree *tree,
					 const struct heap_holders *holders,
					 const struct heap_progress *progress,
					 struct heap_merged **result, uint32_t *count)
{
	CLEANUP_COLUMN uint32_t *of_node = NULL;
	CLEANUP(merging_deinit)
	struct merging merging = { .snapshot = snapshot, .tree = tree, .holders = holders };

	HEAP_TRY(heap_column_create((size_t)tree->nodes + 1, sizeof(*of_node), &of_node));
	merging.of_node = of_node;
	HEAP_TRY(add(&merging, 0, HEAP_MERGED_ALL, 0));
	HEAP_TRY(put_all(&merging, progress));
	HEAP_TRY(put_unreachable(&merging));
	add_up(&merging);
	*count = (uint32_t)merging.merged.count;
	*result = keep(merging.merged.items);
	return NULL;
}
