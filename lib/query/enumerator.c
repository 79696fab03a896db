// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/enumerator.h"

#include <string.h>

// True if a scope in front of an enumerator is that of its type, or the one around it: "Colour" or "app" for
// app::Colour::RED.
static bool is_scope_of(const char *type, const char *scope, size_t length)
{
	size_t whole = strlen(type);
	const char *around = strrchr(type, ':');

	for (size_t end = whole; end >= length; end = (size_t)(around - type) - 1) {
		size_t start = end - length;

		if (strncmp(type + start, scope, length) == 0 &&
		    (start == 0 || type[start - 1] == ':'))
			return true;
		if (end != whole || !around || around == type)
			break;
	}
	return false;
}

static bool find_enumerator(const struct heap_types *types, const struct heap_type *type,
			    const char *name, size_t length, uint64_t *result)
{
	const char *scope = heap_types_string(types, type->name);

	for (size_t i = length; i-- > 1;) {
		if (name[i] != ':' || name[i - 1] != ':')
			continue;
		if (!is_scope_of(scope, name, i - 1))
			return false;
		name += i + 1;
		length -= i + 1;
		break;
	}
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_enumerator *enumerator =
			&types->enumerators[type->first_member + i];
		const char *own = heap_types_string(types, enumerator->name);

		if (strncmp(own, name, length) == 0 && own[length] == '\0') {
			*result = (uint64_t)enumerator->value;
			return true;
		}
	}
	return false;
}

bool heap_enumerator_value(const struct heap_types *types, heap_type_id id, const char *name,
			   uint64_t *result)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t value = 0, bits;

	if (type->kind != HEAP_TYPE_ENUM)
		return false;
	for (const char *at = name;; at++) {
		size_t length = strcspn(at, "|");

		if (!find_enumerator(types, type, at, length, &bits))
			return false;
		value |= bits;
		at += length;
		if (!*at)
			break;
	}
	*result = value;
	return true;
}
