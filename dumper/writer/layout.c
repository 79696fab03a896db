// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/layout.h"

#include <stdlib.h>

enum {
	// Of an array inside a struct, as many elements are known as parts.
	MAX_PART_ELEMENTS = 64,
	MAX_DEPTH = 16,
};

// --- slots -------------------------------------------------------------------

struct slot_list {
	const struct heap_types *types;
	struct layout_slot *slots;
	uint32_t count, capacity;
};

static bool add_slot(void *context, uint64_t offset, heap_type_id pointer)
{
	struct slot_list *list = context;

	if (list->count == list->capacity) {
		uint32_t capacity = list->capacity ? list->capacity * 2 : 8;
		void *larger = realloc(list->slots, capacity * sizeof(*list->slots));

		if (!larger)
			return false;
		list->slots = larger;
		list->capacity = capacity;
	}
	list->slots[list->count++] = (struct layout_slot){
		.offset = offset,
		.pointee = heap_types_strip(list->types, list->types->types[pointer].target),
	};
	return true;
}

static int compare_slots(const void *left, const void *right)
{
	const struct layout_slot *a = left, *b = right;

	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->pointee < b->pointee ? -1 : a->pointee > b->pointee;
}

const struct layout_slots *layouts_slots(struct layouts *layouts, heap_type_id type)
{
	struct layout_slots *slots = &layouts->slots[type];

	if (slots->known)
		return slots;

	struct slot_list list = { .types = layouts->types };

	if (!heap_types_visit_pointers(layouts->types, type, add_slot, &list)) {
		free(list.slots);
		return NULL;
	}
	if (list.count > 0)
		qsort(list.slots, list.count, sizeof(*list.slots), compare_slots);
	*slots = (struct layout_slots){ list.slots, list.count, true };
	return slots;
}

// --- parts -------------------------------------------------------------------

static bool is_compound(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRUCT || type->kind == HEAP_TYPE_CLASS ||
	       type->kind == HEAP_TYPE_UNION;
}

HEAP_MUST_CHECK
static struct heap_error *add_part(struct layouts *layouts, const struct layout_part *part)
{
	if (layouts->part_count == layouts->part_capacity) {
		size_t capacity = layouts->part_capacity ? layouts->part_capacity * 2 : 1024;
		void *larger = realloc(layouts->parts, capacity * sizeof(*layouts->parts));

		if (!larger)
			return heap_error_out_of_memory();
		layouts->parts = larger;
		layouts->part_capacity = capacity;
	}
	layouts->parts[layouts->part_count++] = *part;
	return NULL;
}

// Adds what lies at `offset` of `whole`: the type itself, its members, its elements.
HEAP_MUST_CHECK
static struct heap_error *add_parts(struct layouts *layouts, heap_type_id whole, heap_type_id id,
				    uint64_t offset, int depth)
{
	const struct heap_types *types = layouts->types;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];
	struct heap_error *error = NULL;

	if (depth == MAX_DEPTH)
		return NULL;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t stride = heap_types_size(types, type->target);

		for (uint64_t i = 0; !error && i < type->count && i < MAX_PART_ELEMENTS; i++)
			error = add_parts(layouts, whole, type->target, offset + i * stride,
					  depth + 1);
		return error;
	}
	if (!is_compound(type))
		return NULL;
	if (id != whole)
		error = add_part(layouts, &(struct layout_part){ id, whole, offset });
	for (uint32_t i = 0; !error && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (!(member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)))
			error = add_parts(layouts, whole, member->type, offset + member->offset,
					  depth + 1);
	}
	return error;
}

static int compare_parts(const void *left, const void *right)
{
	const struct layout_part *a = left, *b = right;

	if (a->part != b->part)
		return a->part < b->part ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->whole < b->whole ? -1 : a->whole > b->whole;
}

struct heap_error *layouts_init(struct layouts *layouts, const struct heap_types *types)
{
	struct heap_error *error = NULL;

	*layouts = (struct layouts){
		.types = types,
		.slots = calloc(types->count, sizeof(*layouts->slots)),
	};
	if (!layouts->slots)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; !error && id < types->count; id++) {
		if (is_compound(&types->types[id]))
			error = add_parts(layouts, id, id, 0, 0);
	}
	if (error) {
		layouts_deinit(layouts);
		return error;
	}
	if (layouts->part_count > 0)
		qsort(layouts->parts, layouts->part_count, sizeof(*layouts->parts), compare_parts);
	return NULL;
}

void layouts_deinit(struct layouts *layouts)
{
	for (uint32_t i = 0; layouts->slots && i < layouts->types->count; i++)
		free(layouts->slots[i].slots);
	free(layouts->slots);
	free(layouts->parts);
}

// --- fitting -----------------------------------------------------------------

static size_t first_part(const struct layouts *layouts, heap_type_id part, uint64_t offset)
{
	const struct layout_part key = { .part = part, .offset = offset };
	size_t low = 0, high = layouts->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_parts(&layouts->parts[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum wholes {
	WHOLES_NONE,
	WHOLES_ONE,
	WHOLES_SEVERAL,
};

// The types of `size` bytes that have `part` at `offset`.
static enum wholes find_whole(const struct layouts *layouts, heap_type_id part, uint64_t offset,
			      uint64_t size, heap_type_id *result)
{
	enum wholes found = WHOLES_NONE;

	for (size_t i = first_part(layouts, part, offset);
	     i < layouts->part_count && layouts->parts[i].part == part &&
	     layouts->parts[i].offset == offset;
	     i++) {
		heap_type_id whole = layouts->parts[i].whole;

		if (layouts->types->types[whole].size != size)
			continue;
		// A union's only member and a struct's only member are the same bytes: the
		// outer one says more.
		if (found == WHOLES_ONE && whole != *result) {
			enum wholes nested = WHOLES_SEVERAL;

			for (size_t j = first_part(layouts, *result, 0);
			     j < layouts->part_count && layouts->parts[j].part == *result &&
			     layouts->parts[j].offset == 0;
			     j++) {
				if (layouts->parts[j].whole == whole)
					nested = WHOLES_ONE;
			}
			if (nested == WHOLES_SEVERAL)
				return WHOLES_SEVERAL;
		}
		found = WHOLES_ONE;
		*result = whole;
	}
	return found;
}

static bool is_part_inside(const struct layouts *layouts, heap_type_id part)
{
	for (size_t i = first_part(layouts, part, 1);
	     i < layouts->part_count && layouts->parts[i].part == part; i++)
		return true;
	return false;
}

static bool fit_flexible(const struct heap_types *types, heap_type_id type, uint64_t size,
			 struct layout_claim *claim)
{
	uint64_t offset;
	heap_type_id element;

	if (!heap_types_flexible(types, type, &offset, &element) || size < offset)
		return false;

	uint64_t stride = heap_types_size(types, element);

	if (stride == 0)
		return false;
	*claim = (struct layout_claim){ LAYOUT_FLEXIBLE, type, 1 + (size - offset) / stride };
	return true;
}

static bool is_text(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_BASE && type->size == 1;
}

static struct layout_claim fit_start(const struct layouts *layouts, heap_type_id type,
				     uint64_t size)
{
	const struct heap_types *types = layouts->types;
	uint64_t stride = heap_types_size(types, type);
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	heap_type_id whole;

	if (stride == 0 && !fit_flexible(types, type, size, &claim))
		return claim;
	if (claim.fit == LAYOUT_FLEXIBLE)
		return claim;
	if (is_text(&types->types[type]))
		return (struct layout_claim){ LAYOUT_TEXT, type, size };
	if (size < stride)
		return fit_flexible(types, type, size, &claim) ? claim
							       : (struct layout_claim){
									 LAYOUT_NONE,
									 HEAP_NO_TYPE,
									 0,
								 };
	if (size == stride)
		return (struct layout_claim){ LAYOUT_EXACT, type, 1 };
	if (fit_flexible(types, type, size, &claim))
		return claim;
	switch (find_whole(layouts, type, 0, size, &whole)) {
	case WHOLES_ONE:
		return (struct layout_claim){ LAYOUT_EMBEDDED, whole, 1 };
	case WHOLES_SEVERAL:
		return claim;
	case WHOLES_NONE:
		break;
	}
	return (struct layout_claim){ size % stride == 0 ? LAYOUT_ARRAY : LAYOUT_SLACK, type,
				      size / stride };
}

struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee,
				uint64_t interior, uint64_t size)
{
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	const struct heap_type *type = &layouts->types->types[pointee];
	heap_type_id whole;

	if (type->kind == HEAP_TYPE_UNKNOWN || type->kind == HEAP_TYPE_FUNCTION ||
	    (type->flags & HEAP_TYPE_DECLARATION))
		return none;
	if (type->kind == HEAP_TYPE_ARRAY) {
		// A pointer to an array points to its first element.
		pointee = heap_types_strip(layouts->types, type->target);
		type = &layouts->types->types[pointee];
	}
	// Less than a pointer's alignment is a tag in its low bits, not a place.
	if (interior < 8)
		return fit_start(layouts, pointee, size);
	if (!is_compound(type) || type->size == 0)
		return none;
	switch (find_whole(layouts, pointee, interior, size, &whole)) {
	case WHOLES_ONE:
		return (struct layout_claim){ LAYOUT_EMBEDDED, whole, 1 };
	case WHOLES_SEVERAL:
		return none;
	case WHOLES_NONE:
		break;
	}
	// What is a part of structs elsewhere, a list's link, is one here too.
	if (interior % type->size == 0 && size % type->size == 0 &&
	    !is_part_inside(layouts, pointee))
		return (struct layout_claim){ LAYOUT_ELEMENT, pointee, size / type->size };
	return none;
}
