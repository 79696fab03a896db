// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/dominator_tree.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/offsets.h"

// True if a node is in the tree. A reachable object retains itself at least. Objects of no bytes
// retain 0; those at the top are left out.
static bool is_in_tree(const struct heap_dominators *dominators, heap_node_id node)
{
	return dominators->nearest[node] != HEAP_NO_NODE || dominators->retained[node] > 0;
}

static heap_node_id parent_of(const struct heap_dominators *dominators, heap_node_id node,
			      uint32_t top)
{
	return dominators->nearest[node] == HEAP_NO_NODE ? top : dominators->nearest[node];
}

struct heap_error *heap_dominator_tree_init(struct heap_dominator_tree *result,
					    const struct heap_dominators *dominators)
{
	uint32_t nodes = (uint32_t)(dominators->objects + dominators->roots);
	CLEANUP_COLUMN uint32_t *first = NULL;
	CLEANUP_COLUMN heap_node_id *child = NULL;

	HEAP_TRY(heap_column_create((size_t)nodes + 2, sizeof(*first), &first));
	HEAP_TRY(heap_column_create((size_t)nodes + 1, sizeof(*child), &child));
	for (uint32_t i = 0; i < nodes; i++) {
		if (is_in_tree(dominators, i))
			first[parent_of(dominators, i, nodes) + 1]++;
	}
	heap_offsets_from_counts(first, (size_t)nodes + 1);
	for (uint32_t i = 0; i < nodes; i++) {
		if (is_in_tree(dominators, i))
			child[first[parent_of(dominators, i, nodes)]++] = i;
	}
	heap_offsets_rewind(first, (size_t)nodes + 1);
	*result = (struct heap_dominator_tree){ dominators, keep(first), keep(child), nodes };
	return NULL;
}

void heap_dominator_tree_deinit(struct heap_dominator_tree *tree)
{
	heap_column_destroy(tree->first);
	heap_column_destroy(tree->child);
}

// Climbs from an object to the node, or to an object that is known to be below the node or not to be;
// then so are all objects on the path.
static void mark_path(const struct heap_dominators *dominators, heap_node_id node,
		      heap_object_id object, uint8_t *known, uint8_t *marks)
{
	size_t nodes = dominators->objects + dominators->roots, steps = 0;
	heap_node_id at = object;
	bool below;

	// A forged side file may have cycles.
	while (at != node && at < dominators->objects && !heap_bit_get(known, at) &&
	       steps++ < nodes)
		at = dominators->nearest[at];
	below = at == node || (at < dominators->objects && heap_bit_get(marks, at));
	for (heap_node_id i = object; i != at && steps-- > 0; i = dominators->nearest[i]) {
		heap_bit_set(known, i);
		if (below)
			heap_bit_set(marks, i);
	}
}

struct heap_error *heap_dominators_mark(const struct heap_dominators *dominators, heap_node_id node,
					uint8_t *marks)
{
	CLEANUP_COLUMN uint8_t *known = NULL;
	struct heap_error *error = heap_column_create(dominators->objects / 8 + 1, 1, &known);

	if (error)
		return error;
	memcpy(known, marks, dominators->objects / 8 + 1);
	if (node < dominators->objects) {
		heap_bit_set(known, node);
		heap_bit_set(marks, node);
	}
	for (heap_object_id i = 0; i < dominators->objects; i++) {
		if (!heap_bit_get(known, i))
			mark_path(dominators, node, i, known, marks);
	}
	return NULL;
}

// --- groups ------------------------------------------------------------------

struct summing {
	const struct heap_dominator_tree *tree;
	const uint32_t *group;
	uint32_t *within; // [groups] objects of it on the path
	uint64_t *bytes;
	heap_node_id *path; // [depth] from the top of the tree down
	uint32_t *next;     // [depth] the next child
	size_t depth;
};

static void enter(struct summing *summing, heap_node_id node)
{
	const struct heap_dominators *dominators = summing->tree->dominators;

	if (node < dominators->objects && summing->within[summing->group[node]]++ == 0)
		summing->bytes[summing->group[node]] += dominators->retained[node];
	summing->path[summing->depth] = node;
	summing->next[summing->depth++] = summing->tree->first[node];
}

static void leave(struct summing *summing)
{
	heap_node_id node = summing->path[--summing->depth];

	if (node < summing->tree->dominators->objects)
		summing->within[summing->group[node]]--;
}

struct heap_error *heap_dominator_tree_sum(const struct heap_dominator_tree *tree,
					   const uint32_t *group, uint32_t groups, uint64_t *bytes)
{
	size_t most = (size_t)tree->nodes + 2;
	CLEANUP_COLUMN uint32_t *within = NULL;
	CLEANUP_COLUMN heap_node_id *path = NULL;
	CLEANUP_COLUMN uint32_t *next = NULL;

	HEAP_TRY(heap_column_create((size_t)groups + 1, sizeof(*within), &within));
	HEAP_TRY(heap_column_create(most, sizeof(*path), &path));
	HEAP_TRY(heap_column_create(most, sizeof(*next), &next));

	struct summing summing = { tree, group, within, bytes, path, next, 0 };

	enter(&summing, tree->nodes);
	while (summing.depth > 0) {
		uint32_t *child = &next[summing.depth - 1];

		// The cycles of a forged side file are not reached.
		if (*child < tree->first[path[summing.depth - 1] + 1])
			enter(&summing, tree->child[(*child)++]);
		else
			leave(&summing);
	}
	return NULL;
}
