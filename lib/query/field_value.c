// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/query/field_value.h"

#include <string.h>

enum {
	MAX_WRAPPERS = 24, // structures around one member, inside each other
};

// True if values of a type say nothing: no members but empty ones.
static bool is_empty(const struct heap_types *types, heap_type_id id, int depth)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if ((type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS) || type->size > 1 ||
	    type->flags & HEAP_TYPE_DECLARATION || depth == MAX_WRAPPERS)
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		if (!is_empty(types, types->members[type->first_member + i].type, depth + 1))
			return false;
	}
	return true;
}

// The one member of a structure that is not empty, or NULL.
static const struct heap_member *sole_member(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	const struct heap_member *found = NULL;

	if (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS)
		return NULL;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (is_empty(types, member->type, 0))
			continue;
		if (found || member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_VTABLE |
					      HEAP_MEMBER_BIT_FIELD))
			return NULL;
		found = member;
	}
	return found;
}

// The pointer in a structure that is a text or a pointer for a person; libc++'s strings are laid out by bits.
static bool find_pointer(const struct heap_types *types, struct heap_member_place *place)
{
	static const char *const paths[] = {
		"_M_dataplus._M_p",             // std::string
		"_M_pathname._M_dataplus._M_p", // std::filesystem::path
		"_M_ptr", "__ptr_",             // std::shared_ptr
	};
	struct heap_member_place pointer;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		if (!heap_member_find(types, place->type, paths[i], &pointer))
			continue;
		place->type = pointer.type;
		place->offset += pointer.offset;
		return true;
	}
	return false;
}

void heap_field_unwrap(const struct heap_types *types, struct heap_member_place *place)
{
	const struct heap_member *member;

	if (find_pointer(types, place))
		return;
	for (int depth = 0;
	     depth < MAX_WRAPPERS && (member = sole_member(types, place->type)) != NULL; depth++) {
		place->type = member->type;
		place->offset += member->offset;
	}
}

bool heap_field_may_be_described(const struct heap_types *types, heap_type_id id)
{
	static const char *const namespaces[] = { "std::", "alloc::", "core::" };
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	const char *name = heap_types_string(types, type->name);

	if (type->kind == HEAP_TYPE_UNION)
		return !*name;
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (heap_types_has_members(type) &&
		    strncmp(name, namespaces[i], strlen(namespaces[i])) == 0)
			return true;
	}
	return false;
}
