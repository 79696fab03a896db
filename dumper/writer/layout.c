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

// --- common headers ----------------------------------------------------------

/*
 * Inheritance as C does it: structs that begin with the same members, often by a macro,
 * are handled through pointers to a struct that has those alone. Each beginning of each
 * struct gets a hash; a struct whose members hash to another one's beginning is its header.
 */
enum header {
	HEADER_NONE,
	HEADER,
	HEADER_OF_ANY_SIZE, // of a struct with a flexible array
};

struct beginning {
	uint64_t hash;
	heap_type_id type;
	uint32_t members;
};

struct beginnings {
	struct beginning *all; // [count] by hash
	size_t count;
};

static uint64_t add_to_hash(const struct heap_types *types, uint64_t hash,
			    const struct heap_member *member)
{
	heap_type_id type = heap_types_strip(types, member->type);
	uint64_t pointers = 0;

	// One pointer may stand in the table several times: it counts by what it points to.
	for (; types->types[type].kind == HEAP_TYPE_POINTER; pointers++)
		type = heap_types_strip(types, types->types[type].target);

	const uint64_t values[] = { member->offset, type, pointers,
				    (uint64_t)member->bit_offset << 8 | member->bit_size };

	for (const char *at = heap_types_string(types, member->name); *at; at++)
		hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		hash = (hash ^ values[i]) * UINT64_C(0x9e3779b97f4a7c15) >> 1;
	return hash;
}

static bool is_plain_struct(const struct heap_type *type)
{
	return type->kind == HEAP_TYPE_STRUCT && type->members >= 2 && type->size > 0;
}

static int compare_beginnings(const void *left, const void *right)
{
	const struct beginning *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

static void find_beginnings(const struct heap_types *types, struct beginnings *beginnings)
{
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];
		uint64_t hash = 0;

		for (uint32_t i = 0; is_plain_struct(type) && i < type->members; i++) {
			hash = add_to_hash(types, hash, &types->members[type->first_member + i]);
			beginnings->all[beginnings->count++] =
				(struct beginning){ hash, id, i + 1 };
		}
	}
	if (beginnings->count > 0)
		qsort(beginnings->all, beginnings->count, sizeof(*beginnings->all),
		      compare_beginnings);
}

// Adds `header` as a part of all the longer structs of a run of equal beginnings.
HEAP_MUST_CHECK
static struct heap_error *add_header(struct layouts *layouts, const struct beginning *run,
				     size_t length, heap_type_id header)
{
	const struct heap_type *types = layouts->types->types;
	struct heap_error *error = NULL;

	for (size_t i = 0; !error && i < length; i++) {
		if (run[i].members == types[run[i].type].members)
			continue;
		if (layouts->header[header] != HEADER_OF_ANY_SIZE)
			layouts->header[header] =
				heap_types_flexible(layouts->types, run[i].type, NULL, NULL)
					? HEADER_OF_ANY_SIZE
					: HEADER;
		error = add_part(layouts, &(struct layout_part){ header, run[i].type, 0 });
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *add_headers(struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;
	struct beginnings beginnings = {
		.all = malloc(((size_t)types->member_count + 1) * sizeof(*beginnings.all)),
	};
	struct heap_error *error = NULL;

	layouts->header = calloc(types->count, 1);
	if (!beginnings.all || !layouts->header) {
		free(beginnings.all);
		return heap_error_out_of_memory();
	}
	find_beginnings(types, &beginnings);
	for (size_t i = 0, end; !error && i < beginnings.count; i = end) {
		const struct beginning *run = &beginnings.all[i];

		for (end = i + 1; end < beginnings.count && beginnings.all[end].hash == run->hash;)
			end++;
		for (size_t j = 0; !error && j < end - i; j++) {
			if (run[j].members == types->types[run[j].type].members)
				error = add_header(layouts, run, end - i, run[j].type);
		}
	}
	free(beginnings.all);
	return error;
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
	if (!error)
		error = add_headers(layouts);
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
	free(layouts->header);
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

// What the search for a whole is told.
struct search {
	heap_type_id part;
	uint64_t offset;
	uint64_t size;
	const struct layout_witness *witness; // NULL: all agree
};

// Whether `outer` has `inner` as its first part: then it says more of the same bytes.
static bool contains_first(const struct layouts *layouts, heap_type_id outer, heap_type_id inner)
{
	for (size_t i = first_part(layouts, inner, 0);
	     i < layouts->part_count && layouts->parts[i].part == inner &&
	     layouts->parts[i].offset == 0;
	     i++) {
		if (layouts->parts[i].whole == outer)
			return true;
	}
	return false;
}

// The types of the size that have the part at the offset.
static enum wholes search_whole(const struct layouts *layouts, const struct search *search,
				heap_type_id *result)
{
	const struct layout_witness *witness = search->witness;
	enum wholes found = WHOLES_NONE;

	for (size_t i = first_part(layouts, search->part, search->offset);
	     i < layouts->part_count && layouts->parts[i].part == search->part &&
	     layouts->parts[i].offset == search->offset;
	     i++) {
		heap_type_id whole = layouts->parts[i].whole;

		if (layouts->types->types[whole].size != search->size ||
		    (witness && !witness->agrees(witness->context, whole)))
			continue;
		if (found == WHOLES_ONE && whole != *result &&
		    !contains_first(layouts, whole, *result))
			return WHOLES_SEVERAL;
		found = WHOLES_ONE;
		*result = whole;
	}
	return found;
}

// Asks the witness only where that is needed: it looks at the block's pointers.
static enum wholes find_whole(const struct layouts *layouts, struct search search,
			      heap_type_id *result)
{
	const struct layout_witness *witness = search.witness;

	search.witness = NULL;

	enum wholes found = search_whole(layouts, &search, result);

	if (found != WHOLES_SEVERAL || !witness)
		return found;
	search.witness = witness;
	found = search_whole(layouts, &search, result);
	return found == WHOLES_ONE ? WHOLES_ONE : WHOLES_SEVERAL;
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

// A struct of nothing but pointers to its own kind: the link of a list, of free blocks for
// one, which lies over memory that is something else. It is never what an array is made of.
static bool is_link(const struct heap_types *types, heap_type_id type)
{
	const struct heap_type *compound = &types->types[type];

	for (uint32_t i = 0; is_compound(compound) && i < compound->members; i++) {
		heap_type_id member =
			heap_types_strip(types, types->members[compound->first_member + i].type);

		if (types->types[member].kind != HEAP_TYPE_POINTER ||
		    heap_types_strip(types, types->types[member].target) != type)
			return false;
	}
	return is_compound(compound) && compound->members > 0;
}

static struct layout_claim fit_start(const struct layouts *layouts, heap_type_id type,
				     uint64_t size, const struct layout_witness *witness)
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
	switch (find_whole(layouts, (struct search){ type, 0, size, witness }, &whole)) {
	case WHOLES_ONE:
		return (struct layout_claim){ LAYOUT_EMBEDDED, whole, 1 };
	case WHOLES_SEVERAL:
		return claim;
	case WHOLES_NONE:
		break;
	}
	// A header alone does not make up a larger block, unless that is a whole number of them
	// and nothing that has the header can be so large.
	if (layouts->header[type] == HEADER_OF_ANY_SIZE || is_link(types, type) ||
	    (layouts->header[type] == HEADER && size % stride != 0))
		return claim;
	return (struct layout_claim){ size % stride == 0 ? LAYOUT_ARRAY : LAYOUT_SLACK, type,
				      size / stride };
}

struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee,
				uint64_t interior, uint64_t size,
				const struct layout_witness *witness)
{
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	const struct heap_type *type = &layouts->types->types[pointee];
	heap_type_id whole;

	if (type->kind == HEAP_TYPE_UNKNOWN || type->kind == HEAP_TYPE_FUNCTION ||
	    (type->flags & HEAP_TYPE_DECLARATION))
		return none;
	if (type->kind == HEAP_TYPE_ARRAY) {
		bool is_vector = type->flags & HEAP_TYPE_FLEXIBLE;

		// A pointer to an array points to its first element.
		pointee = heap_types_strip(layouts->types, type->target);
		type = &layouts->types->types[pointee];
		// Of however many: what has one in front is not looked for.
		if (is_vector && interior == 0 && type->size > 0 && size % type->size == 0 &&
		    !(type->flags & HEAP_TYPE_CHARACTER))
			return (struct layout_claim){ LAYOUT_EXACT, pointee, size / type->size };
	}
	// Less than a pointer's alignment is a tag in its low bits, not a place.
	if (interior < 8)
		return fit_start(layouts, pointee, size, witness);
	if (!is_compound(type) || type->size == 0)
		return none;
	switch (find_whole(layouts, (struct search){ pointee, interior, size, witness }, &whole)) {
	case WHOLES_ONE:
		return (struct layout_claim){ LAYOUT_EMBEDDED, whole, 1 };
	case WHOLES_SEVERAL:
		return none;
	case WHOLES_NONE:
		break;
	}
	// What is a part of structs elsewhere, a list's link, is one here too.
	if (interior % type->size == 0 && size % type->size == 0 &&
	    !is_part_inside(layouts, pointee) && !is_link(layouts->types, pointee))
		return (struct layout_claim){ LAYOUT_ELEMENT, pointee, size / type->size };
	return none;
}
