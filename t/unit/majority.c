// SPDX-License-Identifier: GPL-3.0-or-later
// The only value that most can have, in whatever order they come.
#include "t/unit/unit.h"

#include "dumper/writer/infer/majority.h"

static struct majority count(const uint64_t *values, size_t values_count)
{
	struct majority majority = { 0 };

	for (size_t i = 0; i < values_count; i++)
		majority_add(&majority, values[i]);
	return majority;
}

#define COUNT(...) \
	count((const uint64_t[]){ __VA_ARGS__ }, sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8)

static void test_most(void **state)
{
	(void)state;
	assert_int_equal(COUNT(7).value, 7);
	assert_int_equal(COUNT(1, 2, 1, 3, 1).value, 1);
	assert_int_equal(COUNT(2, 3, 1, 1, 1).value, 1);
	assert_int_equal(COUNT(1, 1, 1, 2, 3).value, 1);
	assert_int_equal(COUNT(UINT64_MAX, 0, UINT64_MAX).value, UINT64_MAX);
}

static void test_lead(void **state)
{
	(void)state;
	assert_int_equal(COUNT(4, 4, 4).lead, 3);
	assert_int_equal(COUNT(4, 4, 4, 5).lead, 2);
	assert_int_equal(COUNT(4, 5).lead, 0);
}

UNIT_TESTS("majority", cmocka_unit_test(test_most), cmocka_unit_test(test_lead))
