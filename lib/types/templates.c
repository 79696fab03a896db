// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/templates.h"

#include "lib/types/spelling.h"

#include <string.h>

enum {
	MAX_DEPTH = 24,
	MAX_VISITS = 512, // types visited for one mention
};

// The change of the nesting depth by a character. The > of "->" is no bracket.
static int nesting(const char *name, size_t at)
{
	switch (name[at]) {
	case '<':
	case '(':
	case '[':
	case '{':
		return 1;
	case '>':
		return at > 0 && name[at - 1] == '-' ? 0 : -1;
	case ')':
	case ']':
	case '}':
		return -1;
	default:
		return 0;
	}
}

// Skips a character literal, which may be a bracket: '<'. @return the index of its last character
static size_t skip_quoted(const char *name, size_t at)
{
	return name[at] == '\'' && name[at + 1] && name[at + 2] == '\'' ? at + 2 : at;
}

size_t heap_template_length(const char *name)
{
	int open = 0;

	for (size_t i = strcspn(name, "<"); name[i]; i++) {
		i = skip_quoted(name, i);
		open += nesting(name, i);
		if (open == 0)
			return i + 1;
	}
	return 0;
}

bool heap_template_is_instance(const char *name)
{
	return *name && heap_template_length(name) == strlen(name);
}

static const char *trim(const char *start, const char *end, size_t *length)
{
	while (start < end && *start == ' ')
		start++;
	while (end > start && end[-1] == ' ')
		end--;
	*length = (size_t)(end - start);
	return start;
}

const char *heap_template_argument(const char *name, unsigned index, size_t *length)
{
	const char *start = strchr(name, '<');
	int open = 0;

	if (!start)
		return NULL;
	start++;
	for (size_t i = (size_t)(start - name); name[i]; i++) {
		i = skip_quoted(name, i);
		open += nesting(name, i);
		if (open < 0)
			return index == 0 ? trim(start, name + i, length) : NULL;
		if (open == 0 && name[i] == ',') {
			if (index-- == 0)
				return trim(start, name + i, length);
			start = name + i + 1;
		}
	}
	return NULL;
}

void heap_template_list(const char *name, struct heap_template_arguments *arguments)
{
	const unsigned most = sizeof(arguments->list) / sizeof(arguments->list[0]);

	arguments->count = 0;
	if (strnlen(name, HEAP_SPELLING_MAX) == HEAP_SPELLING_MAX)
		return;
	while (arguments->count < most) {
		struct heap_template_text *argument = &arguments->list[arguments->count];

		argument->text = heap_template_argument(name, arguments->count, &argument->length);
		if (!argument->text)
			return;
		arguments->count++;
	}
}

struct search {
	const struct heap_types *types;
	const char *name;
	unsigned visits;
};

static const char *find(struct search *search, heap_type_id id, int depth)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (!heap_types_has_members(type) || depth > MAX_DEPTH || search->visits++ > MAX_VISITS)
		return NULL;

	const char *found = strstr(heap_types_string(types, type->name), search->name);

	for (uint32_t i = 0; !found && i < type->members; i++)
		found = find(search, types->members[type->first_member + i].type, depth + 1);
	return found;
}

const char *heap_template_mention(const struct heap_types *types, heap_type_id type,
				  const char *name, size_t *length)
{
	struct search search = { types, name, 0 };
	const char *found = find(&search, type, 0);

	*length = found ? heap_template_length(found) : 0;
	return *length > 0 ? found : NULL;
}

bool heap_template_is_standard(const char *name, const char *template)
{
	static const char *const spaces[] = { "std::", "std::__1::", "std::__cxx11::",
					      "std::__cxx1998::" };

	for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
		size_t length = strlen(spaces[i]);

		if (strncmp(name, spaces[i], length) == 0 &&
		    strncmp(name + length, template, strlen(template)) == 0)
			return heap_template_is_instance(name);
	}
	return false;
}
