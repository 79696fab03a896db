// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/suspects.h"

#include "lib/base/cleanup.h"

#include <string.h>

enum {
	MAX_SUSPECTS = 1000,
};

// What counts as nearly all, and as most, of a subtree.
static const double nearly_all = 0.8, most = 0.5;

struct kind {
	uint64_t members;
	uint64_t bytes;
	heap_object_id largest;
};

struct finding {
	const struct heap_snapshot *snapshot;
	const struct heap_dominator_tree *tree;
	const uint64_t *retained;
	uint64_t least;
	struct kind *kinds; // [of types, then of sites] all 0 between two countings
	struct heap_suspect *found;
	size_t count;
	heap_node_id *pending; // [pending_capacity] subtrees that are still to be gone through
	size_t pending_count, pending_capacity;
};

static uint32_t kind_of(const struct heap_snapshot *snapshot, heap_object_id object)
{
	heap_type_id type = snapshot->type[object];

	return type != HEAP_NO_TYPE ? type : snapshot->types.count + snapshot->site[object];
}

static bool is_object(const struct finding *finding, heap_node_id node)
{
	return node < finding->snapshot->object_count;
}

static void add(struct finding *finding, const struct heap_suspect *suspect)
{
	if (finding->count < MAX_SUSPECTS)
		finding->found[finding->count++] = *suspect;
}

HEAP_MUST_CHECK
static struct heap_error *put_off(struct finding *finding, heap_node_id node)
{
	if (finding->pending_count == finding->pending_capacity) {
		size_t capacity = finding->pending_capacity * 2 + 16;
		void *larger = realloc(finding->pending, capacity * sizeof(*finding->pending));

		if (!larger)
			return heap_error_out_of_memory();
		finding->pending = larger;
		finding->pending_capacity = capacity;
	}
	finding->pending[finding->pending_count++] = node;
	return NULL;
}

static heap_node_id largest_child(const struct finding *finding, heap_node_id node)
{
	const struct heap_dominator_tree *tree = finding->tree;
	heap_node_id largest = HEAP_NO_NODE;

	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		if (largest == HEAP_NO_NODE ||
		    finding->retained[tree->child[i]] > finding->retained[largest])
			largest = tree->child[i];
	}
	return largest;
}

// Adds up children of a node by kind, those below a limit. @return the largest kind's
static struct kind count_kinds(struct finding *finding, heap_node_id node, uint64_t below)
{
	const struct heap_dominator_tree *tree = finding->tree;
	struct kind best = { 0, 0, HEAP_NO_OBJECT };

	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		heap_node_id child = tree->child[i];
		uint64_t bytes = finding->retained[child];

		if (!is_object(finding, child) || bytes >= below)
			continue;

		struct kind *kind = &finding->kinds[kind_of(finding->snapshot, child)];

		if (kind->members == 0 || bytes > finding->retained[kind->largest])
			kind->largest = child;
		kind->members++;
		kind->bytes += bytes;
		if (kind->bytes > best.bytes)
			best = *kind;
	}
	return best;
}

// The kinds of a node's children that are large enough; and all is 0 again.
static void take_kinds(struct finding *finding, heap_node_id node, heap_node_id place,
		       uint64_t least)
{
	const struct heap_dominator_tree *tree = finding->tree;

	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		if (!is_object(finding, tree->child[i]))
			continue;

		struct kind *kind = &finding->kinds[kind_of(finding->snapshot, tree->child[i])];

		if (kind->bytes >= least && kind->members > 1)
			add(finding,
			    &(struct heap_suspect){ HEAP_SUSPECT_GROUP, place, kind->largest,
						    kind->members, kind->bytes });
		*kind = (struct kind){ 0 };
	}
}

// Whether an object is of the same kind as another, so that both are links of a chain.
static bool are_alike(const struct finding *finding, heap_node_id a, heap_node_id b)
{
	return is_object(finding, a) && is_object(finding, b) &&
	       kind_of(finding->snapshot, a) == kind_of(finding->snapshot, b);
}

static void add_chain(struct finding *finding, heap_node_id place, heap_object_id head)
{
	struct heap_suspect chain = { HEAP_SUSPECT_CHAIN, place, head, 1, finding->retained[head] };
	heap_node_id next = largest_child(finding, head);

	while (next != HEAP_NO_NODE && are_alike(finding, head, next) &&
	       chain.members < finding->tree->nodes) {
		chain.members++;
		next = largest_child(finding, next);
	}
	add(finding, &chain);
}

// Where a subtree spreads: a kind of children, or several large ones, or nothing but itself.
HEAP_MUST_CHECK
static struct heap_error *look_at_place(struct finding *finding, heap_node_id node)
{
	const struct heap_dominator_tree *tree = finding->tree;
	uint64_t bytes = finding->retained[node];
	struct kind best = count_kinds(finding, node, UINT64_MAX);
	uint64_t wanted = (uint64_t)((double)bytes * most);
	struct heap_error *error = NULL;
	bool spreads = best.members > 1 && best.bytes >= wanted;

	if (wanted < finding->least)
		wanted = finding->least;
	take_kinds(finding, node, node, spreads ? wanted : UINT64_MAX);
	if (spreads && best.bytes >= wanted)
		return NULL;
	spreads = false;
	for (uint32_t i = tree->first[node]; !error && i < tree->first[node + 1]; i++) {
		if (finding->retained[tree->child[i]] >= finding->least) {
			error = put_off(finding, tree->child[i]);
			spreads = true;
		}
	}
	if (!spreads && is_object(finding, node))
		add(finding, &(struct heap_suspect){ HEAP_SUSPECT_ONE, node, node, 1, bytes });
	else if (!spreads && largest_child(finding, node) != HEAP_NO_NODE)
		add(finding,
		    &(struct heap_suspect){ HEAP_SUSPECT_GROUP, node, largest_child(finding, node),
					    tree->first[node + 1] - tree->first[node], bytes });
	return error;
}

// Follows a subtree down to where it spreads.
HEAP_MUST_CHECK
static struct heap_error *descend(struct finding *finding, heap_node_id node)
{
	heap_node_id above = finding->tree->dominators->nearest[node];

	for (uint32_t steps = 0; steps < finding->tree->nodes; steps++) {
		heap_node_id child = largest_child(finding, node);

		if (child == HEAP_NO_NODE ||
		    (double)finding->retained[child] < (double)finding->retained[node] * nearly_all)
			return look_at_place(finding, node);
		if (are_alike(finding, node, child)) {
			add_chain(finding, above, node);
			return NULL;
		}
		above = node;
		node = child;
	}
	return NULL;
}

static int compare_suspects(const void *left, const void *right)
{
	const struct heap_suspect *a = left, *b = right;

	if (a->bytes != b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

HEAP_MUST_CHECK
static struct heap_error *find_all(struct finding *finding)
{
	const struct heap_dominator_tree *tree = finding->tree;
	heap_node_id top = tree->nodes;
	struct heap_error *error = NULL;

	count_kinds(finding, top, finding->least);
	take_kinds(finding, top, HEAP_NO_NODE, finding->least);
	for (uint32_t i = tree->first[top]; !error && i < tree->first[top + 1]; i++) {
		if (finding->retained[tree->child[i]] >= finding->least)
			error = put_off(finding, tree->child[i]);
	}
	while (!error && finding->pending_count > 0)
		error = descend(finding, finding->pending[--finding->pending_count]);
	return error;
}

struct heap_error *heap_suspects_find(const struct heap_snapshot *snapshot,
				      const struct heap_dominator_tree *tree, uint64_t least,
				      struct heap_suspect **result, size_t *count)
{
	size_t kind_count = (size_t)snapshot->types.count + snapshot->site_count;
	CLEANUP_FREE struct kind *kinds = calloc(kind_count + 1, sizeof(*kinds));
	CLEANUP_FREE struct heap_suspect *found = calloc(MAX_SUSPECTS, sizeof(*found));
	struct finding finding = { .snapshot = snapshot,
				   .tree = tree,
				   .retained = tree->dominators->retained,
				   .least = least ? least : 1,
				   .kinds = kinds,
				   .found = found };

	if (!kinds || !found)
		return heap_error_out_of_memory();

	struct heap_error *error = find_all(&finding);

	free(finding.pending);
	if (error)
		return error;
	qsort(found, finding.count, sizeof(*found), compare_suspects);
	*result = keep(found);
	*count = finding.count;
	return NULL;
}
