// SPDX-License-Identifier: GPL-3.0-or-later
// Binary search, against a search from the first to the last.
#include "t/unit/unit.h"

#include "lib/base/search.h"

struct range {
	uint64_t start, end;
};

static void partition_points_are_those_of_a_linear_search(void **state)
{
	(void)state;
	for (uint32_t count = 0; count < 40; count++) {
		uint32_t sorted[40];

		for (uint32_t i = 0; i < count; i++)
			sorted[i] = i / 3 * 2 + 1; // runs of equal ones, with gaps
		for (uint32_t key = 0; key < 40; key++) {
			uint32_t first = 0, last;

			while (first < count && sorted[first] < key)
				first++;
			for (last = first; last < count && sorted[last] == key;)
				last++;
			assert_int_equal(heap_lower_bound_u32(sorted, count, key), first);
			assert_int_equal(heap_sorted_has_u32(sorted, count, key), last > first);
			assert_int_equal(heap_partition_point(i, 0, count, sorted[i] <= key), last);
		}
	}
}

static void a_part_of_an_array_is_searched(void **state)
{
	const struct range ranges[] = { { 10, 20 }, { 30, 40 }, { 40, 50 }, { 60, 70 } };
	uint32_t first = 1, end = 3;
	uint64_t address = 45;
	int evaluated = 0;

	(void)state;
	assert_int_equal(heap_partition_point(i, 0u, 4u, ranges[i].end <= address), 2);
	address = 5;
	assert_int_equal(heap_partition_point(i, first, end, ranges[i].end <= address), 1);
	address = 1000;
	assert_int_equal(heap_partition_point(i, first, end, ranges[i].end <= address), 3);
	assert_int_equal(heap_partition_point(i, end, end, ranges[i].end <= address), 3);
	assert_int_equal(heap_partition_point(i, 0, 1000000, (evaluated++, i < 777777)), 777777);
	assert_in_range(evaluated, 19, 20);
}

static void indexes_of_64_bits_do_not_overflow(void **state)
{
	uint64_t most = UINT64_MAX, at = UINT64_MAX - 5;
	uint32_t most_u32 = UINT32_MAX;
	const uint64_t sorted[] = { 1, UINT64_MAX };

	(void)state;
	assert_true(heap_partition_point(i, 0, most, i < at) == at);
	assert_int_equal(heap_partition_point(i, 0, most_u32, i < UINT32_MAX - 1), UINT32_MAX - 1);
	assert_true(heap_sorted_has_u64(sorted, 2, UINT64_MAX));
	assert_false(heap_sorted_has_u64(sorted, 1, UINT64_MAX));
	assert_int_equal(heap_lower_bound_u64(sorted, 2, 2), 1);
	assert_int_equal(heap_lower_bound_u64(NULL, 0, 2), 0);
}

static void what_is_not_zero_is_found(void **state)
{
	(void)state;
	for (uint32_t set = 0; set < 40; set++) {
		uint32_t values[40] = { 0 };

		values[set] = 1u << set % 32;
		for (uint32_t at = 0; at <= 40; at++) {
			for (uint32_t end = at; end <= 40; end++)
				assert_int_equal(heap_next_set_u32(values, at, end),
						 at <= set && set < end ? set : end);
		}
	}
}

UNIT_TESTS("search", cmocka_unit_test(what_is_not_zero_is_found),
	   cmocka_unit_test(partition_points_are_those_of_a_linear_search),
	   cmocka_unit_test(a_part_of_an_array_is_searched),
	   cmocka_unit_test(indexes_of_64_bits_do_not_overflow))
