// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/layout.h"

#include "dumper/writer/base/progress.h"

#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	MAX_ELEMENTS = 64, // of a struct that consists of them
	MAX_DEPTH = 16,
	PADDING = 16, // bytes that a request may be rounded up by
	MAX_VISITS =
		1 << 14, // of types in a type: with unions in unions they multiply at each depth

	// True if there are arrays of bytes in a type.
	BYTES_UNKNOWN = 0,
	BYTES_NONE,
	BYTES_FOUND,
};

// --- facts -------------------------------------------------------------------

static bool is_ordered(const struct layouts *layouts, const struct heap_type *type)
{
	const struct heap_types *types = layouts->types;
	uint64_t offset = 0, end = 0;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		uint64_t own_end = member->offset + heap_types_size(types, member->type);

		if (member->offset < offset || own_end < end)
			return false;
		offset = member->offset;
		end = own_end;
	}
	return true;
}

static uint64_t enumerated_bits(const struct heap_types *types, const struct heap_type *type)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < type->members; i++)
		bits |= (uint64_t)types->enumerators[type->first_member + i].value;
	return bits;
}

// True for an array of bytes, as it may be beside a link in a union.
static bool is_room(const struct heap_types *types, const struct heap_type *type)
{
	const struct heap_type *element = &types->types[heap_types_strip(types, type->target)];

	return type->kind == HEAP_TYPE_ARRAY && element->kind == HEAP_TYPE_BASE &&
	       element->size == 1;
}

// True for a struct of nothing but pointers to its own kind, or a union of such a pointer and bytes: the unit of what a
// program cuts up, which only links what is free.
static bool is_link(const struct heap_types *types, heap_type_id id)
{
	const struct heap_type *type = &types->types[id];
	uint32_t links = 0;

	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_type *member = &types->types[heap_types_strip(
			types, types->members[type->first_member + i].type)];
		bool is_own = member->kind == HEAP_TYPE_POINTER &&
			      heap_types_strip(types, member->target) == id;

		if (!is_own && !(type->kind == HEAP_TYPE_UNION && is_room(types, member)))
			return false;
		links += is_own;
	}
	return links > 0;
}

static void find_facts(struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];
	struct layout_facts *facts = &layouts->facts[id];

	facts->size = heap_types_size(types, id);
	facts->stripped = heap_types_strip(types, id);
	facts->is_flexible = heap_types_flexible(types, id, &facts->start, &facts->element);
	// By its size, any block may be a counted array: only its content decides.
	facts->fits_any = facts->is_flexible && heap_types_size(types, facts->element) > 0 &&
			  heap_types_counted(types, id) == HEAP_NO_TYPE;
	facts->is_ordered = heap_types_has_members(type) && is_ordered(layouts, type);
	facts->is_compound = heap_types_has_members(type) && type->size > 0 &&
			     !(type->flags & HEAP_TYPE_DECLARATION);
	facts->is_link = is_link(types, id);
	facts->bits = type->kind == HEAP_TYPE_ENUM ? enumerated_bits(types, type) : 0;
}

bool layouts_is_copy(const struct layouts *layouts, heap_type_id one, heap_type_id other)
{
	const struct heap_type *a = &layouts->types->types[one], *b = &layouts->types->types[other];

	return one == other || (heap_types_has_members(a) && a->kind == b->kind && a->name != 0 &&
				a->name == b->name && a->size == b->size);
}

HEAP_MUST_CHECK
static struct heap_error *note_copies(struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;
	CLEANUP(heap_hash_table_deinit) struct heap_hash_table by_name = { 0 };

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		if (!heap_types_has_members(type) || type->name == 0 || type->size == 0)
			continue;

		uint64_t hash = heap_hash_pair(type->name, type->size);
		uint32_t other =
			heap_hash_find(&by_name, hash, at, layouts_is_copy(layouts, at, id));

		if (other == HEAP_HASH_NONE)
			HEAP_TRY(heap_hash_add(&by_name, hash, id));
		else
			layouts->facts[id].has_copies = layouts->facts[other].has_copies = true;
	}
	return NULL;
}

static void note_bases(struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if ((member->flags & HEAP_MEMBER_BASE) && member->offset == 0)
			layouts->facts[heap_types_strip(types, member->type)].is_base = true;
	}
}

// Adds a type to those that code refers to.
static void refer(struct layouts *layouts, heap_type_id *stack, uint32_t *depth, heap_type_id id)
{
	id = heap_types_strip(layouts->types, id);
	while (layouts->types->types[id].kind == HEAP_TYPE_ARRAY)
		id = heap_types_strip(layouts->types, layouts->types->types[id].target);
	if (layouts->facts[id].is_candidate)
		return;
	layouts->facts[id].is_candidate = true;
	stack[(*depth)++] = id;
}

/*
 * An unnamed struct without pointers to it, and which is a part only of such structs, belongs to a
 * static variable with an initialiser. No code can allocate one. All others are candidates.
 */
HEAP_MUST_CHECK
static struct heap_error *find_candidates(struct layouts *layouts)
{
	const struct heap_types *types = layouts->types;
	CLEANUP_FREE heap_type_id *stack = malloc(((size_t)types->count + 1) * sizeof(*stack));
	uint32_t depth = 0;

	if (!stack)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_POINTER || type->kind == HEAP_TYPE_REFERENCE ||
		    type->kind == HEAP_TYPE_TYPEDEF)
			refer(layouts, stack, &depth, type->target);
		else if (!heap_types_has_members(type) || type->name != 0 ||
			 heap_types_alias(types, id) ||
			 heap_types_counted(types, id) != HEAP_NO_TYPE)
			refer(layouts, stack, &depth, id);
	}
	while (depth > 0) {
		const struct heap_type *type = &types->types[stack[--depth]];

		for (uint32_t i = 0; heap_types_has_members(type) && i < type->members; i++)
			refer(layouts, stack, &depth, types->members[type->first_member + i].type);
	}
	return NULL;
}

struct heap_error *layouts_init(struct layouts *layouts, const struct heap_types *types)
{
	*layouts = (struct layouts){
		.types = types,
		.bytes = calloc(types->count, sizeof(*layouts->bytes)),
		.facts = calloc(types->count, sizeof(*layouts->facts)),
	};
	if (!layouts->bytes || !layouts->facts || !part_answers_init(&layouts->answers))
		return heap_error_out_of_memory();
	HEAP_TRY(heap_slot_table_init(&layouts->slots, types));
	for (heap_type_id id = 0; id < types->count; id++)
		find_facts(layouts, id);
	for (heap_type_id id = 0; id < types->count; id++)
		note_bases(layouts, id);
	HEAP_TRY(note_copies(layouts));
	HEAP_TRY(find_candidates(layouts));
	return layouts_index_init(layouts);
}

void layouts_deinit(struct layouts *layouts)
{
	heap_slot_table_deinit(&layouts->slots);
	layouts_index_deinit(layouts);
	part_answers_deinit(&layouts->answers);
	free(layouts->bytes);
	free(layouts->facts);
}

// --- members -----------------------------------------------------------------

// The number of the first member that ends behind an offset. Where members overlap: 0.
static uint32_t first_member(const struct layouts *layouts, heap_type_id id, uint64_t offset)
{
	const struct heap_type *type = &layouts->types->types[id];
	const struct heap_member *members = layouts->types->members + type->first_member;

	if (!layouts->facts[id].is_ordered)
		return 0;
	return heap_partition_point(i, 0, type->members,
				    members[i].offset + layouts_size(layouts, members[i].type) <=
					    offset);
}

// The next member, from number *at on, that holds an offset; NULL if there is none.
static const struct heap_member *next_member(const struct layouts *layouts, heap_type_id id,
					     uint64_t offset, uint32_t *at)
{
	const struct heap_type *type = &layouts->types->types[id];

	while (*at < type->members) {
		const struct heap_member *member =
			&layouts->types->members[type->first_member + (*at)++];

		progress_step();
		if (offset < member->offset && layouts->facts[id].is_ordered)
			return NULL;
		if (offset >= member->offset &&
		    offset - member->offset < layouts_size(layouts, member->type) &&
		    !(member->flags & (HEAP_MEMBER_VIRTUAL_BASE | HEAP_MEMBER_BIT_FIELD)))
			return member;
	}
	return NULL;
}

heap_type_id layouts_step_in(const struct layouts *layouts, heap_type_id id, uint64_t *offset)
{
	heap_type_id stripped = layouts_strip(layouts, id);
	const struct heap_type *type = &layouts->types->types[stripped];
	const struct heap_member *member;
	uint32_t at;

	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t stride = layouts_size(layouts, type->target);

		*offset = stride > 0 ? *offset % stride : *offset;
		return type->target;
	}
	if (!heap_types_has_members(type))
		return HEAP_NO_TYPE;
	at = first_member(layouts, stripped, *offset);
	member = next_member(layouts, stripped, *offset, &at);
	if (!member)
		return HEAP_NO_TYPE;
	*offset -= member->offset;
	return member->type;
}

// --- fitting -----------------------------------------------------------------

static bool is_raw(const struct layouts *layouts, heap_type_id id, uint64_t offset, int depth,
		   uint32_t *left)
{
	const struct heap_types *types = layouts->types;

	id = layouts_strip(layouts, id);

	const struct heap_type *type = &types->types[id];

	if (depth == MAX_DEPTH || *left == 0)
		return false;
	--*left;
	if (type->kind == HEAP_TYPE_ARRAY) {
		heap_type_id element = layouts_strip(layouts, type->target);
		uint64_t stride = layouts_size(layouts, element);

		return layouts_is_character(layouts, element) ||
		       (stride > 0 && is_raw(layouts, element, offset % stride, depth + 1, left));
	}
	if (!heap_types_has_members(type))
		return false;

	uint32_t at = first_member(layouts, id, offset);
	const struct heap_member *member;

	while ((member = next_member(layouts, id, offset, &at))) {
		if (is_raw(layouts, member->type, offset - member->offset, depth + 1, left))
			return true;
	}
	return false;
}

// True if there is an array of bytes anywhere in a type. Most have none.
static bool has_bytes(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;

	id = layouts_strip(layouts, id);

	const struct heap_type *type = &types->types[id];
	uint8_t known = __atomic_load_n(&layouts->bytes[id], __ATOMIC_RELAXED);
	bool found = false;

	if (known != BYTES_UNKNOWN)
		return known == BYTES_FOUND;
	if (type->kind == HEAP_TYPE_ARRAY)
		found = layouts_is_character(layouts, layouts_strip(layouts, type->target)) ||
			has_bytes(layouts, type->target);
	for (uint32_t i = 0; !found && heap_types_has_members(type) && i < type->members; i++)
		found = has_bytes(layouts, types->members[type->first_member + i].type);
	__atomic_store_n(&layouts->bytes[id], found ? BYTES_FOUND : BYTES_NONE, __ATOMIC_RELAXED);
	return found;
}

bool layouts_has_raw(const struct layouts *layouts, heap_type_id whole)
{
	return layouts_is_character(layouts, whole) || has_bytes(layouts, whole);
}

bool layouts_is_raw(const struct layouts *layouts, heap_type_id whole, uint64_t offset)
{
	const struct layout_facts *facts = &layouts->facts[whole];

	if (layouts_is_character(layouts, whole))
		return true;
	if (!has_bytes(layouts, whole))
		return false;
	if (facts->is_flexible && offset >= facts->start)
		return layouts_is_character(layouts, layouts_strip(layouts, facts->element));
	if (facts->size == 0)
		return false;

	uint32_t left = MAX_VISITS;
	bool found = is_raw(layouts, whole, offset % facts->size, 0, &left);

	progress_steps(MAX_VISITS - left);
	return found;
}

bool layouts_has_pointer(const struct layouts *layouts, heap_type_id whole, uint64_t offset,
			 heap_type_id pointee)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, whole);

	uint32_t low = 0, high = slots ? slots->count : 0;

	// Not heap_partition_point(): each step counts as progress, and the first hit ends it.
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct heap_slot *slot = &slots->list[middle];

		progress_step();
		if (slot->offset == offset && slot->pointee == pointee)
			return true;
		if (slot->offset < offset || (slot->offset == offset && slot->pointee < pointee))
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

// The slow path, for elements of large arrays that the index omits, and for copies.
//
// @param left  types that may still be visited
static bool contains(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
		     uint64_t offset, int depth, uint32_t *left)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[whole];

	if (depth == MAX_DEPTH || *left == 0)
		return false;
	--*left;
	if (offset == 0 && layouts_is_copy(layouts, whole, part))
		return true;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t stride = layouts_size(layouts, type->target);

		return stride > 0 && contains(layouts, layouts_strip(layouts, type->target), part,
					      offset % stride, depth + 1, left);
	}
	if (!heap_types_has_members(type))
		return false;

	uint32_t at = first_member(layouts, whole, offset);
	const struct heap_member *member;

	while ((member = next_member(layouts, whole, offset, &at))) {
		if (contains(layouts, layouts_strip(layouts, member->type), part,
			     offset - member->offset, depth + 1, left))
			return true;
	}
	return false;
}

const struct heap_slot *layouts_own_pointer(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee == type)
			return &slots->list[i];
	}
	return NULL;
}

bool layouts_has(const struct layouts *layouts, heap_type_id whole, heap_type_id part,
		 uint64_t offset)
{
	const struct part_question question = { whole, part, offset };
	uint32_t left = MAX_VISITS;
	bool found;

	if (whole == part && offset == 0)
		return true;
	if (part_answers_find(&layouts->answers, &question, &found)) {
		progress_step();
		return found;
	}
	found = layouts_is_indexed(layouts, whole, part, offset) ||
		contains(layouts, whole, part, offset, 0, &left);
	progress_steps(MAX_VISITS - left);
	part_answers_keep(&layouts->answers, &question, found);
	return found;
}

bool layouts_consists_of(const struct layouts *layouts, heap_type_id whole, heap_type_id element)
{
	uint64_t size = layouts_size(layouts, whole), stride = layouts_size(layouts, element);

	if (stride == 0 || size <= stride || size > MAX_ELEMENTS * stride || size % stride != 0)
		return false;
	for (uint64_t offset = 0; offset < size; offset += stride) {
		progress_step();
		if (!layouts_has(layouts, whole, element, offset))
			return false;
	}
	return true;
}

static bool fit_flexible(const struct layouts *layouts, heap_type_id type, uint64_t size,
			 uint64_t slack, struct layout_claim *claim)
{
	const struct layout_facts *facts = &layouts->facts[type];

	if (!facts->fits_any || size < facts->start)
		return false;

	uint64_t element = layouts_size(layouts, facts->element), rest = size - facts->start;

	// Without room for an element, a block is no larger than the header and its padding.
	if (rest < element && rest > slack + PADDING)
		return false;
	*claim = (struct layout_claim){ LAYOUT_FLEXIBLE, type, 1 + rest / element };
	return true;
}

heap_type_id layouts_whole_member(const struct layouts *layouts, heap_type_id id)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	for (uint32_t i = 0; type->kind == HEAP_TYPE_UNION && i < type->members; i++) {
		heap_type_id member =
			layouts_strip(layouts, types->members[type->first_member + i].type);

		if (layouts_size(layouts, member) == type->size)
			return member;
	}
	return id;
}

heap_type_id layouts_element(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_types *types = layouts->types;

	type = layouts_strip(layouts, type);
	for (int i = 0; i < MAX_DEPTH && types->types[type].kind == HEAP_TYPE_ARRAY; i++)
		type = layouts_strip(layouts, types->types[type].target);
	return type;
}

// The pointee, if it is a complete object type; of an array, its element type.
static heap_type_id meaning(const struct layouts *layouts, heap_type_id pointee)
{
	const struct heap_type *type = &layouts->types->types[pointee];

	if (type->kind == HEAP_TYPE_UNKNOWN || type->kind == HEAP_TYPE_FUNCTION ||
	    (type->flags & HEAP_TYPE_DECLARATION))
		return HEAP_NO_TYPE;
	return layouts_element(layouts, pointee);
}

struct layout_claim layouts_fit(const struct layouts *layouts, heap_type_id pointee, uint64_t size,
				uint64_t slack)
{
	const struct heap_types *types = layouts->types;
	heap_type_id type = meaning(layouts, pointee);
	uint64_t stride = layouts_size(layouts, type);
	struct layout_claim claim = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };

	if (type == HEAP_NO_TYPE || layouts_is_character(layouts, type))
		return claim;
	if (stride > 0 && size >= stride && size - stride <= slack)
		return (struct layout_claim){ LAYOUT_EXACT, type, 1 };
	// A vector has its parts, however many elements it has.
	if (types->types[pointee].kind == HEAP_TYPE_ARRAY &&
	    (types->types[pointee].flags & HEAP_TYPE_FLEXIBLE) && stride > 0 &&
	    size % stride <= slack)
		return (struct layout_claim){ LAYOUT_EXACT, type, size / stride };
	if (!layouts->facts[type].is_page || size < LAYOUT_LEAST_PAGE)
		fit_flexible(layouts, type, size, slack, &claim);
	return claim;
}

struct layout_claim layouts_fit_weakly(const struct layouts *layouts, heap_type_id pointee,
				       uint64_t interior, uint64_t size, uint64_t slack)
{
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	const struct heap_types *types = layouts->types;
	heap_type_id type = meaning(layouts, pointee);
	uint64_t stride = layouts_size(layouts, type);

	if (type == HEAP_NO_TYPE || stride == 0)
		return none;

	bool is_whole = size % stride <= slack;

	if (layouts->facts[type].is_page && size >= LAYOUT_LEAST_PAGE)
		return none;
	if (!layouts_is_start(interior)) {
		// A type that is a part of structs elsewhere, such as a list's link, is one here too.
		if (!heap_types_has_members(&types->types[type]) || interior % stride != 0 ||
		    !is_whole || layouts_is_part_inside(layouts, type) ||
		    layouts_is_link(layouts, type))
			return none;
		return (struct layout_claim){ LAYOUT_ELEMENT, type, size / stride };
	}
	if (layouts_is_character(layouts, type))
		return (struct layout_claim){ LAYOUT_TEXT, type, size };
	// A header alone does not make up a larger block, unless that is a whole number of them
	// and nothing that has the header can be so large. Usable sizes cannot decide that.
	if (size < stride || layouts->header[type] == LAYOUT_HEADER_OF_ANY_SIZE ||
	    layouts_is_link(layouts, type) || layouts_is_ambiguous(layouts, type, size, slack) ||
	    (layouts->header[type] == LAYOUT_HEADER && (!is_whole || slack > 0)))
		return none;
	return (struct layout_claim){ is_whole ? LAYOUT_ARRAY : LAYOUT_SLACK, type, size / stride };
}

// A combination has no bit that no enumerator has; nor has an enumerator.
bool layouts_is_enumerator(const struct layouts *layouts, heap_type_id type, uint64_t value,
			   uint64_t mask)
{
	return layouts->types->types[type].members == 0 ||
	       (value & ~(layouts->facts[type].bits & mask)) == 0;
}

bool layouts_is_pointer(const struct layouts *layouts, heap_type_id type)
{
	return layouts->types->types[type].kind == HEAP_TYPE_POINTER;
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

bool layouts_has_sentinel(const struct layouts *layouts, heap_type_id whole, uint64_t offset,
			  heap_type_id node)
{
	enum {
		MAX_BASES = 4
	};
	const struct heap_types *types = layouts->types;

	for (int depth = 0; depth < MAX_BASES && layouts_is_compound(layouts, node) &&
			    types->types[node].members > 0;
	     depth++) {
		const struct heap_member *first = &types->members[types->types[node].first_member];

		node = layouts_strip(layouts, first->type);
		if (first->offset != 0)
			return false;
		if (layouts_is_compound(layouts, node) && layouts_has(layouts, whole, node, offset))
			return true;
	}
	return false;
}

static bool are_integers(const struct layouts *layouts, heap_type_id id, int depth, uint32_t *left)
{
	enum {
		MAX_MEMBER_DEPTH = 4 // of structs in structs
	};
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[layouts_strip(layouts, id)];

	if (!heap_types_has_members(type))
		return type->kind == HEAP_TYPE_ENUM ||
		       (type->kind == HEAP_TYPE_BASE && type->size > 1 &&
			!(type->flags & HEAP_TYPE_FLOAT));
	for (uint32_t i = 0; i < type->members; i++) {
		if (*left == 0 || depth == MAX_MEMBER_DEPTH)
			return false;
		--*left;
		if (!are_integers(layouts, types->members[type->first_member + i].type, depth + 1,
				  left))
			return false;
	}
	return true;
}

bool layouts_has_integers_alone(const struct layouts *layouts, heap_type_id id)
{
	uint32_t left = 64; // members

	return are_integers(layouts, id, 0, &left);
}
