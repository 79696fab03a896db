// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/tables/leak_groups.h"

#include "lib/base/array.h"
#include "lib/query/absent.h"
#include "shell/print/backtrace.h"
#include "shell/print/describe.h"
#include "shell/print/part.h"
#include "shell/tables/site_rows.h"

#include <stdlib.h>

static uint64_t key_of(const struct leak_groups *groups, heap_object_id object)
{
	const struct heap_snapshot *snapshot = groups->session->snapshot;
	heap_site_id site = groups->site_rows[snapshot->site[object]];
	uint32_t step;

	switch (groups->grouping) {
	case LEAKS_BY_TYPE:
		return snapshot->type[object];
	case LEAKS_BY_SITE:
		return site;
	case LEAKS_BY_BACKTRACE:
		step = heap_backtrace_step(snapshot->backtrace[object]);
		return step ? step : UINT64_C(1) << 32 | site;
	default:
		if (snapshot->type[object] == HEAP_NO_TYPE && heap_unprepared(snapshot))
			return UINT64_C(1) << 63 | snapshot->size[object];
		return (uint64_t)snapshot->type[object] << 32 | site;
	}
}

// Finds the group of an object, or makes one.
HEAP_MUST_CHECK
static struct heap_error *need_group(struct leak_groups *groups, heap_object_id object,
				     struct leak_group **result)
{
	uint64_t key = key_of(groups, object), hash = heap_hash_u64(key);
	uint32_t found = heap_hash_find(&groups->by_key, hash, i, groups->all[i].key == key);

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)groups->count;
		HEAP_TRY(heap_reserve(groups->all, groups->capacity, groups->count + 1));
		HEAP_TRY(heap_hash_add(&groups->by_key, hash, found));
		groups->all[groups->count++] = (struct leak_group){ .key = key, .example = object };
	}
	*result = &groups->all[found];
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
	group->cycles += class == HEAP_LEAK_CYCLE;
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

	HEAP_TRY(site_rows_find(groups->session, &groups->site_rows));
	groups->count = 0;
	heap_hash_clear(&groups->by_key);
	for (heap_object_id i = 0; i < objects; i++) {
		if (groups->perhaps ? groups->leaks.class_of[i] == HEAP_LEAK_PERHAPS
				    : groups->leaks.class_of[i] >= HEAP_LEAK_DIRECT)
			HEAP_TRY(add_leak(groups, i));
	}
	if (groups->count > 0)
		qsort(groups->all, groups->count, sizeof(*groups->all), compare_groups);
	return NULL;
}

static const char *name_type(const struct leak_groups *groups, heap_object_id example)
{
	struct session *session = groups->session;
	heap_type_id type = session->snapshot->type[example];

	if (type != HEAP_NO_TYPE)
		return describe_type(session, type);
	if (groups->grouping == LEAKS_BY_TYPE)
		return "(untyped)";
	type = part_main_type(session, example);
	if (type != HEAP_NO_TYPE)
		return session_format(session, "pool of %s", describe_type(session, type));
	return groups->grouping == LEAKS_BY_KIND && heap_unprepared(session->snapshot)
		       ? describe_type_of(session, example)
		       : "(untyped)";
}

const char *leak_groups_name(const struct leak_groups *groups, const struct leak_group *group)
{
	struct session *session = groups->session;
	const char *site = backtrace_site(session, group->example);
	const char *type = name_type(groups, group->example);

	if (groups->grouping == LEAKS_BY_SITE)
		return site;
	if (groups->grouping == LEAKS_BY_TYPE || heap_unprepared(session->snapshot))
		return type;
	return session_format(session, "%s, %s", type, site);
}

void leak_groups_deinit(struct leak_groups *groups)
{
	heap_leaks_deinit(&groups->leaks);
	free(groups->all);
	heap_hash_table_deinit(&groups->by_key);
}
