// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/smaller_structs.h"

#include "dumper/writer/base/progress.h"

enum {
	LEAST_BYTES = 16, // of an array that is worth cutting
	LEAST_SHARED = 2, // members that two structs begin with
};

// True if a type is an array of bytes of some length.
static bool is_bytes(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_type *type = &layouts->types->types[layouts_strip(layouts, id)];

	return type->kind == HEAP_TYPE_ARRAY && type->size >= LEAST_BYTES &&
	       layouts_is_character(layouts, layouts_strip(layouts, type->target));
}

// Bytes of a union that some member needs, if bytes are the largest one; 0: they are not.
static uint64_t least_of_union(const struct layouts *layouts, const struct heap_type *type)
{
	uint64_t least = type->size;
	bool has_bytes = false;

	for (uint32_t i = 0; i < type->members; i++) {
		heap_type_id member = layouts->types->members[type->first_member + i].type;
		uint64_t size = layouts_size(layouts, layouts_strip(layouts, member));

		has_bytes |= is_bytes(layouts, member);
		least = size > 0 && size < least ? size : least;
	}
	return has_bytes && least < type->size ? least : 0;
}

// The bytes that are left of a struct at least, where its end is cut off; 0: it cannot be.
static uint64_t least_size(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_type *type = &layouts->types->types[id];
	const struct heap_member *last;
	const struct heap_type *inner;
	uint64_t least;

	if (type->kind != HEAP_TYPE_STRUCT || type->members < 2)
		return 0;
	last = &layouts->types->members[type->first_member + type->members - 1];
	if (is_bytes(layouts, last->type))
		return last->offset + 1;
	inner = &layouts->types->types[layouts_strip(layouts, last->type)];
	if (inner->kind != HEAP_TYPE_UNION)
		return 0;
	least = least_of_union(layouts, inner);
	return least > 0 ? last->offset + least : 0;
}

// True if a struct ends in a union, and has a number of bytes if that has but one of its members.
static bool ends_in_member(const struct layouts *layouts, heap_type_id id, uint64_t size)
{
	const struct heap_type *type = &layouts->types->types[id];
	const struct heap_member *members = layouts->types->members, *last;
	const struct heap_type *inner;
	uint32_t i = 0;

	if (type->kind != HEAP_TYPE_STRUCT || type->members < 2)
		return false;
	last = &members[type->first_member + type->members - 1];
	inner = &layouts->types->types[layouts_strip(layouts, last->type)];
	if (inner->kind != HEAP_TYPE_UNION)
		return false;
	while (i < inner->members &&
	       last->offset + layouts_size(layouts,
					   layouts_strip(layouts,
							 members[inner->first_member + i].type)) !=
		       size)
		i++;
	return i < inner->members;
}

bool smaller_structs_may_be_cut(const struct layouts *layouts, heap_type_id type, uint64_t size)
{
	uint64_t least = least_size(layouts, type);

	return size < layouts_size(layouts, type) &&
	       ((least > 0 && size >= least) || ends_in_member(layouts, type, size));
}

static bool is_same_member(const struct layouts *layouts, const struct heap_member *one,
			   const struct heap_member *other)
{
	return one->offset == other->offset && one->name == other->name && one->name != 0 &&
	       layouts_strip(layouts, one->type) == layouts_strip(layouts, other->type);
}

// How many members two structs begin with alike.
static uint32_t count_shared(const struct layouts *layouts, const struct heap_type *one,
			     const struct heap_type *other)
{
	const struct heap_member *members = layouts->types->members;
	uint32_t most = one->members < other->members ? one->members : other->members, i = 0;

	while (i < most && is_same_member(layouts, &members[one->first_member + i],
					  &members[other->first_member + i]))
		i++;
	return i;
}

bool smaller_structs_share(const struct layouts *layouts, heap_type_id smaller, heap_type_id larger)
{
	const struct heap_type *type = &layouts->types->types[smaller],
			       *other = &layouts->types->types[larger];
	uint32_t shared;

	if (type->kind != HEAP_TYPE_STRUCT || other->kind != HEAP_TYPE_STRUCT ||
	    type->size >= other->size)
		return false;
	shared = count_shared(layouts, type, other);
	return shared >= LEAST_SHARED && shared + 1 >= type->members;
}

// The only struct of a size that shares its beginning with another one.
static heap_type_id find_sibling(const struct layouts *layouts, heap_type_id larger, uint64_t size,
				 uint64_t slack)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		uint64_t bytes = layouts->types->types[id].size;

		progress_step();
		if (bytes > size || size - bytes > slack ||
		    !smaller_structs_share(layouts, id, larger))
			continue;
		if (found != HEAP_NO_TYPE)
			return HEAP_NO_TYPE;
		found = id;
	}
	return found;
}

struct layout_claim smaller_structs_fit(const struct layouts *layouts, heap_type_id type,
					uint64_t size, uint64_t slack)
{
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	heap_type_id sibling;

	if (size >= layouts_size(layouts, type) || !layouts_is_compound(layouts, type))
		return claim;
	sibling = find_sibling(layouts, type, size, slack);
	if (sibling != HEAP_NO_TYPE)
		return (struct layout_claim){ LAYOUT_EXACT, sibling, 1 };
	if (smaller_structs_may_be_cut(layouts, type, size))
		return (struct layout_claim){ LAYOUT_FLEXIBLE, type, 1 };
	return claim;
}
