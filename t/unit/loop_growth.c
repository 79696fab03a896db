// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/series/loop_growth.h"

#define GROWTH(...) \
	heap_loop_growth_of((const uint64_t[]){ __VA_ARGS__ }, \
			    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void what_rises_in_each_loop_grows(void **state)
{
	struct heap_loop_growth growth = GROWTH(10, 20, 25, 40);

	(void)state;
	assert_true(growth.grows);
	assert_int_equal(growth.rises, 3);
	assert_int_equal((int)growth.per_loop, 10);
}

static void two_loops_are_too_few(void **state)
{
	(void)state;
	assert_false(GROWTH(10, 20, 30).grows);
	assert_false(GROWTH(10).grows);
	assert_false(heap_loop_growth_of(NULL, 0).grows);
}

static void what_does_not_go_on_is_no_growth(void **state)
{
	(void)state;
	assert_false(GROWTH(0, 0, 0, 0, 0).grows);
	assert_false(GROWTH(10, 9, 11, 10, 12).grows);
	assert_false(GROWTH(10, 40, 50, 50, 50).grows);
	assert_false(GROWTH(50, 40, 30, 20).grows);
}

static void a_pool_that_doubles_does_not_grow(void **state)
{
	(void)state;
	assert_false(GROWTH(10, 20, 40, 40, 80, 80, 80, 80, 160).grows);
	assert_false(GROWTH(1, 2, 4, 4, 8, 8, 8, 8, 16, 16, 16, 16, 16, 16, 16, 16, 32).grows);
}

static void a_leak_may_skip_loops_if_there_are_many(void **state)
{
	(void)state;
	assert_true(GROWTH(0, 0, 1, 1, 2, 2, 3, 3, 4, 4).grows);
	assert_true(GROWTH(0, 1, 1, 2, 2, 3, 3, 4, 4, 5).grows);
	assert_false(GROWTH(0, 0, 1, 1, 2, 2, 3).grows);             // too few
	assert_false(GROWTH(0, 1, 2, 3, 2, 3, 4, 5, 6).grows);       // it has fallen
	assert_true(GROWTH(0, 9, 18, 27, 36, 37, 38, 39, 40).grows); // slower, in each loop
}

static void many_loops_are_judged_by_the_last(void **state)
{
	static uint64_t values[3000];

	(void)state;
	for (size_t i = 0; i < 3000; i++)
		values[i] = i / 2;
	assert_true(heap_loop_growth_of(values, 3000).grows);
}

UNIT_TESTS("loop_growth", cmocka_unit_test(what_rises_in_each_loop_grows),
	   cmocka_unit_test(two_loops_are_too_few),
	   cmocka_unit_test(what_does_not_go_on_is_no_growth),
	   cmocka_unit_test(a_pool_that_doubles_does_not_grow),
	   cmocka_unit_test(a_leak_may_skip_loops_if_there_are_many),
	   cmocka_unit_test(many_loops_are_judged_by_the_last))
