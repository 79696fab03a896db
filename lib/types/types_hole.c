// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

enum {
	WORD = 8,
	MAX_DEPTH = 16, // members around a scalar
};

static bool uses_first_word(const struct heap_types *types, heap_type_id id, int depth)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH)
		return true;
	if (type->kind == HEAP_TYPE_ARRAY)
		return uses_first_word(types, type->target, depth + 1);
	if (!heap_types_has_members(type))
		return true;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->offset < WORD && uses_first_word(types, member->type, depth + 1))
			return true;
	}
	return false;
}

bool heap_types_begins_with_hole(const struct heap_types *types, heap_type_id type)
{
	return heap_types_size(types, type) > WORD && !uses_first_word(types, type, 0);
}
