// SPDX-License-Identifier: GPL-3.0-or-later
// Columns of which most values are 0: they hold what an array would.
#include "t/unit/unit.h"

#include "dumper/writer/base/sparse_column.h"

#include <stdlib.h>

enum {
	PLACES = 1000,
	CHANGES = 100000,
};

static void assert_same(const struct sparse_column *column, const uint32_t *values)
{
	size_t next = sparse_column_next(column, 0, PLACES);

	for (size_t i = 0; i < PLACES; i++) {
		assert_int_equal(sparse_column_get(column, i), values[i]);
		assert_int_equal(sparse_column_has(column, i), values[i] != 0);
		if (!values[i])
			continue;
		assert_int_equal(next, i);
		next = sparse_column_next(column, i + 1, PLACES);
	}
	assert_int_equal(next, PLACES);
}

static void holds_what_an_array_does(void **state)
{
	uint32_t values[PLACES] = { 0 };
	struct sparse_column column;

	(void)state;
	srand(1);
	assert_null(sparse_column_init(&column, PLACES));
	assert_same(&column, values);
	for (int i = 0; i < CHANGES; i++) {
		size_t at = (size_t)rand() % PLACES;
		// First most become 0, then nearly all others.
		uint32_t value =
			rand() % (i < CHANGES / 2 ? 2 : 10) == (i >= CHANGES / 2) ? 0 : rand();

		values[at] = value;
		assert_null(sparse_column_set(&column, at, value));
		if (i % (CHANGES / 20) == 0)
			assert_same(&column, values);
	}
	assert_same(&column, values);
	for (size_t i = 0; i < PLACES; i++) {
		values[i] = 0;
		assert_null(sparse_column_set(&column, i, 0));
	}
	assert_same(&column, values);
	sparse_column_deinit(&column);
}

static void grows(void **state)
{
	struct sparse_column column = { 0 };

	(void)state;
	for (uint32_t i = 0; i < PLACES; i++) {
		assert_null(sparse_column_grow(&column, i + 1));
		assert_int_equal(sparse_column_get(&column, i), 0);
		if (i % 3 == 0)
			assert_null(sparse_column_set(&column, i, i + 1));
	}
	assert_null(sparse_column_grow(&column, 1)); // never shrinks
	for (uint32_t i = 0; i < PLACES; i++)
		assert_int_equal(sparse_column_get(&column, i), i % 3 == 0 ? i + 1 : 0);
	sparse_column_deinit(&column);
}

static void finds_the_next_value(void **state)
{
	struct sparse_column column;

	(void)state;
	assert_null(sparse_column_init(&column, PLACES));
	assert_null(sparse_column_set(&column, 63, 1));
	assert_null(sparse_column_set(&column, 640, 1));
	assert_int_equal(sparse_column_next(&column, 0, PLACES), 63);
	assert_int_equal(sparse_column_next(&column, 0, 63), 63);
	assert_int_equal(sparse_column_next(&column, 63, PLACES), 63);
	assert_int_equal(sparse_column_next(&column, 64, PLACES), 640);
	assert_int_equal(sparse_column_next(&column, 64, 600), 600);
	assert_int_equal(sparse_column_next(&column, 641, PLACES), PLACES);
	assert_int_equal(sparse_column_next(&column, 700, 600), 600);
	sparse_column_deinit(&column);
}

UNIT_TESTS("sparse_column", cmocka_unit_test(holds_what_an_array_does), cmocka_unit_test(grows),
	   cmocka_unit_test(finds_the_next_value))
