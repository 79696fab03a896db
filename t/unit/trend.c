// SPDX-License-Identifier: GPL-3.0-or-later
#include "t/unit/unit.h"

#include "lib/series/trend.h"

#include <math.h>

enum {
	MAX_COUNT = 32,
};

// The values at each full hour.
static struct heap_trend judge(const uint64_t *values, size_t count)
{
	uint64_t times[MAX_COUNT];

	for (size_t i = 0; i < count; i++)
		times[i] = UINT64_C(1000000000000) + i * UINT64_C(3600000000000);
	return heap_trend_of(times, values, count);
}

#define TREND(...) \
	judge((const uint64_t[]){ __VA_ARGS__ }, \
	      sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void assert_near(double value, double expected)
{
	if (fabs(value - expected) > 1e-6)
		fail_msg("%f is not %f", value, expected);
}

static void a_line_is_steady_and_certain(void **state)
{
	struct heap_trend trend = TREND(10, 20, 30);

	(void)state;
	assert_int_equal(trend.kind, HEAP_TREND_STEADY);
	assert_near(trend.rate, 10);
	assert_near(trend.margin, 0);
}

// By hand; t(3) is 3.182.
static void a_margin_is_that_of_the_line(void **state)
{
	struct heap_trend trend = TREND(12, 20, 28, 42, 48);

	(void)state;
	assert_int_equal(trend.kind, HEAP_TREND_STEADY);
	assert_near(trend.rate, 9.4);
	// Residuals 0.8, -0.6, -2, 2.6, -0.8: squares 0.64 + 0.36 + 4 + 6.76 + 0.64 = 12.4.
	assert_near(trend.margin, 3.182 * sqrt(12.4 / 3 / 10));
}

static void what_has_filled_has_settled(void **state)
{
	struct heap_trend trend = TREND(60, 120, 180, 240, 300, 300, 300, 300);

	(void)state;
	assert_int_equal(trend.kind, HEAP_TREND_SETTLED);
	assert_int_equal(trend.since, 4);
	assert_int_equal(TREND(60, 120, 180, 240).kind, HEAP_TREND_STEADY);
	assert_int_equal(TREND(0, 1000, 1001, 999, 1003, 1000).kind, HEAP_TREND_SETTLED);
	assert_int_equal(TREND(0, 1000, 1001, 999, 1003, 1000).since, 1);
}

// A pause is no end: it must last a quarter of the time.
static void a_pause_is_not_the_end(void **state)
{
	(void)state;
	assert_int_not_equal(TREND(10, 20, 30, 40, 50, 60, 70, 70).kind, HEAP_TREND_SETTLED);
}

static void growth_may_slow_down(void **state)
{
	(void)state;
	assert_int_equal(TREND(0, 500, 750, 875, 937, 968).kind, HEAP_TREND_SLOWING);
}

static void ups_and_downs_are_unclear(void **state)
{
	(void)state;
	assert_int_equal(TREND(10, 90, 20, 80, 15).kind, HEAP_TREND_UNCLEAR);
	assert_int_equal(TREND(10, 12, 40).kind, HEAP_TREND_UNCLEAR);
}

static void no_more_than_at_first_is_none(void **state)
{
	(void)state;
	assert_int_equal(TREND(5, 5, 5).kind, HEAP_TREND_NONE);
	assert_int_equal(TREND(0, 0, 0).kind, HEAP_TREND_NONE);
	assert_int_equal(TREND(9, 20, 4).kind, HEAP_TREND_NONE);
}

// As much from each snapshot to the next, whenever they were taken.
static void work_may_be_the_measure(void **state)
{
	static const uint64_t times[] = { 0, UINT64_C(3600000000000), UINT64_C(36000000000000) };
	static const uint64_t values[] = { 10, 20, 30 };

	(void)state;
	assert_int_equal(heap_trend_of(times, values, 3).kind, HEAP_TREND_STEADY);
}

static void times_may_be_uneven_or_the_same(void **state)
{
	static const uint64_t same[] = { 7, 7, 7 }, values[] = { 1, 2, 3 };
	static const uint64_t uneven[] = { 0, UINT64_C(3600000000000), UINT64_C(36000000000000) };
	static const uint64_t grown[] = { 0, 10, 100 };

	(void)state;
	assert_int_equal(heap_trend_of(same, values, 3).kind, HEAP_TREND_STEADY);
	assert_near(heap_trend_of(same, values, 3).rate, 0);
	assert_int_equal(heap_trend_of(uneven, grown, 3).kind, HEAP_TREND_STEADY);
	assert_near(heap_trend_of(uneven, grown, 3).rate, 10);
}

UNIT_TESTS("trend", cmocka_unit_test(a_line_is_steady_and_certain),
	   cmocka_unit_test(a_margin_is_that_of_the_line),
	   cmocka_unit_test(what_has_filled_has_settled), cmocka_unit_test(a_pause_is_not_the_end),
	   cmocka_unit_test(growth_may_slow_down), cmocka_unit_test(ups_and_downs_are_unclear),
	   cmocka_unit_test(no_more_than_at_first_is_none),
	   cmocka_unit_test(work_may_be_the_measure),
	   cmocka_unit_test(times_may_be_uneven_or_the_same))
