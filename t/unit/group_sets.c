// SPDX-License-Identifier: GPL-3.0-or-later
// Sets of groups as ids: unions against bits, and their limits.
#include "t/unit/unit.h"

#include "lib/graph/group_sets.h"
#include "t/unit/graph_model.h"

enum {
	GROUPS = 20,
	UNIONS = 20000,
	MANY_GROUPS = 1500, // have more pairs than there are ids
};

static uint32_t bits_of(const struct heap_group_sets *sets, uint32_t id)
{
	const struct heap_group_set *set = &sets->sets.items[id - GROUPS - 2];
	uint32_t bits = 0;

	for (uint32_t i = 0; i < set->count; i++) {
		assert_true(i == 0 || sets->members.items[set->first + i - 1] <
					      sets->members.items[set->first + i]);
		bits |= UINT32_C(1) << sets->members.items[set->first + i];
	}
	return bits;
}

// Ids and the same sets as bits, each the union of two before it.
static void unions_are_those_of_bits(void **state)
{
	static uint32_t ids[UNIONS], bits[UNIONS];
	struct heap_group_sets sets;

	(void)state;
	assert_null(heap_group_sets_init(&sets, GROUPS, HEAP_JOINT_MOST));
	for (uint32_t i = 0; i < UNIONS; i++) {
		uint32_t a = random_below(i), b = random_below(i);

		if (i < GROUPS || random_below(3) == 0) {
			ids[i] = random_below(GROUPS);
			bits[i] = UINT32_C(1) << ids[i];
			continue;
		}
		bits[i] = bits[a] | bits[b];
		assert_null(heap_group_sets_unite(&sets, ids[a], ids[b], &ids[i]));
		if (__builtin_popcount(bits[i]) > HEAP_JOINT_MOST)
			assert_int_equal(ids[i], heap_group_sets_many(&sets));
		else if (ids[i] < GROUPS)
			assert_int_equal(bits[i], UINT32_C(1) << ids[i]);
		else
			assert_int_equal(bits_of(&sets, ids[i]), bits[i]);
	}
	heap_group_sets_deinit(&sets);
}

static void some_sets_absorb_others(void **state)
{
	struct heap_group_sets sets;
	uint32_t result;

	(void)state;
	assert_null(heap_group_sets_init(&sets, GROUPS, 1));
	assert_null(heap_group_sets_unite(&sets, HEAP_NO_GROUP_SET, 3, &result));
	assert_int_equal(result, 3);
	assert_null(heap_group_sets_unite(&sets, 3, HEAP_NO_GROUP_SET, &result));
	assert_int_equal(result, 3);
	assert_null(heap_group_sets_unite(&sets, 3, 4, &result));
	assert_int_equal(result, heap_group_sets_many(&sets));
	assert_null(heap_group_sets_unite(&sets, result, 5, &result));
	assert_int_equal(result, heap_group_sets_many(&sets));
	assert_null(heap_group_sets_unite(&sets, result, heap_group_sets_outside(&sets), &result));
	assert_int_equal(result, heap_group_sets_outside(&sets));
	assert_null(heap_group_sets_unite(&sets, result, 5, &result));
	assert_int_equal(result, heap_group_sets_outside(&sets));
	heap_group_sets_deinit(&sets);
}

// The first ones have ids, the others count as too many groups.
static void there_is_a_limit_of_sets(void **state)
{
	struct heap_group_sets sets;
	uint32_t made = 0, result;

	(void)state;
	assert_null(heap_group_sets_init(&sets, MANY_GROUPS, HEAP_JOINT_MOST));
	for (uint32_t i = 0; i < MANY_GROUPS; i++) {
		for (uint32_t j = i + 1; j < MANY_GROUPS; j++) {
			assert_null(heap_group_sets_unite(&sets, i, j, &result));
			assert_int_equal(result, made < HEAP_GROUP_SETS
							 ? MANY_GROUPS + 2 + made
							 : heap_group_sets_many(&sets));
			made++;
		}
	}
	assert_int_equal(sets.sets.count, HEAP_GROUP_SETS);
	assert_null(heap_group_sets_unite(&sets, 1, 0, &result));
	assert_int_equal(result, MANY_GROUPS + 2);
	heap_group_sets_deinit(&sets);
}

UNIT_TESTS("group_sets", cmocka_unit_test(unions_are_those_of_bits),
	   cmocka_unit_test(some_sets_absorb_others), cmocka_unit_test(there_is_a_limit_of_sets))
