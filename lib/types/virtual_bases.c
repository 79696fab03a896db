// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/types/virtual_bases.h"

#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MAX_DEPTH = 24,    // classes inside each other
	MAX_VISITS = 4096, // of classes, for one class
	WORD = 8,
	MAX_ALIGNMENT = 16,
};

struct placing {
	const struct heap_types *types;
	struct heap_virtual_base list[HEAP_VIRTUAL_BASES]; // in the order of the classes
	bool is_placed[HEAP_VIRTUAL_BASES];
	size_t count;
	unsigned visits;
	bool is_bad; // too much of anything
};

static const struct heap_type *class_of(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	return type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS ? type : NULL;
}

static bool must_stop(struct placing *placing, int depth)
{
	placing->is_bad |= depth > MAX_DEPTH || placing->visits++ > MAX_VISITS;
	return placing->is_bad;
}

static uint64_t round_up(uint64_t offset, uint64_t alignment)
{
	return (offset + alignment - 1) / alignment * alignment;
}

// --- what debug information does not say -----------------------------------------------------

// Bytes that a type is aligned to. Attributes and pragmas are not known.
static uint64_t alignment_of(struct placing *placing, heap_type_id id, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];
	uint64_t most = 1;

	if (must_stop(placing, depth))
		return 1;
	if (type->kind == HEAP_TYPE_ARRAY)
		return alignment_of(placing, type->target, depth + 1);
	if (!heap_types_has_members(type))
		return type->kind == HEAP_TYPE_MEMBER_POINTER || type->size > MAX_ALIGNMENT ? WORD
		       : type->size > 0 ? (type->size & -type->size)
					: 1;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t own = alignment_of(placing, member->type, depth + 1);

		// A class with virtual bases has a pointer to a vtable.
		if (member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_VTABLE))
			own = own < WORD ? WORD : own;
		most = own > most ? own : most;
	}
	return most;
}

static bool is_dynamic(struct placing *placing, heap_type_id id, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = class_of(types, id);

	if (!type || must_stop(placing, depth))
		return false;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (member->flags & (HEAP_MEMBER_VTABLE | HEAP_MEMBER_VIRTUAL_BASE) ||
		    (member->flags & HEAP_MEMBER_BASE &&
		     is_dynamic(placing, member->type, depth + 1)))
			return true;
	}
	return false;
}

// Bytes of a class without its virtual bases and the padding behind its last member.
static uint64_t own_size(struct placing *placing, heap_type_id id, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = class_of(types, id);
	uint64_t end = 0;

	if (!type || must_stop(placing, depth))
		return heap_types_size(types, id);
	if (type->members == 0)
		return 0;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t size = member->flags & HEAP_MEMBER_BASE
					? own_size(placing, member->type, depth + 1)
				: member->flags & HEAP_MEMBER_BIT_FIELD
					? (member->bit_offset + member->bit_size + 7u) / 8
					: heap_types_size(types, member->type);

		if (!(member->flags & HEAP_MEMBER_VIRTUAL_BASE) && member->offset + size > end)
			end = member->offset + size;
	}
	if (!is_dynamic(placing, id, depth))
		return end == 0 ? 0 : type->size;
	// The pointer to the vtable may be that of a virtual base.
	return end < WORD ? WORD : end;
}

// --- order -----------------------------------------------------------------------------------

static size_t number_of(const struct placing *placing, heap_type_id id)
{
	size_t i = 0;

	while (i < placing->count && placing->list[i].type != id)
		i++;
	return i;
}

// Lists the virtual bases from the left to the right, each before its own.
static void collect(struct placing *placing, heap_type_id id, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = class_of(types, id);

	if (!type || must_stop(placing, depth))
		return;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id base = heap_types_strip(types, member->type);

		if (!(member->flags & HEAP_MEMBER_BASE))
			continue;
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE &&
		    number_of(placing, base) == placing->count) {
			if (placing->count == HEAP_VIRTUAL_BASES) {
				placing->is_bad = true;
				return;
			}
			placing->list[placing->count++].type = base;
		}
		collect(placing, base, depth + 1);
	}
}

// --- places ----------------------------------------------------------------------------------

// The virtual base that is a class's primary one: it has nothing but a pointer to its vtable, which the class
// uses as its own. HEAP_NO_TYPE if the class has another pointer there.
static heap_type_id find_primary(struct placing *placing, heap_type_id id, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = class_of(types, id);
	heap_type_id found = HEAP_NO_TYPE;

	if (!type || must_stop(placing, depth))
		return HEAP_NO_TYPE;
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		bool is_virtual = member->flags & HEAP_MEMBER_VIRTUAL_BASE;

		if (member->flags & HEAP_MEMBER_VTABLE)
			return HEAP_NO_TYPE;
		if (!(member->flags & HEAP_MEMBER_BASE) ||
		    !is_dynamic(placing, member->type, depth + 1))
			continue;
		if (!is_virtual && member->offset == 0)
			return HEAP_NO_TYPE;
		if (is_virtual && found == HEAP_NO_TYPE &&
		    own_size(placing, member->type, depth + 1) == WORD)
			found = heap_types_strip(types, member->type);
	}
	return found;
}

// Places the primary bases of a class at an offset, and of its bases.
static void place_primaries(struct placing *placing, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = placing->types;
	const struct heap_type *type = class_of(types, id);
	heap_type_id primary;
	size_t number;

	if (!type || must_stop(placing, depth))
		return;
	primary = find_primary(placing, id, depth);
	number = number_of(placing, primary);
	if (primary != HEAP_NO_TYPE && number < placing->count && !placing->is_placed[number]) {
		placing->list[number].offset = offset;
		placing->is_placed[number] = true;
		place_primaries(placing, primary, offset, depth + 1);
	}
	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if ((member->flags & HEAP_MEMBER_BASE) &&
		    !(member->flags & HEAP_MEMBER_VIRTUAL_BASE))
			place_primaries(placing, member->type, offset + member->offset, depth + 1);
	}
}

static uint64_t place_behind(struct placing *placing, uint64_t end)
{
	for (size_t i = 0; i < placing->count; i++) {
		heap_type_id id = placing->list[i].type;
		uint64_t size = own_size(placing, id, 0), at;

		if (placing->is_placed[i])
			continue;
		at = size == 0 ? 0 : round_up(end, alignment_of(placing, id, 0));
		placing->list[i].offset = at;
		placing->is_placed[i] = true;
		end = at + size > end ? at + size : end;
		place_primaries(placing, id, at, 0);
	}
	return end;
}

size_t heap_virtual_bases_find(const struct heap_types *types, heap_type_id id,
			       struct heap_virtual_base *result)
{
	struct placing placing = { .types = types };
	const struct heap_type *type = class_of(types, id);
	uint64_t end;

	if (!type || type->size == 0)
		return 0;
	collect(&placing, id, 0);
	if (placing.count == 0 || placing.is_bad)
		return 0;
	place_primaries(&placing, id, 0, 0);
	end = place_behind(&placing, own_size(&placing, id, 0));
	if (placing.is_bad || round_up(end, alignment_of(&placing, id, 0)) != type->size)
		return 0;
	for (size_t i = 0; i < placing.count; i++)
		result[i] = placing.list[i];
	return placing.count;
}

// --- the table -------------------------------------------------------------------------------

// Which types are base classes of others.
static void mark_bases(const struct heap_types *types, uint8_t *is_base)
{
	for (heap_type_id i = 1; i < types->count; i++) {
		const struct heap_type *type = class_of(types, i);

		for (uint32_t j = 0; type == &types->types[i] && j < type->members; j++) {
			const struct heap_member *member = &types->members[type->first_member + j];

			if (member->flags & HEAP_MEMBER_BASE)
				heap_bit_set(is_base, heap_types_strip(types, member->type));
		}
	}
}

// The first base that is not placed before an offset, in ascending order. @return its number, or the count
static size_t next_base(const struct heap_virtual_base *bases, size_t count, const bool *is_done)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (!is_done[i] && (found == count || bases[i].offset < bases[found].offset))
			found = i;
	}
	return found;
}

HEAP_MUST_CHECK
static struct heap_error *add_base(struct heap_types *types, const struct heap_virtual_base *base)
{
	const struct heap_member member = { .type = base->type,
					    .offset = base->offset,
					    .flags = HEAP_MEMBER_BASE };

	return heap_types_add_member(types, &member);
}

// Gives a class new members: its own, and its virtual bases by their offsets.
HEAP_MUST_CHECK
static struct heap_error *place_all(struct heap_types *types, heap_type_id id,
				    const struct heap_virtual_base *bases, size_t count)
{
	const struct heap_type old = types->types[id];
	uint32_t first = types->member_count;
	bool is_done[HEAP_VIRTUAL_BASES] = { false };
	size_t next = next_base(bases, count, is_done);

	for (uint32_t i = 0; i < old.members; i++) {
		const struct heap_member member = types->members[old.first_member + i];

		for (; next < count && bases[next].offset < member.offset;
		     next = next_base(bases, count, is_done)) {
			HEAP_TRY(add_base(types, &bases[next]));
			is_done[next] = true;
		}
		if (!(member.flags & HEAP_MEMBER_VIRTUAL_BASE))
			HEAP_TRY(heap_types_add_member(types, &member));
	}
	for (; next < count; next = next_base(bases, count, is_done)) {
		HEAP_TRY(add_base(types, &bases[next]));
		is_done[next] = true;
	}
	types->types[id].first_member = first;
	types->types[id].members = types->member_count - first;
	return NULL;
}

struct heap_error *heap_virtual_bases_place(struct heap_types *types)
{
	CLEANUP_FREE uint8_t *is_base = calloc((size_t)types->count / 8 + 1, 1);
	struct heap_virtual_base bases[HEAP_VIRTUAL_BASES];

	if (!is_base)
		return heap_error_out_of_memory();
	mark_bases(types, is_base);
	for (heap_type_id i = 1; i < types->count; i++) {
		uint8_t kind = types->types[i].kind;
		size_t count = (kind == HEAP_TYPE_STRUCT || kind == HEAP_TYPE_CLASS) &&
					       !heap_bit_get(is_base, i)
				       ? heap_virtual_bases_find(types, i, bases)
				       : 0;

		if (count > 0)
			HEAP_TRY(place_all(types, i, bases, count));
	}
	return NULL;
}
