// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include "lib/types/short_name.h"
#include "lib/types/types_index.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
	DEPTH_MAX = 64,        // declarators inside each other; more is damage
	NAME_MAX_BYTES = 4096, // of a name of C++; longer ones are cut
};

// A name that is being formatted; it is cut where the buffer ends.
struct name {
	char *buffer;
	size_t size;
	size_t length;
	char last;
};

HEAP_PRINTF(2, 3)
static void add(struct name *name, const char *format, ...)
{
	char *at = name->length < name->size ? name->buffer + name->length : NULL;
	va_list arguments;

	va_start(arguments, format);
	int length = vsnprintf(at, at ? name->size - name->length : 0, format, arguments);
	va_end(arguments);
	if (length > 0)
		name->length += length;
}

static void append(struct name *name, const char *more)
{
	if (*more)
		name->last = more[strlen(more) - 1];
	add(name, "%s", more);
}

static void append_short(struct name *name, const char *more)
{
	char text[NAME_MAX_BYTES];

	heap_short_name(more, text, sizeof(text));
	append(name, text);
}

static const char *keyword(uint8_t kind)
{
	switch (kind) {
	case HEAP_TYPE_STRUCT:
		return "struct ";
	case HEAP_TYPE_CLASS:
		return "class ";
	case HEAP_TYPE_UNION:
		return "union ";
	case HEAP_TYPE_ENUM:
		return "enum ";
	default:
		return "";
	}
}

static void add_named(struct name *name, const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	heap_type_id alias = heap_types_alias(types, id);

	if (!alias)
		append(name, keyword(type->kind));
	if (type->name || alias)
		append_short(name, heap_types_string(types, alias ? types->types[alias].name
								  : type->name));
	else
		append(name, *keyword(type->kind) ? "{…}" : "?");
	if (type->file && ((!type->name && !alias) || type->flags & HEAP_TYPE_AMBIGUOUS)) {
		append(name, " (");
		append(name, heap_types_string(types, type->file));
		add(name, ":%" PRIu32, type->line);
		append(name, ")");
	}
}

static bool is_qualifier(uint8_t kind)
{
	return kind == HEAP_TYPE_CONST || kind == HEAP_TYPE_VOLATILE || kind == HEAP_TYPE_ATOMIC;
}

static const char *qualifier(uint8_t kind)
{
	return kind == HEAP_TYPE_CONST      ? "const"
	       : kind == HEAP_TYPE_VOLATILE ? "volatile"
					    : "_Atomic";
}

// The sign of a type in a declarator: "*", "&".
static const char *sign(uint8_t kind)
{
	switch (kind) {
	case HEAP_TYPE_POINTER:
		return "*";
	case HEAP_TYPE_REFERENCE:
		return "&";
	case HEAP_TYPE_MEMBER_POINTER:
		return "::*";
	default:
		return NULL;
	}
}

// True if a pointer to the type needs parentheses: int (*)[3].
static bool binds_closer(const struct heap_types *types, heap_type_id id)
{
	for (int i = 0; i < DEPTH_MAX && is_qualifier(types->types[id].kind); i++)
		id = types->types[id].target;
	return types->types[id].kind == HEAP_TYPE_ARRAY ||
	       types->types[id].kind == HEAP_TYPE_FUNCTION;
}

// A constant array has constant elements, and compilers say both.
static bool qualifies_elements(const struct heap_types *types, heap_type_id id)
{
	uint8_t kind = types->types[id].kind;

	id = types->types[id].target;
	for (int i = 0; i < DEPTH_MAX && types->types[id].kind == HEAP_TYPE_ARRAY; i++)
		id = types->types[id].target;
	return types->types[id].kind == kind;
}

static void add_left(struct name *name, const struct heap_types *types, heap_type_id id, int depth)
{
	const struct heap_type *type = &types->types[id];

	if (depth > DEPTH_MAX) {
		append(name, "…");
	} else if (id == HEAP_NO_TYPE) {
		append(name, "void");
	} else if (sign(type->kind)) {
		add_left(name, types, type->target, depth + 1);
		if (!strchr("*&(", name->last))
			append(name, " ");
		if (binds_closer(types, type->target))
			append(name, "(");
		append(name, sign(type->kind));
	} else if (type->kind == HEAP_TYPE_ARRAY || type->kind == HEAP_TYPE_FUNCTION) {
		add_left(name, types, type->target, depth + 1);
	} else if (is_qualifier(type->kind) && qualifies_elements(types, id)) {
		add_left(name, types, type->target, depth + 1);
	} else if (is_qualifier(type->kind) && sign(types->types[type->target].kind)) {
		add_left(name, types, type->target, depth + 1);
		append(name, name->last == 't' || name->last == 'e' ? " " : "");
		append(name, qualifier(type->kind));
	} else if (is_qualifier(type->kind)) {
		append(name, qualifier(type->kind));
		append(name, " ");
		add_left(name, types, type->target, depth + 1);
	} else {
		add_named(name, types, id);
	}
}

static void add_right(struct name *name, const struct heap_types *types, heap_type_id id)
{
	for (int depth = 0; depth <= DEPTH_MAX; depth++) {
		const struct heap_type *type = &types->types[id];

		if (sign(type->kind)) {
			if (binds_closer(types, type->target))
				append(name, ")");
		} else if (type->kind == HEAP_TYPE_ARRAY) {
			if (type->flags & HEAP_TYPE_FLEXIBLE)
				append(name, "[]");
			else
				add(name, "[%" PRIu64 "]", type->count);
		} else if (type->kind == HEAP_TYPE_FUNCTION) {
			append(name, "(...)");
		} else if (!is_qualifier(type->kind)) {
			break;
		}
		id = type->target;
	}
}

size_t heap_types_format(const struct heap_types *types, heap_type_id type, char *buffer,
			 size_t size)
{
	struct name name = { .buffer = buffer, .size = size };

	if (size)
		buffer[0] = '\0';
	uint64_t prefix = 0;
	bool is_prefixed = heap_types_prefixed(types, type, &prefix) != HEAP_NO_TYPE;

	if (is_prefixed || heap_types_counted(types, type) != HEAP_NO_TYPE)
		type = types->members[types->types[type].first_member + 1].type;
	add_left(&name, types, type, 0);
	add_right(&name, types, type);
	if (is_prefixed)
		add(&name, " behind %" PRIu64 " bytes", prefix);
	return name.length;
}
