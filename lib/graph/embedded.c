// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/graph/embedded.h"

#include "lib/base/cleanup.h"

enum {
	MAX_DEPTH = 24, // structures inside each other
};

struct heap_error *heap_embedded_init(struct heap_embedded *embedded,
				      const struct heap_snapshot *snapshot)
{
	*embedded = (struct heap_embedded){ .snapshot = snapshot };
	return heap_slot_table_init(&embedded->slots, &snapshot->types);
}

void heap_embedded_deinit(struct heap_embedded *embedded)
{
	heap_slot_table_deinit(&embedded->slots);
}

// The member of a structure that has a byte. A base without members of its own shares its place; one with
// virtual bases has the size that it has alone, so that the next one begins before it ends.
static const struct heap_member *member_around(const struct heap_types *types,
					       const struct heap_type *type, uint64_t offset)
{
	const struct heap_member *found = NULL;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!(member->flags & HEAP_MEMBER_VIRTUAL_BASE) && offset >= member->offset &&
		    offset - member->offset < heap_types_size(types, member->type) &&
		    (offset > member->offset || heap_types_size(types, member->type) > 1) &&
		    (!found || (found->flags & HEAP_MEMBER_BASE && member->offset > found->offset)))
			found = member;
	}
	return found;
}

// True if a structure of the type begins at an offset into another one, at any depth.
static bool has_inside(const struct heap_types *types, heap_type_id whole, uint64_t offset,
		       heap_type_id wanted)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		const struct heap_type *type;

		whole = heap_types_strip(types, whole);
		type = &types->types[whole];
		if (offset == 0 && whole == wanted)
			return depth > 0;
		if (type->kind == HEAP_TYPE_ARRAY) {
			uint64_t size = heap_types_size(types, type->target);

			if (size == 0)
				return false;
			whole = type->target;
			offset %= size;
			continue;
		}
		if (!heap_types_has_members(type))
			return false;

		const struct heap_member *member = member_around(types, type, offset);

		if (!member)
			return false;
		whole = member->type;
		offset -= member->offset;
	}
	return false;
}

bool heap_embedded_is(const struct heap_embedded *embedded, heap_type_id holder, uint64_t offset,
		      heap_object_id target, uint64_t interior)
{
	const struct heap_types *types = &embedded->snapshot->types;
	heap_type_id whole = embedded->snapshot->type[target];
	uint64_t holder_size = heap_types_size(types, holder), size = heap_types_size(types, whole);
	const struct heap_slots *slots;

	if (holder == HEAP_NO_TYPE || whole == HEAP_NO_TYPE || holder_size == 0 || size == 0)
		return false;
	slots = heap_slot_table_get(&embedded->slots, heap_types_strip(types, holder));
	offset %= holder_size;
	interior %= size; // the start of one of several is no member
	for (uint32_t i = 0; slots && i < slots->count && slots->list[i].offset <= offset; i++) {
		heap_type_id pointee = slots->list[i].pointee;

		if (slots->list[i].offset == offset &&
		    heap_types_has_members(&types->types[pointee]) &&
		    has_inside(types, whole, interior, pointee))
			return true;
	}
	return false;
}
