// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/group_sets.h"

#include <string.h>

struct heap_error *heap_group_sets_init(struct heap_group_sets *sets, uint32_t groups,
					uint32_t most)
{
	*sets = (struct heap_group_sets){ .groups = groups, .most = most };
	sets->cache = calloc(HEAP_GROUP_SETS_CACHE, sizeof(*sets->cache));
	return sets->cache ? NULL : heap_error_out_of_memory();
}

void heap_group_sets_deinit(struct heap_group_sets *sets)
{
	heap_array_deinit(&sets->sets);
	heap_array_deinit(&sets->members);
	heap_hash_table_deinit(&sets->by_members);
	free(sets->cache);
}

// @param id  stays valid as long as the result
static const uint32_t *members_of(const struct heap_group_sets *sets, const uint32_t *id,
				  uint32_t *count)
{
	const struct heap_group_set *set;

	if (*id < sets->groups) {
		*count = 1;
		return id;
	}
	set = &sets->sets.items[*id - sets->groups - 2];
	*count = set->count;
	return sets->members.items + set->first;
}

// @param merged  [2 * HEAP_JOINT_MOST] @return how many groups are in it
static uint32_t merge(const struct heap_group_sets *sets, uint32_t a, uint32_t b, uint32_t *merged)
{
	uint32_t a_count, b_count, count = 0;
	const uint32_t *of_a = members_of(sets, &a, &a_count);
	const uint32_t *of_b = members_of(sets, &b, &b_count);

	for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
		bool takes_a = j == b_count || (i < a_count && of_a[i] <= of_b[j]);
		bool takes_b = i == a_count || (j < b_count && of_b[j] <= of_a[i]);

		merged[count++] = takes_a ? of_a[i] : of_b[j];
		i += takes_a;
		j += takes_b;
	}
	return count;
}

HEAP_MUST_CHECK
static struct heap_error *intern(struct heap_group_sets *sets, const uint32_t *members,
				 uint32_t count, uint32_t *result)
{
	uint64_t hash = heap_hash_bytes(HEAP_HASH_START, members, count * sizeof(*members));
	uint32_t found =
		heap_hash_find(&sets->by_members, hash, i,
			       sets->sets.items[i].count == count &&
				       memcmp(sets->members.items + sets->sets.items[i].first,
					      members, count * sizeof(*members)) == 0);

	if (found == HEAP_HASH_NONE && sets->sets.count == HEAP_GROUP_SETS) {
		*result = heap_group_sets_many(sets);
		return NULL;
	}
	if (found == HEAP_HASH_NONE) {
		struct heap_group_set set = { (uint32_t)sets->members.count, count };

		found = (uint32_t)sets->sets.count;
		HEAP_TRY(heap_array_reserve(&sets->members, count));
		HEAP_TRY(heap_array_append(&sets->sets, set));
		memcpy(sets->members.items + set.first, members, count * sizeof(*members));
		sets->members.count += count;
		HEAP_TRY(heap_hash_add(&sets->by_members, hash, found));
	}
	*result = sets->groups + 2 + found;
	return NULL;
}

struct heap_error *heap_group_sets_unite(struct heap_group_sets *sets, uint32_t a, uint32_t b,
					 uint32_t *result)
{
	uint32_t merged[2 * HEAP_JOINT_MOST], count;
	uint32_t outside = heap_group_sets_outside(sets), many = heap_group_sets_many(sets);
	struct heap_group_union *cached =
		&sets->cache[heap_hash_fold(heap_hash_pair(a, b)) % HEAP_GROUP_SETS_CACHE];

	if (a == b || b == HEAP_NO_GROUP_SET || a == outside)
		*result = a;
	else if (a == HEAP_NO_GROUP_SET || b == outside)
		*result = b;
	else if (a == many || b == many)
		*result = many;
	else if (cached->a == a && cached->b == b)
		*result = cached->result;
	else {
		count = merge(sets, a, b, merged);
		*result = many;
		if (count <= sets->most)
			HEAP_TRY(intern(sets, merged, count, result));
		*cached = (struct heap_group_union){ a, b, *result };
	}
	return NULL;
}
