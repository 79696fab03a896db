// SPDX-License-Identifier: GPL-3.0-or-later
// Columns: zeros, ordinary memory or temporary files, and errors where there is no room.
#include "t/unit/unit.h"

#include "lib/base/column.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LARGE = 8 << 20,
};

// True if an address lies in a mapping of a file that has no name any more.
static bool is_in_file(const void *address)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	bool found = false;

	assert_non_null(maps);
	while (!found && fgets(line, sizeof(line), maps)) {
		unsigned long start, end;

		found = sscanf(line, "%lx-%lx", &start, &end) == 2 &&
			start <= (unsigned long)address && (unsigned long)address < end &&
			strstr(line, "(deleted)");
	}
	fclose(maps);
	return found;
}

static void check_column(size_t size, bool in_file)
{
	unsigned char *column = NULL, all = 0;

	assert_null(heap_column_create(size / 4, 4, &column));
	for (size_t i = 0; i < size; i++)
		all |= column[i];
	assert_int_equal(all, 0);
	memset(column, 1, size);
	assert_int_equal(is_in_file(column), in_file);
	heap_column_destroy(column);
}

static void columns_are_zeros_within_the_budget_and_beyond(void **state)
{
	(void)state;
	heap_column_limit(LARGE);
	check_column(LARGE, false);
	check_column(LARGE, false); // the budget is whole again
	check_column(2 * LARGE, true);
	heap_column_limit(0);
	check_column(LARGE, true);
	check_column(4096, false); // small ones do not count
	check_column(0, false);
}

static void columns_share_the_budget(void **state)
{
	void *first = NULL, *second = NULL, *third = NULL;

	(void)state;
	heap_column_limit(LARGE);
	assert_null(heap_column_create(LARGE, 1, &first));
	assert_null(heap_column_create(LARGE, 1, &second));
	heap_column_destroy(first);
	assert_null(heap_column_create(LARGE, 1, &third));
	assert_true(is_in_file(second));
	assert_false(is_in_file(third));
	heap_column_destroy(second);
	heap_column_destroy(third);
	heap_column_destroy(NULL);
}

// Bytes 0 to @p size - 1 are their numbers.
static void check_numbers(const unsigned char *column, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (column[i] != (unsigned char)i)
			fail_msg("byte %zu is %d", i, column[i]);
}

static void columns_grow_and_shrink(void **state)
{
	unsigned char *column = malloc(1000);

	(void)state;
	heap_column_limit(2 * LARGE);
	for (size_t i = 0; i < 1000; i++)
		column[i] = (unsigned char)i;
	assert_null(heap_column_resize(LARGE, &column)); // out of malloc's memory
	assert_true(heap_column_is_mapped(column));
	check_numbers(column, 1000);
	assert_int_equal(column[LARGE - 1], 0);
	for (size_t i = 0; i < LARGE; i++)
		column[i] = (unsigned char)i;
	assert_null(heap_column_resize(2 * LARGE, &column));
	assert_false(is_in_file(column));
	check_numbers(column, LARGE);
	assert_int_equal(column[2 * LARGE - 1], 0);
	assert_null(heap_column_resize(3 * LARGE, &column)); // beyond the budget
	assert_true(is_in_file(column));
	check_numbers(column, LARGE);
	assert_null(heap_column_resize(4 * LARGE, &column));
	check_numbers(column, LARGE);
	assert_null(heap_column_resize(1000, &column));
	assert_false(heap_column_is_mapped(column));
	check_numbers(column, 1000);
	heap_column_destroy(column);
	// All of the budget is back.
	check_column(2 * LARGE, false);
	column = NULL;
	assert_null(heap_column_resize(LARGE, &column));
	assert_int_equal(column[0], 0);
	heap_column_destroy(column);
}

static unsigned char *make_numbers(size_t size)
{
	unsigned char *column;

	assert_null(heap_column_create(size, 1, &column));
	for (size_t i = 0; i < size; i++)
		column[i] = (unsigned char)i;
	return column;
}

static void columns_that_rest_make_way(void **state)
{
	unsigned char *small, *large, *other;

	(void)state;
	heap_column_limit(8 * LARGE);
	small = make_numbers(LARGE);
	large = make_numbers(5 * LARGE + 1000);
	heap_column_rest(small);
	heap_column_rest(large);
	assert_false(is_in_file(small));
	assert_false(is_in_file(large));
	// The smallest one that is enough.
	other = make_numbers(2 * LARGE);
	assert_true(is_in_file(small));
	assert_false(is_in_file(large) || is_in_file(other));
	check_numbers(small, LARGE);
	heap_column_destroy(other);
	// All are not enough: then nobody does.
	other = make_numbers(9 * LARGE);
	assert_true(is_in_file(other));
	assert_false(is_in_file(large));
	heap_column_destroy(other);
	// And back again.
	heap_column_wake(small);
	assert_false(is_in_file(small));
	check_numbers(small, LARGE);
	other = make_numbers(6 * LARGE);
	assert_true(is_in_file(large) && is_in_file(large + 5 * LARGE));
	assert_false(is_in_file(small) || is_in_file(other));
	check_numbers(large, 5 * LARGE + 1000);
	heap_column_wake(large); // there is no room
	assert_true(is_in_file(large));
	heap_column_rest(other);
	heap_column_wake(large); // now there is
	assert_false(is_in_file(large));
	assert_true(is_in_file(other));
	check_numbers(large, 5 * LARGE + 1000);
	check_numbers(other, 6 * LARGE);
	assert_null(heap_column_resize(7 * LARGE, &other));
	check_numbers(other, 6 * LARGE);
	heap_column_destroy(small);
	heap_column_destroy(large);
	heap_column_destroy(other);
	check_column(8 * LARGE, false); // all of the budget is back
}

static void sparse_columns_count_less(void **state)
{
	unsigned char *sparse = NULL, *other = NULL, *third = NULL;

	(void)state;
	heap_column_limit(LARGE + LARGE / 16);
	assert_null(heap_column_create_sparse(LARGE, 1, &sparse));
	assert_null(heap_column_create(LARGE, 1, &other));
	assert_null(heap_column_create_sparse(2 * LARGE, 1, &third));
	assert_false(is_in_file(sparse) || is_in_file(other));
	assert_true(is_in_file(third));
	memset(sparse, 1, LARGE);
	assert_null(heap_column_resize(2 * LARGE, &sparse));
	assert_int_equal(sparse[LARGE - 1], 1);
	assert_int_equal(sparse[LARGE], 0);
	heap_column_destroy(sparse);
	heap_column_destroy(other);
	heap_column_destroy(third);
	check_column(LARGE + LARGE / 16, false); // all of the budget is back
}

static void where_there_is_no_room_for_files_nobody_makes_way(void **state)
{
	unsigned char *column, *other = NULL;

	(void)state;
	heap_column_limit(LARGE);
	column = make_numbers(LARGE);
	heap_column_rest(column);
	setenv("TMPDIR", "/nonexistent", 1);
	assert_error(heap_column_create(LARGE, 1, &other), HEAP_ERROR_SYSTEM,
		     "/nonexistent: no temporary file");
	unsetenv("TMPDIR");
	assert_null(other);
	assert_false(is_in_file(column));
	check_numbers(column, LARGE);
	heap_column_destroy(column);
	heap_column_rest(NULL);
	heap_column_wake(NULL);
}

static void what_malloc_gave_may_be_destroyed(void **state)
{
	(void)state;
	heap_column_destroy(malloc(10));
	heap_column_destroy(malloc(LARGE));
}

static void no_room_is_an_error(void **state)
{
	void *column = NULL;

	(void)state;
	heap_column_limit(0);
	assert_error(heap_column_create(SIZE_MAX, 8, &column), HEAP_ERROR_MEMORY, "memory");
	setenv("TMPDIR", "/nonexistent", 1);
	assert_error(heap_column_create(LARGE, 1, &column), HEAP_ERROR_SYSTEM,
		     "/nonexistent: no temporary file");
	unsetenv("TMPDIR");
	assert_error(heap_column_create(SIZE_MAX / 4, 1, &column), HEAP_ERROR_SYSTEM,
		     "/var/tmp: no room");
	assert_null(column);
}

UNIT_TESTS("column", cmocka_unit_test(columns_are_zeros_within_the_budget_and_beyond),
	   cmocka_unit_test(columns_share_the_budget), cmocka_unit_test(columns_grow_and_shrink),
	   cmocka_unit_test(columns_that_rest_make_way),
	   cmocka_unit_test(sparse_columns_count_less),
	   cmocka_unit_test(where_there_is_no_room_for_files_nobody_makes_way),
	   cmocka_unit_test(what_malloc_gave_may_be_destroyed),
	   cmocka_unit_test(no_room_is_an_error))
