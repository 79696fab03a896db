// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/dominator_tree.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/column.h"
#include "lib/graph/offsets.h"

// Whether a node is in the tree at all: of what is reachable the retained size is its own at
// least, which may be 0 only if the object is of no bytes. Those at the top are left out then.
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
	struct heap_error *error = heap_column_create((size_t)nodes + 2, sizeof(*first), &first);

	if (!error)
		error = heap_column_create((size_t)nodes + 1, sizeof(*child), &child);
	if (error)
		return error;
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

// Climbs from an object to the node, or to one of which it is known whether it is below the
// node; then what was passed is known, too.
static void mark_way(const struct heap_dominators *dominators, heap_node_id node,
		     heap_object_id object, uint8_t *known, uint8_t *marks)
{
	size_t nodes = dominators->objects + dominators->roots, steps = 0;
	heap_node_id at = object;
	bool below;

	// A side file that somebody has made up may go round in circles.
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
	if (node < dominators->objects) {
		heap_bit_set(known, node);
		heap_bit_set(marks, node);
	}
	for (heap_object_id i = 0; i < dominators->objects; i++) {
		if (!heap_bit_get(known, i))
			mark_way(dominators, node, i, known, marks);
	}
	return NULL;
}

// --- groups ------------------------------------------------------------------

struct summing {
	const struct heap_dominator_tree *tree;
	const uint32_t *group;
	uint32_t *within; // [groups] how many objects of it are above where the walk is
	uint64_t *bytes;
	heap_node_id *way; // [depth] from the top of the tree down
	uint32_t *next;    // [depth] child to be gone to next
	size_t depth;
};

static void enter(struct summing *summing, heap_node_id node)
{
	const struct heap_dominators *dominators = summing->tree->dominators;

	if (node < dominators->objects && summing->within[summing->group[node]]++ == 0)
		summing->bytes[summing->group[node]] += dominators->retained[node];
	summing->way[summing->depth] = node;
	summing->next[summing->depth++] = summing->tree->first[node];
}

static void leave(struct summing *summing)
{
	heap_node_id node = summing->way[--summing->depth];

	if (node < summing->tree->dominators->objects)
		summing->within[summing->group[node]]--;
}

struct heap_error *heap_dominator_tree_sum(const struct heap_dominator_tree *tree,
					   const uint32_t *group, uint32_t groups, uint64_t *bytes)
{
	size_t most = (size_t)tree->nodes + 2;
	CLEANUP_COLUMN uint32_t *within = NULL;
	CLEANUP_COLUMN heap_node_id *way = NULL;
	CLEANUP_COLUMN uint32_t *next = NULL;
	struct heap_error *error = heap_column_create((size_t)groups + 1, sizeof(*within), &within);

	if (!error)
		error = heap_column_create(most, sizeof(*way), &way);
	if (!error)
		error = heap_column_create(most, sizeof(*next), &next);
	if (error)
		return error;

	struct summing summing = { tree, group, within, bytes, way, next, 0 };

	enter(&summing, tree->nodes);
	while (summing.depth > 0) {
		uint32_t *child = &next[summing.depth - 1];

		// Who is in a circle, in a side file that somebody has made up, is not met.
		if (*child < tree->first[way[summing.depth - 1] + 1])
			enter(&summing, tree->child[(*child)++]);
		else
			leave(&summing);
	}
	return NULL;
}
