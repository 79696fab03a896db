// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/types.h"

#include "lib/base/cleanup.h"

enum {
	// Types nest by value less deeply than this: compilers stop at templates of 900 levels.
	// More would only be there to exhaust the stack.
	MAX_NESTING = 2048,
};

// The number of types nested in a type, including itself, once it is known.
enum height {
	UNSEEN = 0,
	OPEN = UINT16_MAX, // being visited: a type that reaches it again contains itself
};

// Kinds whose target is part of them, not merely referred to.
static bool contains_target(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_ARRAY || type->kind == HEAP_TYPE_TYPEDEF ||
	       type->kind == HEAP_TYPE_CONST || type->kind == HEAP_TYPE_VOLATILE ||
	       type->kind == HEAP_TYPE_ATOMIC || type->kind == HEAP_TYPE_ENUM;
}

HEAP_MAKES_ERROR
static struct heap_error *damaged(heap_type_id type, const char *why)
{
	return heap_error_create(HEAP_ERROR_FORMAT, "section 'type' is damaged: type %u %s",
				 (unsigned)type, why);
}

HEAP_MUST_CHECK
static struct heap_error *check_type(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	uint32_t limit =
		type->kind == HEAP_TYPE_ENUM ? types->enumerator_count : types->member_count;

	if (type->kind >= HEAP_TYPE_KINDS)
		return damaged(id, "is of an unknown kind");
	if (type->name >= types->string_size || type->file >= types->string_size)
		return damaged(id, "has a name outside the strings");
	if (type->target >= types->count)
		return damaged(id, "refers to no type");
	if ((heap_types_has_members(type) || type->kind == HEAP_TYPE_ENUM) &&
	    (type->first_member > limit || type->members > limit - type->first_member))
		return damaged(id, "has members that do not exist");
	if (type->size > UINT64_MAX / 16 || type->count > UINT64_MAX / 16)
		return damaged(id, "is too large");
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *check_members(const struct heap_types *types)
{
	for (uint32_t i = 0; i < types->member_count; i++) {
		const struct heap_member *member = &types->members[i];

		if (member->name >= types->string_size || member->type >= types->count ||
		    member->offset > UINT64_MAX / 16 || member->bit_offset >= 128 ||
		    member->bit_size > 128)
			return heap_error_create(HEAP_ERROR_FORMAT,
						 "section 'memb' is damaged: member %u is out of "
						 "range",
						 (unsigned)i);
	}
	for (uint32_t i = 0; i < types->enumerator_count; i++) {
		if (types->enumerators[i].name >= types->string_size)
			return heap_error_create(HEAP_ERROR_FORMAT,
						 "section 'enum' is damaged: enumerator %u is out "
						 "of range",
						 (unsigned)i);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_height(const struct heap_types *types, heap_type_id id,
				      uint16_t *heights, int depth);

// Raises `height` to that of the inner type.
HEAP_MUST_CHECK
static struct heap_error *raise_height(const struct heap_types *types, heap_type_id inner,
				       uint16_t *heights, int depth, uint16_t *height)
{
	HEAP_TRY(find_height(types, inner, heights, depth));
	if (heights[inner] > *height)
		*height = heights[inner];
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_height(const struct heap_types *types, heap_type_id id,
				      uint16_t *heights, int depth)
{
	const struct heap_type *type = &types->types[id];
	uint16_t height = 0;

	if (heights[id] == OPEN)
		return damaged(id, "contains itself");
	if (heights[id] != UNSEEN)
		return NULL;
	if (depth == MAX_NESTING)
		return damaged(id, "is nested too deeply");
	heights[id] = OPEN;
	if (contains_target(type))
		HEAP_TRY(raise_height(types, type->target, heights, depth + 1, &height));
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
		HEAP_TRY(raise_height(types, types->members[type->first_member + i].type, heights,
				      depth + 1, &height));
	if (height == MAX_NESTING)
		return damaged(id, "is nested too deeply");
	heights[id] = height + 1;
	return NULL;
}

// Members belong to one type each, so that going through all types' takes linear time.
HEAP_MUST_CHECK
static struct heap_error *check_sums(const struct heap_types *types)
{
	uint64_t members = 0, enumerators = 0;

	for (heap_type_id id = 0; id < types->count; id++) {
		if (heap_types_has_members(&types->types[id]))
			members += types->types[id].members;
		else if (types->types[id].kind == HEAP_TYPE_ENUM)
			enumerators += types->types[id].members;
	}
	if (members > types->member_count)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "section 'memb' is damaged: types share members");
	if (enumerators > types->enumerator_count)
		return heap_error_create(HEAP_ERROR_FORMAT,
					 "section 'enum' is damaged: types share enumerators");
	return NULL;
}

// An array's bytes must be countable. What is nested has been checked by then.
HEAP_MUST_CHECK
static struct heap_error *check_array(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	uint64_t bytes;

	if (type->kind == HEAP_TYPE_ARRAY &&
	    (__builtin_mul_overflow(heap_types_size(types, type->target), type->count, &bytes) ||
	     bytes > UINT64_MAX / 16))
		return damaged(id, "is too large");
	return NULL;
}

struct heap_error *heap_types_check(const struct heap_types *types)
{
	CLEANUP_FREE uint16_t *heights = calloc((size_t)types->count + 1, sizeof(*heights));

	if (!heights)
		return heap_error_out_of_memory();
	if (types->count == 0 || types->types[0].kind != HEAP_TYPE_UNKNOWN ||
	    types->string_size == 0)
		return heap_error_create(
			HEAP_ERROR_FORMAT,
			"section 'type' is damaged: type 0 is not the unknown one");
	for (heap_type_id id = 0; id < types->count; id++)
		HEAP_TRY(check_type(types, id));
	HEAP_TRY(check_members(types));
	HEAP_TRY(check_sums(types));
	for (heap_type_id id = 0; id < types->count; id++)
		HEAP_TRY(find_height(types, id, heights, 0));
	for (heap_type_id id = 0; id < types->count; id++)
		HEAP_TRY(check_array(types, id));
	return NULL;
}
