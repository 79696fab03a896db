// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/loop_growth.h"

#include "lib/series/trend.h"

enum {
	MAX_TRENDED = 1024, // later loops decide
};

// Judged by loop, not by time: loops take as long as they take.
static bool is_steady(const uint64_t *values, size_t count)
{
	static const uint64_t LOOP = UINT64_C(3600000000000);
	uint64_t times[MAX_TRENDED];

	if (count > MAX_TRENDED) {
		values += count - MAX_TRENDED;
		count = MAX_TRENDED;
	}
	for (size_t i = 0; i < count; i++)
		times[i] = i * LOOP;
	return heap_trend_of(times, values, count).kind == HEAP_TREND_STEADY;
}

// True if a number rose in at least half of the loops between the values.
static bool rises_often(const uint64_t *values, size_t loops)
{
	size_t rises = 0;

	for (size_t i = 0; i < loops; i++)
		rises += values[i + 1] > values[i];
	return rises * 2 + 1 >= loops; // of an odd number
}

struct heap_loop_growth heap_loop_growth_of(const uint64_t *values, size_t count)
{
	struct heap_loop_growth growth = { 0 };
	size_t loops = count > 0 ? count - 1 : 0, falls = 0;

	for (size_t i = 1; i < count; i++) {
		growth.rises += values[i] > values[i - 1];
		falls += values[i] < values[i - 1];
	}
	if (loops < HEAP_LOOPS_MIN)
		return growth;
	growth.grows =
		growth.rises == loops ||
		(loops >= HEAP_LOOPS_MANY && falls == 0 && rises_often(values, loops / 2) &&
		 rises_often(values + loops - loops / 2, loops / 2) && is_steady(values, count));
	if (growth.grows)
		growth.per_loop = (double)(values[count - 1] - values[0]) / (double)loops;
	return growth;
}
