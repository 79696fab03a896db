// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/leak_groups.h"

#include "lib/base/cleanup.h"
#include "shell/print/describe.h"

#include <stdlib.h>

static uint64_t key_of(const struct leak_groups *groups, heap_object_id object)
{
	const struct heap_snapshot *snapshot = groups->session->snapshot;
	uint32_t step;

	switch (groups->grouping) {
	case LEAKS_BY_TYPE:
		return snapshot->type[object];
	case LEAKS_BY_SITE:
		return snapshot->site[object];
	case LEAKS_BY_BACKTRACE:
		step = heap_backtrace_step(snapshot->backtrace[object]);
		return step ? step : UINT64_C(1) << 32 | snapshot->site[object];
	default:
		return (uint64_t)snapshot->type[object] << 32 | snapshot->site[object];
	}
}

static uint32_t *find_slot(const struct leak_groups *groups, uint64_t key)
{
	size_t mask = groups->slot_count - 1;
	size_t at = (key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;

	while (groups->slots[at] && groups->all[groups->slots[at] - 1].key != key)
		at = (at + 1) & mask;
	return &groups->slots[at];
}

HEAP_MUST_CHECK
static struct heap_error *grow(struct leak_groups *groups)
{
	size_t capacity = groups->capacity * 2 + 64;
	void *larger = realloc(groups->all, capacity * sizeof(*groups->all));
	uint32_t *slots;

	if (!larger)
		return heap_error_out_of_memory();
	groups->all = larger;
	groups->capacity = capacity;
	for (groups->slot_count = 128; groups->slot_count < capacity * 2;)
		groups->slot_count *= 2;
	slots = calloc(groups->slot_count, sizeof(*slots));
	if (!slots)
		return heap_error_out_of_memory();
	free(groups->slots);
	groups->slots = slots;
	for (size_t i = 0; i < groups->count; i++)
		*find_slot(groups, groups->all[i].key) = (uint32_t)i + 1;
	return NULL;
}

// The group of an object's kind; made if there is none.
HEAP_MUST_CHECK
static struct heap_error *need_group(struct leak_groups *groups, heap_object_id object,
				     struct leak_group **result)
{
	uint64_t key = key_of(groups, object);
	uint32_t *slot;

	HEAP_TRY(groups->count == groups->capacity ? grow(groups) : NULL);
	slot = find_slot(groups, key);
	if (!*slot) {
		groups->all[groups->count++] = (struct leak_group){ .key = key, .example = object };
		*slot = (uint32_t)groups->count;
	}
	*result = &groups->all[*slot - 1];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_leak(struct leak_groups *groups, heap_object_id object)
{
	uint64_t bytes = groups->session->snapshot->size[object];
	enum heap_leak_class class = groups->leaks.class_of[object];
	struct leak_group *group;

	HEAP_TRY(need_group(groups, groups->leaks.leader[object], &group));
	if (groups->leaks.leader[object] != object) {
		group->indirect_objects++;
		group->indirect_bytes += bytes;
		return NULL;
	}
	group->objects++;
	group->bytes += bytes;
	group->circles += class == HEAP_LEAK_CYCLE;
	return NULL;
}

static int compare_groups(const void *left, const void *right)
{
	const struct leak_group *a = left, *b = right;
	uint64_t a_bytes = a->bytes + a->indirect_bytes, b_bytes = b->bytes + b->indirect_bytes;

	if (a_bytes != b_bytes)
		return a_bytes > b_bytes ? -1 : 1;
	return a->example < b->example ? -1 : a->example > b->example;
}

struct heap_error *leak_groups_make(struct leak_groups *groups)
{
	uint32_t objects = groups->session->snapshot->object_count;

	groups->count = 0;
	HEAP_TRY(grow(groups));
	for (heap_object_id i = 0; i < objects; i++) {
		if (groups->perhaps ? groups->leaks.class_of[i] == HEAP_LEAK_PERHAPS
				    : groups->leaks.class_of[i] >= HEAP_LEAK_DIRECT)
			HEAP_TRY(add_leak(groups, i));
	}
	qsort(groups->all, groups->count, sizeof(*groups->all), compare_groups);
	return NULL;
}

const char *leak_groups_name(const struct leak_groups *groups, const struct leak_group *group)
{
	struct session *session = groups->session;
	const struct heap_snapshot *snapshot = session->snapshot;
	heap_type_id type = snapshot->type[group->example];
	const char *type_name = type == HEAP_NO_TYPE ? "(untyped)" : describe_type(session, type);
	const char *site = describe_site(session, snapshot->site[group->example]);

	switch (groups->grouping) {
	case LEAKS_BY_TYPE:
		return type_name;
	case LEAKS_BY_SITE:
		return site;
	default:
		return session_format(session, "%s, %s", type_name, site);
	}
}

void leak_groups_deinit(struct leak_groups *groups)
{
	heap_leaks_deinit(&groups->leaks);
	free(groups->all);
	free(groups->slots);
}
