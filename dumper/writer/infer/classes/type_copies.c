// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/type_copies.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

enum {
	MAX_DEPTH = 24,
	MAX_VISITS = 4096, // types visited for one container
	MAX_HOPS = 2,      // structs behind pointers, from the container on
};

// Where a visit is.
struct place {
	int depth;
	int hops;
};

static struct place inside(struct place place)
{
	return (struct place){ place.depth + 1, place.hops };
}

static struct place behind(struct place place)
{
	return (struct place){ place.depth + 1, place.hops + 1 };
}

struct heap_error *type_copies_add_pointer(struct heap_types *types, heap_type_id target,
					   heap_type_id *result)
{
	// A duplicate does no harm, and searching for one would take longer than everything else here.
	return heap_types_add(
		types,
		&(struct heap_type){ .kind = HEAP_TYPE_POINTER, .size = 8, .target = target },
		result);
}

// --- what has pointers to the base -----------------------------------------------

static bool is_pointer_to_base(const struct type_copies *copies, const struct heap_type *type)
{
	const struct heap_types *types = copies->types;
	heap_type_id target = heap_types_strip(types, type->target);

	if (copies->are_void)
		return type->kind == HEAP_TYPE_POINTER && target == HEAP_NO_TYPE;
	if (copies->base == HEAP_NO_TYPE)
		return type->kind == HEAP_TYPE_POINTER;
	// A declaration may have the same name.
	return type->kind == HEAP_TYPE_POINTER &&
	       types->types[target].name == types->types[copies->base].name &&
	       target != HEAP_NO_TYPE;
}

// The copy that has been made of a type; HEAP_NO_TYPE: none.
static heap_type_id find_made(const struct type_copies *copies, heap_type_id type)
{
	for (size_t i = 0; i < copies->count; i++) {
		if (copies->made[i].from == type)
			return copies->made[i].to;
	}
	return HEAP_NO_TYPE;
}

// True if what a pointer leads to is copied as well: another pointer, or a struct that works for the container alone.
static bool is_followed(const struct type_copies *copies, heap_type_id target, struct place place)
{
	const struct heap_type *type = &copies->types->types[target];

	if (!copies->left || target == HEAP_NO_TYPE || target == copies->node)
		return false;
	return type->kind == HEAP_TYPE_POINTER || find_made(copies, target) != HEAP_NO_TYPE ||
	       (place.hops < MAX_HOPS && heap_types_has_members(type) && type->size > 0);
}

static bool is_left(const struct type_copies *copies, heap_type_id type, struct place place)
{
	return place.depth > 0 && type < copies->left_count && copies->left[type];
}

static bool points_to_base(struct type_copies *copies, heap_type_id id, struct place place)
{
	const struct heap_types *types = copies->types;
	heap_type_id stripped = heap_types_strip(types, id);
	const struct heap_type *type = &types->types[stripped];

	if (find_made(copies, stripped) != HEAP_NO_TYPE)
		return true;
	if (place.depth > MAX_DEPTH || copies->visits++ > MAX_VISITS ||
	    is_left(copies, stripped, place))
		return false;
	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!(member->flags & HEAP_MEMBER_VIRTUAL_BASE) &&
		    points_to_base(copies, member->type, inside(place)))
			return true;
	}
	if (is_pointer_to_base(copies, type))
		return true;

	heap_type_id target = heap_types_strip(types, type->target);

	if (type->kind == HEAP_TYPE_ARRAY)
		return copies->left && points_to_base(copies, target, inside(place));
	return type->kind == HEAP_TYPE_POINTER && is_followed(copies, target, place) &&
	       points_to_base(copies, target, behind(place));
}

bool type_copies_concern(struct type_copies *copies, heap_type_id type)
{
	copies->visits = 0;
	return points_to_base(copies, type, (struct place){ 0 });
}

// --- copies ------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *copy_type(struct type_copies *copies, heap_type_id id, struct place place,
				    heap_type_id *result);

// A union of a pointer to a copied struct and of one to a node: the container's end, as which that struct passes for a
// node, has the place of its first one. Such a pointer leads to no node.
static void drop_ends(struct type_copies *copies, heap_type_id id, heap_type_id copied)
{
	struct heap_types *types = copies->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; !copies->are_void && i < type->members; i++) {
		struct heap_member *member = &types->members[type->first_member + i];

		if (heap_types_leads_to(types, member->type, copies->node))
			member->type = copied;
	}
}

// Redirects the members of a type: of a copy, or of a type that holds copies.
HEAP_MUST_CHECK
static struct heap_error *change_members(struct type_copies *copies, heap_type_id id,
					 struct place place)
{
	struct heap_types *types = copies->types;
	heap_type_id copied = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < types->types[id].members; i++) {
		uint32_t number = types->types[id].first_member + i;
		heap_type_id changed = types->members[number].type;

		if (!(types->members[number].flags & HEAP_MEMBER_VIRTUAL_BASE))
			HEAP_TRY(copy_type(copies, changed, inside(place), &changed));
		// Copying may have moved the members.
		if (changed != types->members[number].type &&
		    !heap_types_leads_to(types, changed, copies->node))
			copied = changed;
		types->members[number].type = changed;
	}
	if (copied != HEAP_NO_TYPE && types->types[id].kind == HEAP_TYPE_UNION)
		drop_ends(copies, id, copied);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *duplicate(struct heap_types *types, heap_type_id id, heap_type_id *result)
{
	struct heap_type copy = types->types[id];
	uint32_t first = copy.first_member;

	copy.first_member = types->member_count;
	for (uint32_t i = 0; i < copy.members; i++) {
		struct heap_member member = types->members[first + i];

		HEAP_TRY(heap_types_add_member(types, &member));
	}
	return heap_types_add(types, &copy, result);
}

HEAP_MUST_CHECK
static struct heap_error *copy_pointer(struct type_copies *copies, heap_type_id id,
				       struct place place, heap_type_id *result)
{
	heap_type_id target = copies->types->types[id].target;

	if (is_pointer_to_base(copies, &copies->types->types[id])) {
		if (!copies->pointer)
			HEAP_TRY(type_copies_add_pointer(copies->types, copies->node,
							 &copies->pointer));
		*result = copies->pointer;
		return NULL;
	}
	HEAP_TRY(copy_type(copies, target, behind(place), &target));
	return type_copies_add_pointer(copies->types, target, result);
}

HEAP_MUST_CHECK
static struct heap_error *copy_array(struct type_copies *copies, heap_type_id id,
				     struct place place, heap_type_id *result)
{
	struct heap_type copy = copies->types->types[id];

	HEAP_TRY(copy_type(copies, copy.target, inside(place), &copy.target));
	return heap_types_add(copies->types, &copy, result);
}

HEAP_MUST_CHECK
static struct heap_error *copy_type(struct type_copies *copies, heap_type_id id, struct place place,
				    heap_type_id *result)
{
	heap_type_id stripped = heap_types_strip(copies->types, id), copy;

	if (!points_to_base(copies, stripped, place)) {
		*result = id;
		return NULL;
	}
	if (copies->types->types[stripped].kind == HEAP_TYPE_POINTER)
		return copy_pointer(copies, stripped, place, result);
	if (copies->types->types[stripped].kind == HEAP_TYPE_ARRAY)
		return copy_array(copies, stripped, place, result);
	copy = find_made(copies, stripped);
	if (copy != HEAP_NO_TYPE) {
		*result = copy;
		return NULL;
	}
	if (copies->count == TYPE_COPIES) {
		*result = id;
		return NULL;
	}
	HEAP_TRY(duplicate(copies->types, stripped, &copy));
	copies->made[copies->count].from = stripped;
	copies->made[copies->count++].to = copy;
	*result = copy;
	return change_members(copies, copy, place);
}

struct heap_error *type_copies_make(struct type_copies *copies, heap_type_id type,
				    heap_type_id *result)
{
	return copy_type(copies, type, (struct place){ 0 }, result);
}

struct heap_error *type_copies_change(struct type_copies *copies, heap_type_id type)
{
	return change_members(copies, type, (struct place){ 0 });
}

// --- the first of several -------------------------------------------------------------

// Members of a copy that are not copies themselves are as they were, unless the first version itself has been changed.
static bool have_same_members(const struct heap_types *types, heap_type_id count,
			      const struct heap_type *one, const struct heap_type *other)
{
	for (uint32_t i = 0; i < one->members; i++) {
		const struct heap_member *a = &types->members[one->first_member + i];
		const struct heap_member *b = &types->members[other->first_member + i];

		if (a->name != b->name || a->offset != b->offset ||
		    (a->type != b->type && a->type < count && b->type < count))
			return false;
	}
	return true;
}

// @param count  of types before the first copy
static bool is_copy(const struct heap_types *types, heap_type_id count, heap_type_id id,
		    heap_type_id other)
{
	const struct heap_type *one = &types->types[id], *first = &types->types[other];

	return id >= count && one->kind == first->kind && one->name == first->name &&
	       one->size == first->size && one->file == first->file && one->line == first->line &&
	       one->members == first->members && have_same_members(types, count, one, first);
}

HEAP_MUST_CHECK
static struct heap_error *find_first_structs(const struct heap_types *types, heap_type_id count,
					     heap_type_id *first)
{
	CLEANUP(heap_hash_table_deinit) struct heap_hash_table by_name = { 0 };

	for (heap_type_id id = 0; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		uint64_t hash = heap_hash_pair(type->name, type->size);

		first[id] = id;
		if (!heap_types_has_members(type) || type->name == 0 || type->size == 0)
			continue;

		uint32_t found = heap_hash_find(&by_name, hash, at, is_copy(types, count, id, at));

		if (found == HEAP_HASH_NONE)
			HEAP_TRY(heap_hash_add(&by_name, hash, id));
		else
			first[id] = found;
	}
	return NULL;
}

struct heap_error *type_copies_find_first(const struct heap_types *types, heap_type_id count,
					  heap_type_id *first)
{
	CLEANUP(heap_hash_table_deinit) struct heap_hash_table by_target = { 0 };

	HEAP_TRY(find_first_structs(types, count, first));
	for (heap_type_id id = 1; id < types->count; id++) {
		if (types->types[id].kind != HEAP_TYPE_POINTER)
			continue;

		heap_type_id target = first[types->types[id].target];
		uint32_t found = heap_hash_find(&by_target, heap_hash_u64(target), at,
						first[types->types[at].target] == target);
		if (found == HEAP_HASH_NONE)
			HEAP_TRY(heap_hash_add(&by_target, heap_hash_u64(target), id));
		else
			first[id] = found;
	}
	return NULL;
}
