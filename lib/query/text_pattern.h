// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TEXT_PATTERN_H
#define HEAP_TEXT_PATTERN_H

/**
 * Matches the bytes of an object against a text: a substring, a whole string, a glob or a
 * regular expression, with or without regard to case.
 *
 * Bytes up to a NUL are one string. A regular expression (POSIX, extended) is tried on each
 * string of its own, so that ^ and $ are a string's ends.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum heap_text_mode {
	HEAP_TEXT_SUBSTRING, /**< anywhere in the bytes, also behind a NUL */
	HEAP_TEXT_GLOB,      /**< the first string, as fnmatch(3) does */
	HEAP_TEXT_EXACT,     /**< the first string, whole */
	HEAP_TEXT_REGEX,     /**< somewhere in one of the strings */
};

/** How filters match strings: --regex, --exact, -i. */
struct heap_text_options {
	bool regex, exact, ignore_case;
};

struct heap_text_pattern;

/** @return NULL, or HEAP_ERROR_ARGUMENT if @p text is no regular expression, or empty */
HEAP_MUST_CHECK
struct heap_error *heap_text_pattern_create(const char *text, enum heap_text_mode mode,
					    bool ignore_case, struct heap_text_pattern **result);

/** NULL is fine. */
void heap_text_pattern_destroy(struct heap_text_pattern *pattern);

/**
 * @param bytes  [size] the bytes that are known
 * @param whole  more bytes do not follow: a string that no NUL ends is complete
 */
bool heap_text_pattern_matches(const struct heap_text_pattern *pattern, const char *bytes,
			       size_t size, bool whole);

#endif
