// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/text_pattern.h"

#include "lib/base/cleanup.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	MAX_STRING = 64 << 10, // bytes that regexec() sees at once: it may take many times as much
	OVERLAP = 4 << 10,     // of such pieces, so that a match at their border is found
	MAX_DEPTH = 100,       // of parentheses in each other
	MAX_REPEATS = 4096,    // product of all {n}: regcomp() copies what they repeat
};

struct heap_text_pattern {
	enum heap_text_mode mode;
	bool ignore_case;
	bool has_regex;
	regex_t regex;
	size_t length;
	char text[];
};

// A regular expression that matches only TEXT itself. malloc'd, NULL if memory is short.
static char *quote_for_regex(const char *text)
{
	char *quoted = malloc(strlen(text) * 2 + 1), *to = quoted;

	for (; quoted && *text; text++) {
		if (strchr(".[]{}()*+?^$|\\", *text))
			*to++ = '\\';
		*to++ = *text;
	}
	if (quoted)
		*to = '\0';
	return quoted;
}

// Multiplies the numbers in braces. @return false if regcomp() might need gigabytes for them
static bool repeats_are_few(const char *expression)
{
	uint64_t product = 1;

	for (const char *brace = strchr(expression, '{'); brace; brace = strchr(brace + 1, '{')) {
		char *end;
		unsigned long least = strtoul(brace + 1, &end, 10);
		unsigned long most = *end == ',' ? strtoul(end + 1, &end, 10) : least;

		if (most < least)
			most = least;
		if (most > MAX_REPEATS)
			return false;
		product *= most > 0 ? most : 1;
		if (product > MAX_REPEATS)
			return false;
	}
	return true;
}

// @return false if regcomp(), which calls itself for each parenthesis in another one, might need too much stack
static bool is_shallow(const char *expression)
{
	int depth = 0;

	for (; *expression; expression++) {
		if (*expression == '\\' && expression[1])
			expression++;
		else if (*expression == '(' && ++depth > MAX_DEPTH)
			return false;
		else if (*expression == ')')
			depth--;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *compile(struct heap_text_pattern *pattern, const char *expression)
{
	int flags = REG_EXTENDED | REG_NOSUB | (pattern->ignore_case ? REG_ICASE : 0);
	int status;
	char reason[128];

	if (!repeats_are_few(expression))
		return heap_error_create(HEAP_ERROR_ARGUMENT, "--regex %s: repeats too often",
					 expression);
	if (!is_shallow(expression))
		return heap_error_create(HEAP_ERROR_ARGUMENT,
					 "--regex: more than %d parentheses in each other",
					 MAX_DEPTH);
	status = regcomp(&pattern->regex, expression, flags);
	if (status == 0) {
		pattern->has_regex = true;
		return NULL;
	}
	regerror(status, &pattern->regex, reason, sizeof(reason));
	return heap_error_create(HEAP_ERROR_ARGUMENT, "--regex %s: %s", expression, reason);
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct heap_text_pattern *pattern)
{
	if (pattern->mode == HEAP_TEXT_REGEX)
		return compile(pattern, pattern->text);
	if (pattern->mode != HEAP_TEXT_SUBSTRING || !pattern->ignore_case)
		return NULL;

	CLEANUP_FREE char *quoted = quote_for_regex(pattern->text);

	return quoted ? compile(pattern, quoted) : heap_error_out_of_memory();
}

struct heap_error *heap_text_pattern_create(const char *text, enum heap_text_mode mode,
					    bool ignore_case, struct heap_text_pattern **result)
{
	size_t length = strlen(text);
	struct heap_text_pattern *pattern = calloc(1, sizeof(*pattern) + length + 1);

	if (!pattern)
		return heap_error_out_of_memory();
	memcpy(pattern->text, text, length);
	pattern->length = length;
	pattern->mode = mode;
	pattern->ignore_case = ignore_case;

	struct heap_error *error = prepare(pattern);

	if (error) {
		heap_text_pattern_destroy(pattern);
		return error;
	}
	*result = pattern;
	return NULL;
}

void heap_text_pattern_destroy(struct heap_text_pattern *pattern)
{
	if (!pattern)
		return;
	if (pattern->has_regex)
		regfree(&pattern->regex);
	free(pattern);
}

static bool matches_piece(const struct heap_text_pattern *pattern, const char *bytes, size_t from,
			  size_t to, size_t length)
{
	regmatch_t range = { .rm_so = 0, .rm_eo = (regoff_t)(to - from) };
	int flags = REG_STARTEND | (from > 0 ? REG_NOTBOL : 0) | (to < length ? REG_NOTEOL : 0);

	return regexec(&pattern->regex, bytes + from, 1, &range, flags) == 0;
}

// Tries the regular expression on one string, in pieces if it is long.
static bool matches_string(const struct heap_text_pattern *pattern, const char *string,
			   size_t length)
{
	for (size_t from = 0;; from += MAX_STRING - OVERLAP) {
		size_t to = length - from > MAX_STRING ? from + MAX_STRING : length;

		if (matches_piece(pattern, string, from, to, length))
			return true;
		if (to == length)
			return false;
	}
}

static bool matches_some_string(const struct heap_text_pattern *pattern, const char *bytes,
				size_t size)
{
	for (size_t at = 0; at < size;) {
		size_t length = strnlen(bytes + at, size - at);

		if (length > 0 && matches_string(pattern, bytes + at, length))
			return true;
		at += length + 1;
	}
	return false;
}

static bool matches_glob(const struct heap_text_pattern *pattern, const char *bytes, size_t length)
{
	CLEANUP_FREE char *string = strndup(bytes, length);

	return string &&
	       fnmatch(pattern->text, string, pattern->ignore_case ? FNM_CASEFOLD : 0) == 0;
}

static bool is_equal(const struct heap_text_pattern *pattern, const char *bytes, size_t length)
{
	if (length != pattern->length)
		return false;
	return pattern->ignore_case ? strncasecmp(bytes, pattern->text, length) == 0
				    : memcmp(bytes, pattern->text, length) == 0;
}

bool heap_text_pattern_matches(const struct heap_text_pattern *pattern, const char *bytes,
			       size_t size, bool whole)
{
	size_t length;

	if (pattern->has_regex)
		return matches_some_string(pattern, bytes, size);
	if (pattern->mode == HEAP_TEXT_SUBSTRING)
		return memmem(bytes, size, pattern->text, pattern->length) != NULL;
	length = strnlen(bytes, size);
	if (length == size && !whole)
		return false;
	return pattern->mode == HEAP_TEXT_GLOB ? matches_glob(pattern, bytes, length)
					       : is_equal(pattern, bytes, length);
}
