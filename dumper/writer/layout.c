// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/layout.h"

#include <stdlib.h>

enum {
	// Of an array inside a struct, as many elements are known as parts.
	MAX_PART_ELEMENTS = 64,
	MAX_DEPTH = 16,

	// Whether there are arrays of bytes in a type.
	BYTES_UNKNOWN = 0,
	BYTES_NONE,
	BYTES_FOUND,
};

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
	struct heap_error *error;

	*layouts = (struct layouts){
		.types = types,
		.bytes = calloc(types->count, sizeof(*layouts->bytes)),
	};
	error = layouts->bytes ? heap_slot_table_init(&layouts->slots, types)
			       : heap_error_out_of_memory();
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
	heap_slot_table_deinit(&layouts->slots);
	free(layouts->parts);
	free(layouts->header);
	free(layouts->bytes);
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

static bool is_raw(const struct layouts *layouts, heap_type_id id, uint64_t offset, int depth)
{
	const struct heap_types *types = layouts->types;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];

	if (depth == MAX_DEPTH)
		return false;
	if (type->kind == HEAP_TYPE_ARRAY) {
		heap_type_id element = heap_types_strip(types, type->target);
		uint64_t stride = heap_types_size(types, element);

		return layouts_is_character(layouts, element) ||
		       (stride > 0 && is_raw(layouts, element, offset % stride, depth + 1));
	}
	for (uint32_t i = 0; is_compound(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (offset >= member->offset &&
		    offset - member->offset < heap_types_size(types, member->type) &&
		    !(member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)) &&
		    is_raw(layouts, member->type, offset - member->offset, depth + 1))
			return true;
	}
	return false;
}

// Whether there is an array of bytes anywhere in a type. Most have none.
static bool has_bytes(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;

	id = heap_types_strip(types, id);

	const struct heap_type *type = &types->types[id];
	uint8_t known = __atomic_load_n(&layouts->bytes[id], __ATOMIC_RELAXED);
	bool found = false;

	if (known != BYTES_UNKNOWN)
		return known == BYTES_FOUND;
	if (type->kind == HEAP_TYPE_ARRAY)
		found = layouts_is_character(layouts, heap_types_strip(types, type->target)) ||
			has_bytes(layouts, type->target);
	for (uint32_t i = 0; !found && is_compound(type) && i < type->members; i++)
		found = has_bytes(layouts, types->members[type->first_member + i].type);
	__atomic_store_n(&layouts->bytes[id], found ? BYTES_FOUND : BYTES_NONE, __ATOMIC_RELAXED);
	return found;
}

bool layouts_is_raw(const struct layouts *layouts, heap_type_id whole, uint64_t offset)
{
	uint64_t size, start;
	heap_type_id element;

	if (layouts_is_character(layouts, whole))
		return true;
	if (!has_bytes(layouts, whole))
		return false;
	if (heap_types_flexible(layouts->types, whole, &start, &element) && offset >= start)
		return layouts_is_character(layouts, heap_types_strip(layouts->types, element));
	size = heap_types_size(layouts->types, whole);
	return size > 0 && is_raw(layouts, whole, offset % size, 0);
}

bool layouts_has_pointer(const struct layouts *layouts, heap_type_id whole, uint64_t offset,
			 heap_type_id pointee)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, whole);

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].offset == offset && slots->list[i].pointee == pointee)
			return true;
	}
	return false;
}

size_t layouts_wholes(const struct layouts *layouts, heap_type_id part, uint64_t offset,
		      size_t *first)
{
	size_t end = *first = first_part(layouts, part, offset);

	while (end < layouts->part_count && layouts->parts[end].part == part &&
	       layouts->parts[end].offset == offset)
		end++;
	return end;
}

bool layouts_is_compound(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_type *found = &layouts->types->types[type];

	return is_compound(found) && found->size > 0 && !(found->flags & HEAP_TYPE_DECLARATION);
}

static bool is_in_index(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
			uint64_t offset)
{
	const struct layout_part key = { .part = part, .whole = whole, .offset = offset };
	size_t low = 0, high = layouts->part_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_parts(&layouts->parts[middle], &key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < layouts->part_count && compare_parts(&layouts->parts[low], &key) == 0;
}

// Containers have copies of some types, which differ in what their pointers point to.
static bool is_same(const struct heap_types *types, heap_type_id one, heap_type_id other)
{
	const struct heap_type *a = &types->types[one], *b = &types->types[other];

	return one == other || (is_compound(a) && a->kind == b->kind && a->name != 0 &&
				a->name == b->name && a->size == b->size);
}

// The long way, for elements of large arrays that the index leaves out, and for copies.
static bool contains(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
		     uint64_t offset, int depth)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[whole];

	if (depth == MAX_DEPTH)
		return false;
	if (offset == 0 && is_same(types, whole, part))
		return true;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t stride = heap_types_size(types, type->target);

		return stride > 0 && contains(layouts, heap_types_strip(types, type->target), part,
					      offset % stride, depth + 1);
	}
	for (uint32_t i = 0; is_compound(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id inner = heap_types_strip(types, member->type);

		if (offset >= member->offset &&
		    offset - member->offset < heap_types_size(types, inner) &&
		    !(member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)) &&
		    contains(layouts, inner, part, offset - member->offset, depth + 1))
			return true;
	}
	return false;
}

bool layouts_has(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
		 uint64_t offset)
{
	return (whole == part && offset == 0) || is_in_index(layouts, whole, part, offset) ||
	       contains(layouts, whole, part, offset, 0);
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

	// Any block may be one of those, by its size: only its content tells.
	if (heap_types_counted(types, type) != HEAP_NO_TYPE ||
	    !heap_types_flexible(types, type, &offset, &element) || size < offset)
		return false;

	uint64_t stride = heap_types_size(types, element);

	if (stride == 0)
		return false;
	*claim = (struct layout_claim){ LAYOUT_FLEXIBLE, type, 1 + (size - offset) / stride };
	return true;
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

// The pointee, if it says anything; a pointer to an array points to its first element.
static heap_type_id meaning(const struct heap_types *types, heap_type_id pointee)
{
	const struct heap_type *type = &types->types[pointee];

	if (type->kind == HEAP_TYPE_UNKNOWN || type->kind == HEAP_TYPE_FUNCTION ||
	    (type->flags & HEAP_TYPE_DECLARATION))
		return HEAP_NO_TYPE;
	return type->kind == HEAP_TYPE_ARRAY ? heap_types_strip(types, type->target) : pointee;
}

struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee, uint64_t size)
{
	const struct heap_types *types = layouts->types;
	heap_type_id type = meaning(types, pointee);
	uint64_t stride = heap_types_size(types, type);
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };

	if (type == HEAP_NO_TYPE || layouts_is_character(layouts, type))
		return claim;
	if (stride > 0 && size == stride)
		return (struct layout_claim){ LAYOUT_EXACT, type, 1 };
	// What a vector has, it has of however many.
	if (types->types[pointee].kind == HEAP_TYPE_ARRAY &&
	    (types->types[pointee].flags & HEAP_TYPE_FLEXIBLE) && stride > 0 && size % stride == 0)
		return (struct layout_claim){ LAYOUT_EXACT, type, size / stride };
	fit_flexible(types, type, size, &claim);
	return claim;
}

struct layout_claim layouts_fit_weakly(const struct layouts *layouts, heap_type_id pointee,
				       uint64_t interior, uint64_t size)
{
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	const struct heap_types *types = layouts->types;
	heap_type_id type = meaning(types, pointee);
	uint64_t stride = heap_types_size(types, type);

	if (type == HEAP_NO_TYPE || stride == 0)
		return none;
	if (!layouts_is_start(interior)) {
		// What is a part of structs elsewhere, a list's link, is one here too.
		if (!is_compound(&types->types[type]) || interior % stride != 0 ||
		    size % stride != 0 || is_part_inside(layouts, type) || is_link(types, type))
			return none;
		return (struct layout_claim){ LAYOUT_ELEMENT, type, size / stride };
	}
	if (layouts_is_character(layouts, type))
		return (struct layout_claim){ LAYOUT_TEXT, type, size };
	// A header alone does not make up a larger block, unless that is a whole number of them
	// and nothing that has the header can be so large.
	if (size < stride || layouts->header[type] == HEADER_OF_ANY_SIZE || is_link(types, type) ||
	    (layouts->header[type] == HEADER && size % stride != 0))
		return none;
	return (struct layout_claim){ size % stride == 0 ? LAYOUT_ARRAY : LAYOUT_SLACK, type,
				      size / stride };
}

bool layouts_is_character(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_type *found = &layouts->types->types[type];

	return found->kind == HEAP_TYPE_BASE && found->size == 1;
}

bool layouts_says_more(const struct layouts *layouts, heap_type_id more, heap_type_id less)
{
	return more != less && layouts_has(layouts, more, less, 0);
}
