// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/stale_vtables.h"

enum {
	WORD = 8,
	MAX_DEPTH = 16, // members around a scalar
};

// True if something other than padding and empty classes is in the first word of a type.
static bool uses_first_word(const struct layouts *layouts, heap_type_id id, int depth)
{
	const struct heap_types *types = layouts->types;
	heap_type_id element = layouts_element(layouts, id);
	const struct heap_type *type = &types->types[element];

	if (!heap_types_has_members(type) || depth == MAX_DEPTH)
		return true;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->offset < WORD && uses_first_word(layouts, member->type, depth + 1))
			return true;
	}
	return false;
}

bool stale_vtables_explain(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	return inference->claims.name_rank[object] == RANK_VTABLE &&
	       inference_fit(inference, type, object).fit == LAYOUT_EXACT &&
	       heap_types_size(inference->layouts.types, type) > WORD &&
	       !uses_first_word(&inference->layouts, type, 0);
}
