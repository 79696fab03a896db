// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/series/trend.h"

#include <math.h>
#include <stdbool.h>

static const double NS_PER_HOUR = 3600e9;
static const double SETTLED_WITHIN = 0.02; // of the last value
static const double SETTLED_FOR = 0.25;    // of the time between the first and the last value
static const double SLOWING_BELOW = 0.5;   // of the former rate

// Student's t, two-sided 95 %, by degrees of freedom from 1; beyond the table, nearly normal.
static double student(size_t freedom)
{
	static const double table[] = { 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
					2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
					2.131,  2.120, 2.110, 2.101, 2.093, 2.086 };
	size_t known = sizeof(table) / sizeof(table[0]);

	return freedom <= known ? table[freedom - 1] : 1.96 + 2.5 / (double)freedom;
}

// Without times, the numbers of the snapshots stand for hours.
static double hours(const uint64_t *times, size_t at)
{
	return times ? (double)(times[at] - times[0]) / NS_PER_HOUR : (double)at;
}

static void fit_line(const uint64_t *times, const uint64_t *values, size_t count,
		     struct heap_trend *trend)
{
	double mean_time = 0, mean = 0, squares = 0, products = 0, rest = 0;

	for (size_t i = 0; i < count; i++) {
		mean_time += hours(times, i) / (double)count;
		mean += (double)values[i] / (double)count;
	}
	for (size_t i = 0; i < count; i++) {
		double time = hours(times, i) - mean_time;

		squares += time * time;
		products += time * ((double)values[i] - mean);
	}
	if (squares <= 0)
		return;
	trend->rate = products / squares;
	for (size_t i = 0; i < count; i++) {
		double off = (double)values[i] - mean - trend->rate * (hours(times, i) - mean_time);

		rest += off * off;
	}
	if (count > 2)
		trend->margin = student(count - 2) * sqrt(rest / (double)(count - 2) / squares);
}

static double rate_between(const uint64_t *times, const uint64_t *values, size_t from, size_t to)
{
	double time = hours(times, to) - hours(times, from);

	return time > 0 ? ((double)values[to] - (double)values[from]) / time : 0;
}

// The first value from which on all are nearly equal to the last.
static size_t find_settled(const uint64_t *values, size_t count)
{
	double last = (double)values[count - 1];
	double slack = fmax(last * SETTLED_WITHIN, 0.5);
	size_t since = count - 1;

	while (since > 0 && fabs((double)values[since - 1] - last) <= slack)
		since--;
	return since;
}

static bool has_settled(const uint64_t *times, const uint64_t *values, size_t count, size_t since)
{
	double whole = hours(times, count - 1);
	double calm = whole - hours(times, since);
	double last = (double)values[count - 1];

	return since > 0 && since + 1 < count && calm >= whole * SETTLED_FOR &&
	       rate_between(times, values, 0, since) * calm > last * SETTLED_WITHIN;
}

// STEADY, SLOWING or UNCLEAR.
static enum heap_trend_kind judge_growth(const uint64_t *times, const uint64_t *values,
					 size_t count, const struct heap_trend *line)
{
	size_t last = count - 1, middle = last / 2;
	double before = rate_between(times, values, 0, middle);
	double lately = rate_between(times, values, middle, last);

	if (lately > 0 && lately < before * SLOWING_BELOW)
		return HEAP_TREND_SLOWING;
	return lately > 0 && line->rate > line->margin ? HEAP_TREND_STEADY : HEAP_TREND_UNCLEAR;
}

struct heap_trend heap_trend_of(const uint64_t *times, const uint64_t *values, size_t count)
{
	struct heap_trend trend = { 0 }, by_number = { 0 };
	size_t settled = find_settled(values, count);

	fit_line(times, values, count, &trend);
	if (values[count - 1] <= values[0]) {
		trend.kind = HEAP_TREND_NONE;
	} else if (has_settled(times, values, count, settled)) {
		trend.kind = HEAP_TREND_SETTLED;
		trend.since = settled;
	} else {
		fit_line(NULL, values, count, &by_number);
		trend.kind = judge_growth(times, values, count, &trend);
		by_number.kind = judge_growth(NULL, values, count, &by_number);
		if (by_number.kind < trend.kind)
			trend.kind = by_number.kind;
	}
	return trend;
}

const char *heap_trend_name(enum heap_trend_kind kind)
{
	static const char *const names[] = { "steady", "slowing", "unclear", "settled", "none" };

	return names[kind];
}
