// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/callbacks.h"

#include "dumper/writer/base/progress.h"

enum {
	MAX_TABLE = 16,    // members of a table before its first function
	MAX_DEPTH = 4,     // of structs in structs
	MAX_NESTING = 16,  // of structs around the pointer
	MAX_VISITS = 4096, // members; several may be at one place, and nested in each other
};

typedef bool pointer_test(const struct layouts *layouts, const struct heap_type *type);

static bool is_callback(const struct layouts *layouts, const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_POINTER &&
	       layouts->types->types[layouts_strip(layouts, type->target)].kind ==
		       HEAP_TYPE_FUNCTION;
}

// True for a pointer to a struct that has a callback.
static bool is_table(const struct layouts *layouts, const struct heap_type *type)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *table = &types->types[layouts_strip(layouts, type->target)];

	if (type->kind != HEAP_TYPE_POINTER || table->kind != HEAP_TYPE_STRUCT)
		return false;
	for (uint32_t i = 0; i < table->members && i < MAX_TABLE; i++) {
		const struct heap_member *member = &types->members[table->first_member + i];

		if (is_callback(layouts, &types->types[layouts_strip(layouts, member->type)]))
			return true;
	}
	return false;
}

// @param left  members that may still be visited
static uint64_t find_in(const struct layouts *layouts, pointer_test *test, heap_type_id id,
			int depth, uint32_t *left)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[layouts_strip(layouts, id)];

	if (test(layouts, type))
		return 0;
	if (type->kind == HEAP_TYPE_UNION || !heap_types_has_members(type) || depth == MAX_DEPTH)
		return NO_CALLBACK;
	for (uint32_t i = 0; *left != 0 && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t found;

		--*left;
		found = find_in(layouts, test, member->type, depth + 1, left);
		if (found != NO_CALLBACK)
			return member->offset + found;
	}
	return NO_CALLBACK;
}

// The callback of a struct itself, whatever in it has the pointer.
static uint64_t find_own(const struct layouts *layouts, heap_type_id type, uint32_t *left)
{
	uint64_t result = find_in(layouts, is_callback, type, 0, left);

	return result == NO_CALLBACK ? find_in(layouts, is_table, type, 0, left) : result;
}

static struct callback find_around(const struct layouts *layouts, heap_type_id id, uint64_t offset,
				   int depth, uint32_t *left)
{
	const struct heap_types *types = layouts->types;
	heap_type_id stripped = layouts_strip(layouts, id);
	const struct heap_type *type = &types->types[stripped];
	struct callback result = { .offset = NO_CALLBACK };

	if (depth == MAX_NESTING)
		return result;
	if (type->kind == HEAP_TYPE_ARRAY) {
		result = find_around(layouts, type->target, offset, depth + 1, left);
		result.is_element = result.offset != NO_CALLBACK;
		return result;
	}
	if (!heap_types_has_members(type))
		return result;
	// Several members may be at one place: an empty base is at that of the first member.
	for (uint32_t i = 0; *left != 0 && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		--*left;
		if (offset < member->offset ||
		    offset - member->offset >= layouts_size(layouts, member->type))
			continue;
		result = find_around(layouts, member->type, offset - member->offset, depth + 1,
				     left);
		if (result.offset == NO_CALLBACK)
			continue;
		result.offset += member->offset;
		return result;
	}
	if (type->kind != HEAP_TYPE_UNION)
		result.offset = find_own(layouts, stripped, left);
	return result;
}

struct callback callbacks_find(const struct layouts *layouts, heap_type_id type, uint64_t offset)
{
	uint32_t left = MAX_VISITS;
	struct callback result = find_around(layouts, type, offset, 0, &left);

	progress_steps(MAX_VISITS - left);
	return result;
}
