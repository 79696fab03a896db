// SPDX-License-Identifier: GPL-3.0-or-later
// Growing arrays: contents, capacities, overflow, and no memory.
#include "t/unit/unit.h"

#include "lib/base/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct pair {
	uint32_t first, second;
};

struct pairs HEAP_ARRAY(struct pair);

HEAP_MUST_CHECK
static struct heap_error *append_pairs(struct pairs *pairs, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		HEAP_TRY(heap_array_append(pairs, (struct pair){ i, ~i }));
	return NULL;
}

static void arrays_keep_what_is_appended(void **state)
{
	CLEANUP_ARRAY struct pairs pairs = { 0 };

	(void)state;
	assert_null(append_pairs(&pairs, 100000));
	assert_int_equal(pairs.count, 100000);
	assert_true(pairs.capacity >= pairs.count && pairs.capacity < 200000);
	for (uint32_t i = 0; i < pairs.count; i++)
		assert_true(pairs.items[i].first == i && pairs.items[i].second == ~i);
	heap_array_deinit(&pairs);
	assert_true(!pairs.items && pairs.count == 0 && pairs.capacity == 0);
	assert_null(append_pairs(&pairs, 1));
}

static void other_members_of_a_struct_stay(void **state)
{
	struct {
		int *items;
		size_t count, capacity;
		int other;
	} list = { .other = 42 };

	(void)state;
	assert_null(heap_array_append(&list, 1));
	heap_array_deinit(&list);
	assert_true(!list.items && list.count == 0 && list.capacity == 0);
	assert_int_equal(list.other, 42);
}

static void a_reserve_is_enough(void **state)
{
	CLEANUP_ARRAY struct HEAP_ARRAY(char) bytes = { 0 };
	char *before;

	(void)state;
	assert_null(heap_array_reserve(&bytes, 0));
	assert_null(bytes.items);
	assert_null(heap_array_reserve(&bytes, 1000));
	assert_true(bytes.capacity >= 1000);
	before = bytes.items;
	for (int i = 0; i < 1000; i++)
		assert_null(heap_array_append(&bytes, 'x'));
	assert_ptr_equal(bytes.items, before);
}

static void each_argument_is_evaluated_once(void **state)
{
	struct pairs both[2] = { 0 }, *at = both;
	uint32_t number = 7;

	(void)state;
	assert_null(heap_array_append(at++, (struct pair){ number++, 0 }));
	assert_ptr_equal(at, both + 1);
	assert_int_equal(number, 8);
	assert_int_equal(both[0].items[0].first, 7);
	assert_int_equal(both[1].count, 0);
	free(both[0].items);
}

static void fields_of_32_bits_grow_to_their_limit_only(void **state)
{
	uint32_t capacity = 0;
	uint8_t small = 0;
	uint64_t *list = NULL;
	char *bytes = NULL;

	(void)state;
	assert_null(heap_reserve(list, capacity, 3));
	assert_true(capacity >= 3);
	list[2] = 42;
	assert_null(heap_reserve(list, capacity, 1000));
	assert_int_equal(list[2], 42);
	assert_error(heap_reserve(list, capacity, (size_t)UINT32_MAX + 1), HEAP_ERROR_MEMORY,
		     "out of memory");
	assert_int_equal(list[2], 42);
	free(list);
	// The last step of growth is cut to what the counter holds.
	assert_null(heap_reserve(bytes, small, 200));
	assert_null(heap_reserve(bytes, small, 201));
	assert_int_equal(small, 255);
	assert_error(heap_reserve(bytes, small, 256), HEAP_ERROR_MEMORY, "out of memory");
	assert_int_equal(small, 255);
	free(bytes);
}

static void arrays_stay_when_there_is_no_memory(void **state)
{
	CLEANUP_ARRAY struct pairs pairs = { 0 };
	struct pairs before;

	(void)state;
	assert_null(append_pairs(&pairs, 10));
	before = pairs;
	// Too many bytes, more than the address space, and a sum that wraps.
	assert_error(heap_array_reserve(&pairs, SIZE_MAX / 4), HEAP_ERROR_MEMORY, "out of memory");
	assert_error(heap_array_reserve(&pairs, PTRDIFF_MAX / sizeof(struct pair) - 10),
		     HEAP_ERROR_MEMORY, "out of memory");
	assert_error(heap_array_reserve(&pairs, SIZE_MAX), HEAP_ERROR_MEMORY, "out of memory");
	assert_memory_equal(&pairs, &before, sizeof(pairs));
	assert_int_equal(pairs.items[9].first, 9);
}

static void capacities_grow_by_half(void **state)
{
	size_t capacity = 0;
	int steps = 0;

	(void)state;
	assert_int_equal(heap_array_next_capacity(0, 1, 1, SIZE_MAX), 16);
	assert_int_equal(heap_array_next_capacity(0, 1, 1, 5), 5);
	assert_int_equal(heap_array_next_capacity(1000, 1001, 8, SIZE_MAX), 1500);
	assert_int_equal(heap_array_next_capacity(1000, 9000, 8, SIZE_MAX), 9000);
	assert_int_equal(heap_array_next_capacity(4000000000, 4000000001, 4, UINT32_MAX),
			 UINT32_MAX);
	assert_int_equal(heap_array_next_capacity(0, SIZE_MAX / 8, 8, SIZE_MAX), 0);
	while (capacity < 1000000) {
		capacity = heap_array_next_capacity(capacity, capacity + 1, 1, SIZE_MAX);
		steps++;
	}
	assert_in_range(steps, 10, 40);
}

UNIT_TESTS("array", cmocka_unit_test(arrays_keep_what_is_appended),
	   cmocka_unit_test(other_members_of_a_struct_stay), cmocka_unit_test(a_reserve_is_enough),
	   cmocka_unit_test(each_argument_is_evaluated_once),
	   cmocka_unit_test(fields_of_32_bits_grow_to_their_limit_only),
	   cmocka_unit_test(arrays_stay_when_there_is_no_memory),
	   cmocka_unit_test(capacities_grow_by_half))
