// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include <string.h>

enum {
	MAX_NESTING = 16,
	HUGE_ARRAY = 1 << 30, // bytes
};

// True for an array without length, or of a length that stands for none: 0 and 1 before C99, or one that no block has.
static bool is_open(const struct heap_types *types, const struct heap_type *array)
{
	return array->kind == HEAP_TYPE_ARRAY &&
	       ((array->flags & HEAP_TYPE_FLEXIBLE) || array->count <= 1 ||
		array->count > HUGE_ARRAY / (heap_types_size(types, array->target) + 1));
}

// True for a struct that is nothing but an array of one element: it has no header, and its length is a constant that
// happens to be 1.
static bool is_headless(const struct heap_type *compound, const struct heap_type *array)
{
	return compound->members == 1 && array->kind == HEAP_TYPE_ARRAY &&
	       !(array->flags & HEAP_TYPE_FLEXIBLE) && array->count == 1;
}

// The smallest element of a union of such arrays: a whole number of them fits any block. HEAP_NO_TYPE if
// there is another member.
static heap_type_id smallest_element(const struct heap_types *types, const struct heap_type *choice)
{
	heap_type_id smallest = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < choice->members; i++) {
		heap_type_id id =
			heap_types_strip(types, types->members[choice->first_member + i].type);
		const struct heap_type *array = &types->types[id];

		if (!is_open(types, array))
			return HEAP_NO_TYPE;
		if (smallest == HEAP_NO_TYPE ||
		    heap_types_size(types, array->target) < heap_types_size(types, smallest))
			smallest = array->target;
	}
	return smallest;
}

bool heap_types_flexible(const struct heap_types *types, heap_type_id type, uint64_t *offset,
			 heap_type_id *element)
{
	const struct heap_type *compound = &types->types[type];
	uint64_t start = 0;

	for (int depth = 0; depth < MAX_NESTING; depth++) {
		if ((compound->kind != HEAP_TYPE_STRUCT && compound->kind != HEAP_TYPE_CLASS) ||
		    compound->members == 0)
			return false;

		const struct heap_member *last =
			&types->members[compound->first_member + compound->members - 1];
		const struct heap_type *member = &types->types[heap_types_strip(types, last->type)];

		start += last->offset;
		if (depth == 0 && is_headless(compound, member))
			return false;
		if (member->kind == HEAP_TYPE_ARRAY || member->kind == HEAP_TYPE_UNION) {
			heap_type_id found = member->kind == HEAP_TYPE_UNION
						     ? smallest_element(types, member)
						     : member->target;

			if (offset)
				*offset = start;
			if (element)
				*element = found;
			return member->kind == HEAP_TYPE_UNION ? found != HEAP_NO_TYPE
							       : is_open(types, member);
		}
		compound = member;
	}
	return false;
}

heap_type_id heap_types_counted(const struct heap_types *types, heap_type_id type)
{
	const struct heap_type *counted = &types->types[type];
	const struct heap_member *array;

	if (counted->kind != HEAP_TYPE_STRUCT || counted->name != 0 || counted->members != 2)
		return HEAP_NO_TYPE;
	array = &types->members[counted->first_member + 1];
	return array->name == 0 && types->types[array->type].kind == HEAP_TYPE_ARRAY
		       ? types->types[array->type].target
		       : HEAP_NO_TYPE;
}

heap_type_id heap_types_prefixed(const struct heap_types *types, heap_type_id type, uint64_t *bytes)
{
	const struct heap_type *whole = &types->types[type];
	const struct heap_member *members = types->members + whole->first_member;
	heap_type_id element;

	if (whole->kind != HEAP_TYPE_STRUCT || whole->name != 0 || whole->file != 0 ||
	    whole->members != 2 || members[1].name != 0 ||
	    strcmp(heap_types_string(types, members[0].name), HEAP_TYPES_PREFIX_MEMBER) != 0)
		return HEAP_NO_TYPE;
	if (bytes)
		*bytes = members[1].offset;
	element = heap_types_counted(types, type);
	return element != HEAP_NO_TYPE ? element : members[1].type;
}

uint64_t heap_types_uncovered(const struct heap_types *types, heap_type_id type, uint64_t elements,
			      uint64_t size)
{
	uint64_t covered = heap_types_size(types, type);

	return type != HEAP_NO_TYPE && covered > 0 && elements <= 1 && covered <= size / 2 &&
			       !heap_types_flexible(types, type, NULL, NULL)
		       ? size - covered
		       : 0;
}
