// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/export/merge.h"

#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t NONE = UINT32_MAX;
static const heap_node_id UNKNOWN = HEAP_NO_NODE - 2;

void export_merge_deinit(struct export_merge *merge)
{
	free(merge->group);
	free(merge->groups);
	free(merge->is_adopted);
	free(merge->slots);
}

// --- groups ------------------------------------------------------------------

// Slots hold numbers of groups + 1.
static uint32_t find_slot(const struct export_merge *merge, heap_node_id owner, uint32_t class)
{
	uint64_t hash = ((uint64_t)owner << 32 | class) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t slot = (uint32_t)(hash >> 32) & (merge->slot_count - 1);

	while (merge->slots[slot] && (merge->groups[merge->slots[slot] - 1].owner != owner ||
				      merge->groups[merge->slots[slot] - 1].class != class))
		slot = (slot + 1) & (merge->slot_count - 1);
	return slot;
}

static bool grow(struct export_merge *merge)
{
	uint32_t capacity = merge->group_capacity ? merge->group_capacity * 2 : 1024;
	uint32_t *slots = calloc((size_t)capacity * 2, sizeof(*slots));
	void *groups = realloc(merge->groups, capacity * sizeof(*merge->groups));

	if (groups)
		merge->groups = groups;
	if (!slots || !groups) {
		free(slots);
		return false;
	}
	free(merge->slots);
	merge->slots = slots;
	merge->slot_count = capacity * 2;
	merge->group_capacity = capacity;
	for (uint32_t i = 0; i < merge->group_count; i++)
		slots[find_slot(merge, merge->groups[i].owner, merge->groups[i].class)] = i + 1;
	return true;
}

// @return NONE if memory is short
static uint32_t get_group(struct export_merge *merge, heap_node_id owner, uint32_t class)
{
	uint32_t slot;

	if (merge->group_count == merge->group_capacity && !grow(merge))
		return NONE;
	slot = find_slot(merge, owner, class);
	if (merge->slots[slot] == 0) {
		merge->groups[merge->group_count] =
			(struct export_merge_group){ owner, class, 0, 0 };
		merge->slots[slot] = ++merge->group_count;
	}
	return merge->slots[slot] - 1;
}

// --- merging -----------------------------------------------------------------

struct merging {
	struct export_merge *merge;
	struct session *session;
	struct export_texts *texts;
	uint64_t min;
	heap_node_id *owner; // [objects] of those that have been asked for; UNKNOWN
};

static bool is_leaked(const struct merging *merging, heap_object_id object)
{
	return merging->session->graph->reach[object] == HEAP_REACH_NOT;
}

// What is leaked retains nothing that is known.
static bool is_small(const struct merging *merging, heap_object_id object)
{
	return (is_leaked(merging, object)
			? merging->session->snapshot->size[object]
			: merging->session->dominators->retained[object]) < merging->min;
}

// The nearest dominator that is not merged: dominators retain more and more. Lists are long, so
// what has been found is kept for all on the way.
static heap_node_id find_owner(const struct merging *merging, heap_object_id object)
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

static uint32_t name_class(const struct merging *merging, heap_object_id object)
{
	struct session *session = merging->session;
	const void *mark = session_mark(session);
	uint32_t class =
		export_texts_add(merging->texts, session_format(session, "%s (merged)",
								export_class(session, object)));

	session_release(session, mark);
	return class;
}

static bool merge_object(const struct merging *merging, heap_object_id object)
{
	struct export_merge *merge = merging->merge;
	uint32_t group = get_group(merge, find_owner(merging, object), name_class(merging, object));

	merge->group[object] = group;
	if (group == NONE)
		return false;
	merge->groups[group].objects++;
	merge->groups[group].bytes += merging->session->snapshot->size[object];
	return true;
}

// Who loses a way that leads to it.
static void mark_adopted(const struct merging *merging)
{
	const struct heap_snapshot *snapshot = merging->session->snapshot;
	struct export_merge *merge = merging->merge;

	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		if (!export_is_merged(merge, i))
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++) {
			heap_object_id target = snapshot->edge_target[j];

			merge->is_adopted[target] |=
				!export_is_merged(merge, target) && !is_leaked(merging, target);
		}
	}
}

struct heap_error *export_merge_init(struct export_merge *result, struct session *session,
				     uint64_t min, struct export_texts *texts)
{
	size_t count = session->snapshot->object_count;
	struct export_merge merge = {
		.group = malloc((count + 1) * sizeof(*merge.group)),
		.is_adopted = calloc(count + 1, 1),
	};
	CLEANUP_FREE heap_node_id *owner = malloc((count + 1) * sizeof(*owner));
	const struct merging merging = { &merge, session, texts, min, owner };
	bool done = merge.group && merge.is_adopted && owner;

	for (size_t i = 0; owner && i < count; i++)
		owner[i] = UNKNOWN;
	if (merge.group)
		memset(merge.group, 0xff, (count + 1) * sizeof(*merge.group));
	for (heap_object_id i = 0; done && min > 0 && i < count; i++) {
		if (is_small(&merging, i))
			done = merge_object(&merging, i);
	}
	if (!done || texts->failed) {
		export_merge_deinit(&merge);
		return heap_error_out_of_memory();
	}
	mark_adopted(&merging);
	*result = merge;
	return NULL;
}
