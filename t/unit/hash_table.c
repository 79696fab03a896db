// SPDX-License-Identifier: GPL-3.0-or-later
// Hash tables of numbers: keys of every kind, collisions, growth, and no memory.
#include "t/unit/unit.h"

#include "lib/base/hash_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	MANY = 200000,
};

// Addresses 16 apart, as those of blocks are.
static uint64_t key_of(uint32_t number)
{
	return 0x7f0000000000 + (uint64_t)number * 16;
}

static uint32_t find(const struct heap_hash_table *table, uint64_t key)
{
	return heap_hash_find(table, heap_hash_u64(key), i, key_of(i) == key);
}

static void numbers_are_found_by_their_keys(void **state)
{
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };

	(void)state;
	assert_int_equal(find(&table, key_of(0)), HEAP_HASH_NONE);
	for (uint32_t i = 0; i < MANY; i++) {
		assert_int_equal(find(&table, key_of(i)), HEAP_HASH_NONE);
		assert_null(heap_hash_add(&table, heap_hash_u64(key_of(i)), i));
	}
	assert_int_equal(table.count, MANY);
	assert_true(table.count <= (table.mask + 1) / 4 * 3);
	assert_true(table.mask < 4 * MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(find(&table, key_of(i)), i);
	assert_int_equal(find(&table, key_of(MANY)), HEAP_HASH_NONE);
	assert_int_equal(find(&table, 0), HEAP_HASH_NONE);
	heap_hash_clear(&table);
	assert_int_equal(find(&table, key_of(1)), HEAP_HASH_NONE);
	assert_null(heap_hash_add(&table, heap_hash_u64(key_of(1)), 1));
	assert_int_equal(find(&table, key_of(1)), 1);
}

static void equal_hashes_are_told_apart(void **state)
{
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };
	uint32_t at = heap_hash_fold(5), number, seen = 0;

	(void)state;
	for (uint32_t i = 0; i < 300; i++)
		assert_null(heap_hash_add(&table, 5, i));
	assert_null(heap_hash_add(&table, 6, 1000));
	for (uint32_t i = 0; i < 300; i++)
		assert_int_equal(heap_hash_find(&table, 5, n, n == i), i);
	assert_int_equal(heap_hash_find(&table, 5, n, n == 1000), HEAP_HASH_NONE);
	heap_hash_replace(&table, 5, 77, 301);
	assert_int_equal(heap_hash_find(&table, 5, n, n == 77), HEAP_HASH_NONE);
	heap_hash_replace(&table, 5, 301, 77);
	assert_int_equal(heap_hash_find(&table, 5, n, n == 77), 77);
	while (heap_hash_next(&table, heap_hash_fold(5), &at, &number))
		seen += number < 300;
	assert_int_equal(seen, 300);
}

static void the_largest_hash_and_number_are_fine(void **state)
{
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };
	// Folded, all ones: probing goes on at the first slot.
	const uint64_t last = UINT32_MAX;

	(void)state;
	for (uint32_t i = 0; i < 20; i++)
		assert_null(heap_hash_add(&table, last, UINT32_MAX - 1 - i));
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(heap_hash_find(&table, last, n, n == UINT32_MAX - 1 - i),
				 UINT32_MAX - 1 - i);
}

static void tables_stay_when_there_is_no_memory(void **state)
{
	CLEANUP_HASH_TABLE struct heap_hash_table table = { 0 };
	struct heap_hash_table before;

	(void)state;
	assert_null(heap_hash_add(&table, heap_hash_u64(key_of(0)), 0));
	before = table;
	assert_error(heap_hash_reserve(&table, UINT32_MAX), HEAP_ERROR_MEMORY, "out of memory");
	assert_memory_equal(&table, &before, sizeof(table));
	assert_int_equal(find(&table, key_of(0)), 0);
	assert_null(heap_hash_reserve(&table, 1000));
	before = table;
	for (uint32_t i = 1; i <= 1000; i++)
		assert_null(heap_hash_add(&table, heap_hash_u64(key_of(i)), i));
	assert_ptr_equal(table.slots, before.slots);
}

static int compare(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return (left > right) - (left < right);
}

// Numbers whose slot of 2^18 another one has, too: some 22 % of random ones.
static uint32_t collisions(uint32_t *slots, uint32_t count)
{
	uint32_t result = 0;

	qsort(slots, count, sizeof(*slots), compare);
	for (uint32_t i = 1; i < count; i++)
		result += slots[i] == slots[i - 1];
	return result;
}

static void hashes_spread(void **state)
{
	const uint32_t count = 1 << 17, mask = (1 << 18) - 1;
	uint32_t *slots = malloc(count * sizeof(*slots));

	(void)state;
	assert_non_null(slots);
	for (int shift = 0; shift <= 32; shift += 4) {
		for (uint32_t i = 0; i < count; i++)
			slots[i] = heap_hash_fold(heap_hash_u64((uint64_t)i << shift)) & mask;
		assert_in_range(collisions(slots, count), 0, count / 4);
	}
	for (uint32_t i = 0; i < count; i++)
		slots[i] = heap_hash_fold(heap_hash_pair(i / 256, i % 256)) & mask;
	assert_in_range(collisions(slots, count), 0, count / 4);
	for (uint32_t i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "struct node_%u", i);
		slots[i] = heap_hash_fold(heap_hash_string(name)) & mask;
	}
	assert_in_range(collisions(slots, count), 0, count / 4);
	free(slots);
}

static void hashes_of_bytes_are_of_all_of_them(void **state)
{
	char bytes[40] = { 0 };
	uint64_t hashes[sizeof(bytes) * 9];
	size_t count = 0;

	(void)state;
	// Each length, and each single bit.
	for (size_t size = 0; size <= sizeof(bytes); size++)
		hashes[count++] = heap_hash_bytes(HEAP_HASH_START, bytes, size);
	for (size_t bit = 0; bit < sizeof(bytes) * 8 - 1; bit++) {
		bytes[bit / 8] = (char)(1 << bit % 8);
		hashes[count++] = heap_hash_bytes(HEAP_HASH_START, bytes, sizeof(bytes));
		bytes[bit / 8] = 0;
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
	assert_true(heap_hash_string("ab") == heap_hash_bytes(HEAP_HASH_START, "ab", 2));
	assert_true(heap_hash_pair(1, 2) != heap_hash_pair(2, 1));
}

UNIT_TESTS("hash table", cmocka_unit_test(numbers_are_found_by_their_keys),
	   cmocka_unit_test(equal_hashes_are_told_apart),
	   cmocka_unit_test(the_largest_hash_and_number_are_fine),
	   cmocka_unit_test(tables_stay_when_there_is_no_memory), cmocka_unit_test(hashes_spread),
	   cmocka_unit_test(hashes_of_bytes_are_of_all_of_them))
