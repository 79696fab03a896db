// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Headers: the scalar members with which structs begin, and their values in blocks.
 */
#include "dumper/writer/infer/headers.h"

#include <string.h>

enum {
	MAX_DEPTH = 4,
	MAX_VISITS = 4096, // members; several may be at one place, and nested in each other
};

static bool is_number(const struct heap_type *type)
{
	return type->size >= 1 && type->size <= 8 &&
	       (type->kind == HEAP_TYPE_ENUM ||
		(type->kind == HEAP_TYPE_BASE && !(type->flags & HEAP_TYPE_FLOAT)));
}

static bool is_same(const struct header_member *one, const struct header_member *other)
{
	return one->offset == other->offset && one->size == other->size &&
	       one->shift == other->shift && one->bits == other->bits &&
	       strcmp(one->name, other->name) == 0;
}

bool headers_have(const struct header_members *members, const struct header_member *member)
{
	for (uint32_t i = 0; i < members->count; i++) {
		if (is_same(&members->list[i], member))
			return true;
	}
	return false;
}

// @param left  members that may still be visited
static void gather(const struct heap_types *types, heap_type_id id, uint64_t offset, int depth,
		   uint32_t *left, struct header_members *result)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH || (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS))
		return;
	for (uint32_t i = 0; *left != 0 && i < type->members && result->count < HEADER_MEMBERS;
	     i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		const struct heap_type *own = &types->types[heap_types_strip(types, member->type)];
		bool bits = member->flags & HEAP_MEMBER_BIT_FIELD;
		struct header_member found = {
			.name = types->strings + member->name,
			.offset = (uint32_t)(offset + member->offset),
			.size = (uint8_t)own->size,
			.shift = bits ? member->bit_offset : 0,
			.bits = bits ? member->bit_size : (uint8_t)(own->size * 8),
		};

		--*left;
		if (offset + member->offset + own->size > HEADER_BYTES)
			break;
		if (!is_number(own))
			gather(types, member->type, offset + member->offset, depth + 1, left,
			       result);
		else if (!headers_have(result, &found))
			result->list[result->count++] = found;
	}
}

void headers_gather(const struct heap_types *types, heap_type_id type,
		    struct header_members *members)
{
	uint32_t left = MAX_VISITS;

	gather(types, type, 0, 0, &left, members);
}

bool headers_type_has(const struct heap_types *types, heap_type_id type,
		      const struct header_member *member)
{
	struct header_members members = { .count = 0 };

	headers_gather(types, type, &members);
	return headers_have(&members, member);
}

bool headers_begin(const struct heap_types *types, heap_type_id type,
		   const struct header_members *base)
{
	struct header_members members = { .count = 0 };

	headers_gather(types, type, &members);
	for (uint32_t i = 0; i < base->count; i++) {
		if (!headers_have(&members, &base->list[i]))
			return false;
	}
	return true;
}

bool headers_is_prefix(const struct heap_types *types, heap_type_id type)
{
	struct header_members members = { .count = 0 };
	uint32_t found = 0;

	headers_gather(types, type, &members);
	for (heap_type_id i = 1; members.count > 0 && i < types->count; i++) {
		found += types->types[i].size > types->types[type].size &&
			 headers_begin(types, i, &members);
		if (found >= HEADER_EXTENSIONS)
			return true;
	}
	return false;
}

uint64_t headers_value(const struct header_member *member, const struct header *header)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)header->words + member->offset, member->size);
	value >>= member->shift;
	return member->bits < 64 ? value & ((UINT64_C(1) << member->bits) - 1) : value;
}
