// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_QUERY_COMPARISON_H
#define HEAP_QUERY_COMPARISON_H

/**
 * Comparisons in queries, as people write them: operators, quantities with units, and names.
 */

#include "lib/snapshot/snapshot.h"
#include "lib/types/scalar.h"

#include <stdbool.h>
#include <stdint.h>

enum heap_operator {
	HEAP_EQUAL,
	HEAP_LESS,
	HEAP_GREATER,
	HEAP_AT_MOST,
	HEAP_AT_LEAST,
};

/** Takes <, >, =, <= or >= off the front of @p text. @return EQUAL if there is none */
enum heap_operator heap_parse_operator(const char **text);

/** Compares two numbers: true for 7 < 9. */
bool heap_compare(uint64_t value, enum heap_operator comparison, uint64_t with);
bool heap_compare_wide(heap_wide value, enum heap_operator comparison, heap_wide with);
bool heap_compare_reals(double value, enum heap_operator comparison, double with);

/** Parses "64", "1K", "2.5M" or "3G" into bytes. @return false if it is no size */
bool heap_parse_size(const char *text, uint64_t *result);

/** Parses "10s", "5m", "2h", "1d" or "10", in seconds. @return false if it is no duration */
bool heap_parse_duration(const char *text, uint64_t *nanoseconds);

/**
 * Parses "2.5s", "40ms", "100us", "3m", "1h" or "2.5", in seconds.
 *
 * @param end  of the text
 * @return false if it is no time
 */
bool heap_parse_time(const char *text, const char *end, uint64_t *us);

/**
 * Parses two times, separated by a comma. Either may be missing: the start or the end.
 *
 * @param range  [2] µs
 */
bool heap_parse_times(const char *text, uint64_t *range);

/** True if a name, which is not empty, matches a glob. */
bool heap_name_matches(const char *glob, const char *name);

/**
 * The same for a function of any namespace or class, with or without its parameters and template
 * arguments: "get" matches shop::Cache::get(int).
 */
bool heap_name_matches_inside(const char *glob, const char *name);

/** True if @p code is the start of a function whose name matches a glob. */
bool heap_function_is(const struct heap_snapshot *snapshot, const struct heap_call *code,
		      const char *glob);

#endif
