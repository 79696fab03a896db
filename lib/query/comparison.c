// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/comparison.h"

#include "lib/types/short_name.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MAX_NAME = 512, // bytes of a function's name without its parameters
};

// --- quantities --------------------------------------------------------------

// Parses a number and its unit. @return false if there is anything else
static bool parse_scaled(const char *text, const char *units, const double *scales, double *result)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value >= 0) || isinf(value))
		return false;
	if (*end) {
		const char *unit = strchr(units, *end);

		if (!unit || !*unit)
			return false;
		value *= scales[unit - units];
		end++;
		if (*end == 'i')
			end++;
		if (*end == 'B')
			end++;
	}
	*result = value;
	return *end == '\0';
}

bool heap_parse_size(const char *text, uint64_t *result)
{
	static const double scales[] = { 1, 1024, 1024, 1 << 20, 1 << 20, 1 << 30, 1 << 30 };
	double value;

	if (!parse_scaled(text, "BkKmMgG", scales, &value) || value >= 1.8e19)
		return false;
	*result = (uint64_t)value;
	return true;
}

bool heap_parse_duration(const char *text, uint64_t *nanoseconds)
{
	static const double scales[] = { 1, 60, 3600, 86400 };
	double value;

	if (!parse_scaled(text, "smhd", scales, &value) || value >= 1e10)
		return false;
	*nanoseconds = (uint64_t)(value * 1e9);
	return true;
}

bool heap_parse_time(const char *text, const char *end, uint64_t *us)
{
	static const struct {
		const char *name;
		double us;
	} units[] = { { "", 1e6 }, { "s", 1e6 },  { "ms", 1e3 },
		      { "us", 1 }, { "m", 60e6 }, { "h", 3600e6 } };
	char *after;
	double value = strtod(text, &after);

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (after > text && value >= 0 && value < 1e9 && after + length == end &&
		    memcmp(after, units[i].name, length) == 0) {
			*us = (uint64_t)(value * units[i].us + 0.5);
			return true;
		}
	}
	return false;
}

bool heap_parse_times(const char *text, uint64_t *range)
{
	const char *comma = strchr(text, ',');

	range[0] = 0;
	range[1] = INT64_MAX;
	return comma && (comma == text || heap_parse_time(text, comma, &range[0])) &&
	       (!comma[1] || heap_parse_time(comma + 1, text + strlen(text), &range[1]));
}

// --- operators ---------------------------------------------------------------

enum heap_operator heap_parse_operator(const char **text)
{
	char first = **text;

	if (first == '<' || first == '>') {
		bool equal = (*text)[1] == '=';

		*text += equal ? 2 : 1;
		if (first == '<')
			return equal ? HEAP_AT_MOST : HEAP_LESS;
		return equal ? HEAP_AT_LEAST : HEAP_GREATER;
	}
	if (first == '=')
		(*text)++;
	return HEAP_EQUAL;
}

// For integers and reals: 2^64 - 1 has no double, and NaN compares to nothing.
#define COMPARE(value, comparison, with) \
	((comparison) == HEAP_EQUAL     ? (value) == (with) \
	 : (comparison) == HEAP_LESS    ? (value) < (with) \
	 : (comparison) == HEAP_GREATER ? (value) > (with) \
	 : (comparison) == HEAP_AT_MOST ? (value) <= (with) \
					: (value) >= (with))

bool heap_compare(uint64_t value, enum heap_operator comparison, uint64_t with)
{
	return COMPARE(value, comparison, with);
}

bool heap_compare_wide(heap_wide value, enum heap_operator comparison, heap_wide with)
{
	return COMPARE(value, comparison, with);
}

bool heap_compare_reals(double value, enum heap_operator comparison, double with)
{
	return COMPARE(value, comparison, with);
}

// --- names -------------------------------------------------------------------

bool heap_name_matches(const char *pattern, const char *name)
{
	return *name && fnmatch(pattern, name, 0) == 0;
}

bool heap_name_matches_inside(const char *pattern, const char *name)
{
	for (const char *inner = name; inner; inner = heap_name_inside(inner)) {
		size_t length = strcspn(inner, "(<");
		char bare[MAX_NAME];

		if (heap_name_matches(pattern, inner))
			return true;
		if (length == 0 || length >= sizeof(bare) || !inner[length])
			continue;
		memcpy(bare, inner, length);
		bare[length] = '\0';
		if (heap_name_matches(pattern, bare))
			return true;
	}
	return false;
}

bool heap_function_is(const struct heap_snapshot *snapshot, const struct heap_call *code,
		      const char *name)
{
	return code->offset == 0 &&
	       heap_name_matches_inside(name, heap_snapshot_string(snapshot, code->function));
}
