// SPDX-License-Identifier: GPL-3.0-or-later
#include "shell/words/member_step.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

// A number of C. @return behind it; NULL: it is none
static const char *take_number(const char *at, uint64_t *number)
{
	char *end;

	errno = 0;
	*number = strtoull(at, &end, 0);
	return isdigit((unsigned char)*at) && errno == 0 ? end : NULL;
}

// The "]" that ends a subscript, which may have brackets and quoted texts in it. NULL: there is none
static const char *end_of_subscript(const char *at)
{
	bool is_quoted = false;

	for (int open = 0; *at; at++) {
		if (*at == '\\' && is_quoted && at[1])
			at++;
		else if (*at == '"')
			is_quoted = !is_quoted;
		else if (!is_quoted && *at == '[')
			open++;
		else if (!is_quoted && *at == ']' && open-- == 0)
			return at;
	}
	return NULL;
}

// "[3]", "[3..5]", or the key of a map: "[RED]", "[\"Ada\"]". @return behind it; NULL: it is none
static const char *take_subscript(const char *at, struct member_step *step)
{
	const char *end = end_of_subscript(at + 1), *rest;
	size_t length = end ? (size_t)(end - at - 1) : 0;

	if (length == 0 || length >= MEMBER_WORD_MAX)
		return NULL;
	memcpy(step->name, at + 1, length);
	step->name[length] = '\0';
	rest = take_number(at + 1, &step->first);
	step->last = step->first;
	step->is_range = rest && strncmp(rest, "..", 2) == 0;
	if (step->is_range)
		rest = take_number(rest + 2, &step->last);
	step->is_number = rest == end && step->first <= step->last;
	return end + 1;
}

const char *member_step_parse(const char *at, struct member_step *step)
{
	size_t length;

	step->is_range = step->is_number = false;
	step->is_index = *at == '[';
	if (step->is_index)
		return take_subscript(at, step);
	at += at[0] == '-' ? 2 : 1;
	length = strcspn(at, ".[-");
	if (length == 0 || length >= MEMBER_WORD_MAX)
		return NULL;
	memcpy(step->name, at, length);
	step->name[length] = '\0';
	return at + length;
}
