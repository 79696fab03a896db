// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/series.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash.h"
#include "lib/series/identity.h"

#include <inttypes.h>
#include <string.h>

enum {
	NAME_MAX_BYTES = 1024, // of a type; longer names count by their beginning
};

// A snapshot of the series. The ids of a type differ between snapshots, so types are compared by
// the hashes of their names.
struct member {
	struct heap_snapshot *snapshot;
	uint64_t *type;  // [types.count] hash of its name; 0: unknown, or no object has it
	uint32_t *first; // [object_count]
};

struct heap_series {
	struct member latest;
	uint32_t length;
};

struct heap_error *heap_series_create(struct heap_series **result)
{
	struct heap_series *series = calloc(1, sizeof(*series));

	if (!series)
		return heap_error_out_of_memory();
	*result = series;
	return NULL;
}

static void member_deinit(struct member *member)
{
	heap_snapshot_close(member->snapshot);
	free(member->type);
	free(member->first);
}

void heap_series_destroy(struct heap_series *series)
{
	if (!series)
		return;
	member_deinit(&series->latest);
	free(series);
}

// Hashes the names of those types only that objects have; there may be a hundred times as many.
HEAP_MUST_CHECK
static struct heap_error *member_hash_types(struct member *member)
{
	const struct heap_snapshot *snapshot = member->snapshot;
	char name[NAME_MAX_BYTES];

	member->type = calloc(snapshot->types.count, sizeof(*member->type));
	if (!member->type)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < snapshot->object_count; i++) {
		heap_type_id type = snapshot->type[i];

		if (type == HEAP_NO_TYPE || member->type[type])
			continue;
		heap_types_format(&snapshot->types, type, name, sizeof(name));
		member->type[type] = heap_hash_string(name) | 1;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *member_init(struct member *member, struct heap_snapshot *snapshot)
{
	*member = (struct member){ .snapshot = snapshot };

	HEAP_TRY(heap_snapshot_load(snapshot, HEAP_COLUMN_ADDRESS | HEAP_COLUMN_TYPE |
						      HEAP_COLUMN_SITE | HEAP_COLUMN_BIRTH));
	member->first = malloc(((size_t)snapshot->object_count + 1) * sizeof(*member->first));
	if (!member->first)
		return heap_error_out_of_memory();
	return member_hash_types(member);
}

static uint64_t site_of(const struct heap_snapshot *snapshot, heap_object_id object)
{
	return snapshot->sites[snapshot->site[object]].address;
}

// Sites and types do not contradict.
static bool may_be_same(const struct member *before, heap_object_id old, const struct member *now,
			heap_object_id new)
{
	uint64_t old_type = before->type[before->snapshot->type[old]];
	uint64_t new_type = now->type[now->snapshot->type[new]];

	uint64_t old_site = site_of(before->snapshot, old), new_site = site_of(now->snapshot, new);
	bool knows_sites = heap_knows_births(before->snapshot) && heap_knows_births(now->snapshot);

	return (old_site == new_site || !knows_sites) &&
	       (old_type == new_type || !old_type || !new_type);
}

// Merges the objects of both snapshots, which are sorted by address.
HEAP_MUST_CHECK
static struct heap_error *find_first_seen(const struct member *before, struct member *now,
					  uint32_t number)
{
	struct heap_snapshot *old = before->snapshot, *new = now->snapshot;
	heap_object_id at = 0;

	for (heap_object_id i = 0; i < new->object_count; i++) {
		while (at < old->object_count && old->address[at] < new->address[i])
			at++;

		bool is_old = at < old->object_count && old->address[at] == new->address[i] &&
			      may_be_same(before, at, now, i);

		if (is_old)
			HEAP_TRY(heap_is_one_object(old, at, new, i, &is_old));
		now->first[i] = is_old ? before->first[at] : number;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_order(const struct heap_snapshot *before,
				      const struct heap_snapshot *now)
{
	const struct heap_info *old = &before->info, *new = &now->info;
	const char *path = now->path ? now->path : "snapshot";

	if (!heap_is_one_process(old, new))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "%s: of another process than the one before: %s, pid "
					 "%" PRIu64 ", not %s, pid %" PRIu64,
					 path, new->program, new->pid, old->program, old->pid);
	if (old->time_ns > new->time_ns ||
	    (old->time_ns == new->time_ns && old->serial >= new->serial))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "%s: not later than the one before",
					 path);
	return NULL;
}

struct heap_error *heap_series_add(struct heap_series *series, struct heap_snapshot *snapshot)
{
	CLEANUP(member_deinit) struct member member = { 0 };

	HEAP_TRY(member_init(&member, snapshot));
	if (series->length > 0) {
		HEAP_TRY(check_order(series->latest.snapshot, snapshot));
		HEAP_TRY(find_first_seen(&series->latest, &member, series->length));
	} else {
		memset(member.first, 0, snapshot->object_count * sizeof(*member.first));
	}
	member_deinit(&series->latest);
	series->latest = member;
	series->length++;
	member = (struct member){ 0 };
	return NULL;
}

uint32_t heap_series_length(const struct heap_series *series)
{
	return series->length;
}

struct heap_snapshot *heap_series_latest(const struct heap_series *series)
{
	return series->latest.snapshot;
}

uint32_t heap_series_first_seen(const struct heap_series *series, heap_object_id object)
{
	return series->latest.first[object];
}
