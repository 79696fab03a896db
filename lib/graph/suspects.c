// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/suspects.h"

#include "lib/base/array.h"
#include "lib/base/hash_table.h"

#include <string.h>

enum {
	MAX_SUSPECTS = 1000,
};

// Shares of a subtree that count as nearly all, and as most.
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
	const struct heap_holders *holders;
	struct kind *kinds; // [of types, then of sites] all 0 between two counts
	struct heap_suspect *found;
	size_t count;
	struct nodes HEAP_ARRAY(heap_node_id) pending; // subtrees to visit
	struct nodes stack;                            // of a walk
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

// Adds up the children of a node by kind, those below a limit. @return the largest kind
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

// Counts an object and those of its kind below it that have only such objects between: the chains of
// a hash table's entries hang below their first ones.
HEAP_MUST_CHECK
static struct heap_error *count_alike(struct finding *finding, heap_object_id object,
				      uint64_t *members)
{
	const struct heap_dominator_tree *tree = finding->tree;
	uint32_t kind = kind_of(finding->snapshot, object);
	struct nodes *stack = &finding->stack;

	stack->count = 0;
	HEAP_TRY(heap_array_append(stack, object));
	while (stack->count > 0) {
		heap_node_id node = stack->items[--stack->count];

		++*members;
		for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
			// A forged side file may have cycles.
			if (is_object(finding, tree->child[i]) && *members <= tree->nodes &&
			    kind_of(finding->snapshot, tree->child[i]) == kind)
				HEAP_TRY(heap_array_append(stack, tree->child[i]));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_members(struct finding *finding, heap_node_id node, uint32_t kind,
					uint64_t below, uint64_t *members)
{
	const struct heap_dominator_tree *tree = finding->tree;

	*members = 0;
	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		heap_node_id child = tree->child[i];

		if (is_object(finding, child) && finding->retained[child] < below &&
		    kind_of(finding->snapshot, child) == kind)
			HEAP_TRY(count_alike(finding, child, members));
	}
	return NULL;
}

// Adds a kind of a node's children.
HEAP_MUST_CHECK
static struct heap_error *add_group(struct finding *finding, heap_node_id node,
				    const struct kind *kind, uint64_t below, heap_node_id place)
{
	struct heap_suspect suspect = { .kind = HEAP_SUSPECT_GROUP,
					.place = place,
					.is_mixed = place == HEAP_NO_NODE,
					.example = kind->largest,
					.bytes = kind->bytes };

	HEAP_TRY(count_members(finding, node, kind_of(finding->snapshot, kind->largest), below,
			       &suspect.members));
	add(finding, &suspect);
	return NULL;
}

// Adds the kinds of a node's children that have @p least or more; then all is 0 again.
HEAP_MUST_CHECK
static struct heap_error *take_kinds(struct finding *finding, heap_node_id node, uint64_t below,
				     heap_node_id place, uint64_t least)
{
	const struct heap_dominator_tree *tree = finding->tree;

	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		struct kind *kind;

		if (!is_object(finding, tree->child[i]))
			continue;
		kind = &finding->kinds[kind_of(finding->snapshot, tree->child[i])];
		if (kind->bytes >= least && kind->members > 1)
			HEAP_TRY(add_group(finding, node, kind, below, place));
		*kind = (struct kind){ 0 };
	}
	return NULL;
}

// Objects of one kind that the same roots hold together.
struct joint {
	uint32_t class, kind;
	struct kind sum;
	uint64_t members; // with those below
};

struct joints {
	struct joint *items;
	size_t count, capacity;
	struct heap_hash_table table;
};

HEAP_MUST_CHECK
static struct heap_error *find_joint(struct joints *joints, uint32_t class, uint32_t kind,
				     struct joint **result)
{
	uint64_t hash = heap_hash_pair(class, kind);
	uint32_t found =
		heap_hash_find(&joints->table, hash, i,
			       joints->items[i].class == class && joints->items[i].kind == kind);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)joints->count;
		HEAP_TRY(heap_array_append(joints, (struct joint){ .class = class, .kind = kind }));
		HEAP_TRY(heap_hash_add(&joints->table, hash, found));
	}
	*result = &joints->items[found];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *joint_of(const struct finding *finding, struct joints *joints,
				   heap_object_id object, struct joint **result)
{
	uint32_t class = heap_joint_class(finding->holders->sizes, finding->holders->joint, object);

	return find_joint(joints, class, kind_of(finding->snapshot, object), result);
}

// Visits the small objects that only several roots hold, with their joint.
HEAP_MUST_CHECK
static struct heap_error *each_member(struct finding *finding, struct joints *joints,
				      struct heap_error *(*visit)(struct finding *finding,
								  struct joint *joint,
								  heap_node_id member))
{
	const struct heap_dominator_tree *tree = finding->tree;
	struct joint *joint;

	for (uint32_t i = tree->first[tree->nodes]; i < tree->first[tree->nodes + 1]; i++) {
		heap_node_id child = tree->child[i];

		if (!is_object(finding, child) || finding->retained[child] >= finding->least)
			continue;
		HEAP_TRY(joint_of(finding, joints, child, &joint));
		HEAP_TRY(visit(finding, joint, child));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *sum_up(struct finding *finding, struct joint *joint, heap_node_id member)
{
	if (joint->sum.members == 0 ||
	    finding->retained[member] > finding->retained[joint->sum.largest])
		joint->sum.largest = member;
	joint->sum.members++;
	joint->sum.bytes += finding->retained[member];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_joint(struct finding *finding, struct joint *joint,
				      heap_node_id member)
{
	if (joint->sum.bytes < finding->least || joint->sum.members < 2)
		return NULL;
	return count_alike(finding, member, &joint->members);
}

// Adds the joints that are large enough, and subtracts them from the sums of their kinds.
HEAP_MUST_CHECK
static struct heap_error *take_joints(struct finding *finding, struct joints *joints)
{
	HEAP_TRY(each_member(finding, joints, sum_up));
	HEAP_TRY(each_member(finding, joints, count_joint));
	for (size_t i = 0; i < joints->count; i++) {
		const struct joint *joint = &joints->items[i];
		struct kind *kind = &finding->kinds[joint->kind];

		if (joint->members == 0)
			continue;
		kind->bytes -= joint->sum.bytes;
		kind->members -= joint->sum.members;
		add(finding, &(struct heap_suspect){ .kind = HEAP_SUSPECT_GROUP,
						     .place = HEAP_NO_NODE,
						     .example = joint->sum.largest,
						     .members = joint->members,
						     .bytes = joint->sum.bytes });
	}
	return NULL;
}

static void joints_deinit(struct joints *joints)
{
	heap_array_deinit(joints);
	heap_hash_table_deinit(&joints->table);
}

// Looks at objects that several roots hold: by who these are, then at the others.
HEAP_MUST_CHECK
static struct heap_error *look_at_top(struct finding *finding)
{
	heap_node_id top = finding->tree->nodes;
	CLEANUP(joints_deinit) struct joints joints = { 0 };

	count_kinds(finding, top, finding->least);
	if (finding->holders)
		HEAP_TRY(take_joints(finding, &joints));
	return take_kinds(finding, top, finding->least, HEAP_NO_NODE, finding->least);
}

// True if two objects are of one kind, and so may be links of a chain.
static bool are_alike(const struct finding *finding, heap_node_id a, heap_node_id b)
{
	return is_object(finding, a) && is_object(finding, b) &&
	       kind_of(finding->snapshot, a) == kind_of(finding->snapshot, b);
}

// The next link of a chain: the child that has most of what is below a link, if it is one. Else HEAP_NO_NODE
static heap_node_id next_link(const struct finding *finding, heap_node_id link)
{
	heap_node_id next = largest_child(finding, link);
	uint64_t below = finding->retained[link] - finding->snapshot->size[link];

	return next != HEAP_NO_NODE && are_alike(finding, link, next) &&
			       (double)finding->retained[next] >= (double)below * most
		       ? next
		       : HEAP_NO_NODE;
}

// Adds a chain that has most of what its first link holds. One that does not is the stem of a tree.
// @return the link where that spreads, or HEAP_NO_NODE: it was added
static heap_node_id add_chain(struct finding *finding, heap_node_id place, heap_object_id head)
{
	struct heap_suspect chain = { .kind = HEAP_SUSPECT_CHAIN,
				      .place = place,
				      .example = head,
				      .members = 1,
				      .bytes = finding->retained[head] };
	heap_node_id last = head, next = next_link(finding, head);

	for (; next != HEAP_NO_NODE && chain.members < finding->tree->nodes;
	     next = next_link(finding, last)) {
		chain.members++;
		last = next;
	}
	if ((double)finding->retained[last] >= (double)chain.bytes * most)
		return last;
	add(finding, &chain);
	return HEAP_NO_NODE;
}

// Adds the kind of a node's children that has most of it, however large these are. @return it, or HEAP_NO_INDEX
HEAP_MUST_CHECK
static struct heap_error *take_most(struct finding *finding, heap_node_id node, uint32_t *result)
{
	uint64_t wanted = (uint64_t)((double)finding->retained[node] * most);
	struct kind best = count_kinds(finding, node, UINT64_MAX);

	*result = HEAP_NO_INDEX;
	HEAP_TRY(take_kinds(finding, node, UINT64_MAX, node, UINT64_MAX));
	if (best.members < 2 || best.bytes < wanted || best.bytes < finding->least)
		return NULL;
	*result = kind_of(finding->snapshot, best.largest);
	return add_group(finding, node, &best, UINT64_MAX, node);
}

// Adds the other kinds that are large enough together, and notes the children that are so alone.
HEAP_MUST_CHECK
static struct heap_error *take_others(struct finding *finding, heap_node_id node, uint32_t taken)
{
	const struct heap_dominator_tree *tree = finding->tree;

	count_kinds(finding, node, finding->least);
	if (taken != HEAP_NO_INDEX)
		finding->kinds[taken] = (struct kind){ 0 };
	HEAP_TRY(take_kinds(finding, node, finding->least, node, finding->least));
	for (uint32_t i = tree->first[node]; i < tree->first[node + 1]; i++) {
		heap_node_id child = tree->child[i];

		if (finding->retained[child] >= finding->least &&
		    (!is_object(finding, child) || kind_of(finding->snapshot, child) != taken))
			HEAP_TRY(heap_array_append(&finding->pending, child));
	}
	return NULL;
}

// Looks at where a subtree spreads: into kinds of children, single large ones, or nothing.
HEAP_MUST_CHECK
static struct heap_error *look_at_place(struct finding *finding, heap_node_id node)
{
	const struct heap_dominator_tree *tree = finding->tree;
	uint64_t bytes = finding->retained[node];
	size_t before = finding->count, pending = finding->pending.count;
	bool is_large = is_object(finding, node) && finding->snapshot->size[node] >= finding->least;
	uint32_t taken;

	HEAP_TRY(take_most(finding, node, &taken));
	HEAP_TRY(take_others(finding, node, taken));

	bool spreads = finding->count > before || finding->pending.count > pending;

	if (is_object(finding, node) &&
	    (!spreads ||
	     (is_large && (double)finding->snapshot->size[node] >= (double)bytes * most)))
		add(finding, &(struct heap_suspect){ .kind = HEAP_SUSPECT_ONE,
						     .place = node,
						     .example = node,
						     .members = 1,
						     .bytes = bytes });
	else if (!spreads && largest_child(finding, node) != HEAP_NO_NODE)
		add(finding,
		    &(struct heap_suspect){ .kind = HEAP_SUSPECT_MIXED,
					    .place = node,
					    .example = largest_child(finding, node),
					    .members = tree->first[node + 1] - tree->first[node],
					    .bytes = bytes });
	return NULL;
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
			node = add_chain(finding, above, node);
			return node == HEAP_NO_NODE ? NULL : look_at_place(finding, node);
		}
		above = node;
		node = child;
	}
	return NULL;
}

int heap_suspects_compare(const void *left, const void *right)
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

	HEAP_TRY(look_at_top(finding));
	for (uint32_t i = tree->first[top]; i < tree->first[top + 1]; i++) {
		if (finding->retained[tree->child[i]] >= finding->least)
			HEAP_TRY(heap_array_append(&finding->pending, tree->child[i]));
	}
	while (finding->pending.count > 0)
		HEAP_TRY(descend(finding, finding->pending.items[--finding->pending.count]));
	return NULL;
}

static void finding_deinit(struct finding *finding)
{
	heap_array_deinit(&finding->pending);
	heap_array_deinit(&finding->stack);
}

struct heap_error *heap_suspects_find(const struct heap_snapshot *snapshot,
				      const struct heap_dominator_tree *tree, uint64_t least,
				      const struct heap_holders *holders,
				      struct heap_suspect **result, size_t *count)
{
	size_t kind_count = (size_t)snapshot->types.count + snapshot->site_count;
	CLEANUP_FREE struct kind *kinds = calloc(kind_count + 1, sizeof(*kinds));
	CLEANUP_FREE struct heap_suspect *found = calloc(MAX_SUSPECTS, sizeof(*found));
	CLEANUP(finding_deinit)
	struct finding finding = {
		.snapshot = snapshot,
		.tree = tree,
		.retained = tree->dominators->retained,
		.least = least ? least : 1,
		.holders = holders,
		.kinds = kinds,
		.found = found,
	};

	if (!kinds || !found)
		return heap_error_out_of_memory();
	HEAP_TRY(find_all(&finding));
	qsort(found, finding.count, sizeof(*found), heap_suspects_compare);
	*result = keep(found);
	*count = finding.count;
	return NULL;
}
