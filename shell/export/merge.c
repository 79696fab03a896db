// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/merge.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static const heap_node_id UNKNOWN = HEAP_NO_NODE - 2;

void export_merge_deinit(struct export_merge *merge)
{
	free(merge->group);
	free(merge->groups);
	free(merge->is_adopted);
	heap_hash_table_deinit(&merge->by_owner);
}

// --- groups ------------------------------------------------------------------

// Finds the group of an owner and a class, or makes it.
HEAP_MUST_CHECK
static struct heap_error *get_group(struct export_merge *merge, heap_node_id owner, uint32_t class,
				    uint32_t *result)
{
	uint64_t hash = heap_hash_u64((uint64_t)owner << 32 | class);

	*result =
		heap_hash_find(&merge->by_owner, hash, i,
			       merge->groups[i].owner == owner && merge->groups[i].class == class);
	if (*result != HEAP_HASH_NONE)
		return NULL;
	HEAP_TRY(heap_reserve(merge->groups, merge->group_capacity, merge->group_count + 1u));
	HEAP_TRY(heap_hash_add(&merge->by_owner, hash, merge->group_count));
	*result = merge->group_count++;
	merge->groups[*result] = (struct export_merge_group){ owner, class, 0, 0 };
	return NULL;
}

// --- merging -----------------------------------------------------------------

struct merging {
	struct export_merge *merge;
	struct session *session;
	struct export_texts *texts;
	uint64_t min;
	const struct heap_snapshot *nodes;
	heap_node_id *owner; // [objects] or UNKNOWN
};

static bool is_leaked(const struct merging *merging, heap_node_id object)
{
	return merging->session->dominators->retained[object] == 0;
}

// Leaked objects have no dominator: their own size counts.
static bool is_small(const struct merging *merging, heap_node_id object)
{
	return (is_leaked(merging, object)
			? merging->nodes->size[object]
			: merging->session->dominators->retained[object]) < merging->min;
}

// Finds the nearest dominator that is not merged. Lists are long, so all
// objects on the path keep the answer.
static heap_node_id find_owner(const struct merging *merging, heap_node_id object)
{
	const struct heap_dominators *dominators = merging->session->dominators;
	heap_node_id node, owner;

	if (is_leaked(merging, object))
		return EXPORT_OWNER_NONE;
	node = object;
	while (node < dominators->objects && is_small(merging, node) &&
	       merging->owner[node] == UNKNOWN)
		node = dominators->nearest[node];
	owner = node < dominators->objects && is_small(merging, node) ? merging->owner[node] : node;
	for (node = object; node < dominators->objects && is_small(merging, node) &&
			    merging->owner[node] == UNKNOWN;
	     node = dominators->nearest[node])
		merging->owner[node] = owner;
	return owner;
}

static uint32_t name_class(const struct merging *merging, heap_node_id object)
{
	struct session *session = merging->session;
	const void *mark = session_mark(session);
	uint32_t class =
		export_texts_add(merging->texts, session_format(session, "%s (merged)",
								export_class(session, object)));

	session_release(session, mark);
	return class;
}

HEAP_MUST_CHECK
static struct heap_error *merge_object(const struct merging *merging, heap_node_id object)
{
	struct export_merge *merge = merging->merge;
	uint32_t group;

	HEAP_TRY(
		get_group(merge, find_owner(merging, object), name_class(merging, object), &group));
	merge->group[object] = group;
	merge->groups[group].objects++;
	merge->groups[group].bytes += merging->nodes->size[object];
	return NULL;
}

// Marks the objects that lose a referrer because it is merged.
static void mark_adopted(const struct merging *merging)
{
	const struct heap_snapshot *nodes = merging->nodes;
	struct export_merge *merge = merging->merge;

	for (heap_node_id i = 0; i < nodes->object_count; i++) {
		if (!export_is_merged(merge, i))
			continue;
		for (uint32_t j = nodes->edge_first[i]; j < nodes->edge_first[i + 1]; j++) {
			heap_node_id target = nodes->edge_target[j];

			merge->is_adopted[target] |=
				!export_is_merged(merge, target) && !is_leaked(merging, target);
		}
	}
}

HEAP_MUST_CHECK
static struct heap_error *merge_all(const struct merging *merging)
{
	size_t count = merging->nodes->object_count;
	struct export_merge *merge = merging->merge;

	if (!merge->group || !merge->is_adopted || !merging->owner)
		return heap_error_out_of_memory();
	for (size_t i = 0; i < count; i++)
		merging->owner[i] = UNKNOWN;
	memset(merge->group, 0xff, (count + 1) * sizeof(*merge->group));
	for (heap_node_id i = 0; merging->min > 0 && i < count; i++) {
		if (is_small(merging, i))
			HEAP_TRY(merge_object(merging, i));
	}
	if (merging->texts->failed)
		return heap_error_out_of_memory();
	mark_adopted(merging);
	return NULL;
}

struct heap_error *export_merge_init(struct export_merge *result, struct session *session,
				     const struct heap_snapshot *nodes, uint64_t min,
				     struct export_texts *texts)
{
	size_t count = nodes->object_count;
	struct export_merge merge = {
		.group = malloc((count + 1) * sizeof(*merge.group)),
		.is_adopted = calloc(count + 1, 1),
	};
	CLEANUP_FREE heap_node_id *owner = malloc((count + 1) * sizeof(*owner));
	struct heap_error *error =
		merge_all(&(struct merging){ &merge, session, texts, min, nodes, owner });

	if (error) {
		export_merge_deinit(&merge);
		return error;
	}
	*result = merge;
	return NULL;
}
