// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/dwarf/dwarf_pieces.h"

#include "lib/base/cleanup.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	NESTING_MAX = 100, // values inside each other; more is damage
	NAME_SIZE = 1024,
};

// A part of a variable that is being looked for.
struct part {
	heap_type_id type;
	uint64_t start, size; // in a value of that type
	char name[NAME_SIZE];
	size_t length; // of the name; NAME_SIZE or more: there was no room
};

static void append_name(struct part *part, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void append_name(struct part *part, const char *format, ...)
{
	va_list arguments;

	if (part->length >= NAME_SIZE)
		return;
	va_start(arguments, format);
	part->length += (size_t)vsnprintf(part->name + part->length, NAME_SIZE - part->length,
					  format, arguments);
	va_end(arguments);
}

// Goes on to the element that the part lies in.
static bool enter_element(const struct heap_types *types, const struct heap_type *array,
			  struct part *part)
{
	uint64_t stride = heap_types_size(types, array->target);

	if (stride == 0)
		return false;
	append_name(part, "[%" PRIu64 "]", part->start / stride);
	part->start %= stride;
	part->type = array->target;
	return true;
}

// Goes on to the member that the part lies in.
static bool enter_member(const struct heap_types *types, const struct heap_type *whole,
			 struct part *part)
{
	for (uint32_t i = 0; heap_types_has_members(whole) && i < whole->members; i++) {
		const struct heap_member *member = &types->members[whole->first_member + i];
		uint64_t size = heap_types_size(types, member->type);
		const char *name = heap_types_string(types, member->name);

		if (member->flags & (HEAP_MEMBER_BIT_FIELD | HEAP_MEMBER_VIRTUAL_BASE) ||
		    part->start < member->offset || part->size > size ||
		    part->start - member->offset > size - part->size)
			continue;
		if (*name != '\0' && !(member->flags & HEAP_MEMBER_BASE))
			append_name(part, ".%s", name);
		part->start -= member->offset;
		part->type = member->type;
		return true;
	}
	return false;
}

// Finds the member or element that is the part. @return false if there is none
static bool find_part(const struct heap_types *types, struct part *part)
{
	for (int i = 0; i < NESTING_MAX; i++) {
		const struct heap_type *type = &types->types[heap_types_strip(types, part->type)];

		if (part->start == 0 && heap_types_size(types, part->type) == part->size)
			return part->length < NAME_SIZE;
		if (!(type->kind == HEAP_TYPE_ARRAY ? enter_element(types, type, part)
						    : enter_member(types, type, part)))
			return false;
	}
	return false;
}

struct heap_error *heap_dwarf_pieces_place(struct heap_types *types,
					   struct heap_dwarf_variable *variables,
					   const struct heap_dwarf_piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct heap_dwarf_variable *variable = &variables[pieces[i].variable];
		struct part part = { variable->type, pieces[i].start, pieces[i].size, "", 0 };

		append_name(&part, "%s", heap_types_string(types, variable->name));
		if (!find_part(types, &part)) {
			variable->type = HEAP_NO_TYPE;
			continue;
		}
		variable->type = part.type;
		HEAP_TRY(heap_types_add_string(types, part.name, &variable->name));
	}
	return NULL;
}
