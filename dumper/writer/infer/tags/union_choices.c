// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/union_choices.h"

#include "dumper/writer/base/machine.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"

#include <string.h>

enum {
	MAX_DEPTH = 16,   // of members in members
	MAX_STEPS = 4096, // to find the unions around a pointer
	NEAR = 64,        // bytes between a tag and its pointer, at most
	BESIDE = 16,      // bytes between a length and its pointer, at most
	LEAST_BITS = 32,  // of a length
	PLACES = 1 << 16, // in types
};

enum unions {
	NOT_ASKED,
	NONE,
	SOME,
};

// True if a union with a pointer is a part of a type.
static bool has_unions(struct inference *inference, heap_type_id id, int depth)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id stripped = layouts_strip(&inference->layouts, id);
	const struct heap_type *type = &types->types[stripped];
	uint8_t *known = &inference->union_tags.has_unions[stripped];

	progress_step();
	if (*known != NOT_ASKED || depth == MAX_DEPTH)
		return *known == SOME;
	*known = NONE; // a type cannot have itself as a part
	if (type->kind == HEAP_TYPE_ARRAY) {
		*known = has_unions(inference, type->target, depth + 1) ? SOME : NONE;
	} else if (type->kind == HEAP_TYPE_UNION) {
		const struct heap_slots *slots =
			heap_slot_table_get(&inference->layouts.slots, stripped);

		*known = slots && slots->count > 0 ? SOME : NONE;
	}
	for (uint32_t i = 0; *known == NONE && heap_types_has_members(type) && i < type->members;
	     i++) {
		if (has_unions(inference, types->members[type->first_member + i].type, depth + 1))
			*known = SOME;
	}
	return *known == SOME;
}

static bool is_number(const struct heap_type *type)
{
	return type->size >= 1 && type->size <= 8 &&
	       (type->kind == HEAP_TYPE_ENUM ||
		(type->kind == HEAP_TYPE_BASE && !(type->flags & HEAP_TYPE_FLOAT)));
}

// Adds the numbers of a type that begins at @p start of the choice's struct, also those in other unions.
static void gather_numbers(const struct heap_types *types, heap_type_id id, uint64_t start,
			   int depth, bool is_in_union, struct union_choice *choice)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH || !heap_types_has_members(type))
		return;
	for (uint32_t i = 0; i < type->members && choice->number_count < UNION_NUMBERS; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own_id = heap_types_strip(types, member->type);
		const struct heap_type *own = &types->types[own_id];
		bool bits = member->flags & HEAP_MEMBER_BIT_FIELD;
		uint64_t at = start + member->offset;
		bool covers = at <= choice->offset && choice->offset - at < own->size;

		progress_step();
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE ||
		    (covers && own->kind == HEAP_TYPE_UNION))
			continue;
		if (!is_number(own))
			gather_numbers(types, member->type, at, depth + 1,
				       is_in_union || own->kind == HEAP_TYPE_UNION, choice);
		else if (!covers && at + NEAR >= choice->offset && at <= choice->offset + NEAR)
			choice->numbers[choice->number_count++] = (struct union_number){
				.type = own_id,
				.offset = (uint32_t)at,
				.size = (uint8_t)own->size,
				.shift = bits ? member->bit_offset : 0,
				.bits = bits ? member->bit_size : (uint8_t)(own->size * 8),
				.is_in_union = is_in_union,
			};
	}
}

// Adds a number if it may be the length of what the choice's pointer leads to.
static void add_length(struct union_choice *choice, const struct union_number *number)
{
	uint64_t behind = (uint64_t)number->offset + number->size;

	for (uint32_t i = 0; i < choice->length_count; i++) {
		if (choice->lengths[i].offset == number->offset &&
		    choice->lengths[i].bits == number->bits)
			return;
	}
	if (number->bits >= LEAST_BITS && choice->length_count < UNION_LENGTHS &&
	    (behind <= choice->offset || number->offset >= choice->offset + sizeof(uint64_t)) &&
	    behind + BESIDE > choice->offset &&
	    number->offset < choice->offset + sizeof(uint64_t) + BESIDE)
		choice->lengths[choice->length_count++] = *number;
}

// Adds the numbers that stand beside the choice's pointer in an alternative of its union, or in the struct around it.
static void gather_lengths(const struct heap_types *types, heap_type_id id, uint64_t start,
			   int depth, struct union_choice *choice)
{
	const struct heap_type *type = &types->types[heap_types_strip(types, id)];

	if (depth == MAX_DEPTH || !heap_types_has_members(type))
		return;
	for (uint32_t i = 0; i < type->members && choice->length_count < UNION_LENGTHS; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own_id = heap_types_strip(types, member->type);
		const struct heap_type *own = &types->types[own_id];
		bool bits = member->flags & HEAP_MEMBER_BIT_FIELD;
		uint64_t at = start + member->offset;

		progress_step();
		if (member->flags & HEAP_MEMBER_VIRTUAL_BASE)
			continue;
		if (!is_number(own))
			gather_lengths(types, own_id, at, depth + 1, choice);
		else if (!bits)
			add_length(choice, &(struct union_number){
						   .type = own_id,
						   .offset = (uint32_t)at,
						   .size = (uint8_t)own->size,
						   .bits = (uint8_t)(own->size * 8),
					   });
	}
}

// Adds the bits above the address in the pointer itself: values of a word have their tag there, with or without a
// member of the union that tells it. Where nothing is there, all pointers have 0.
static void add_upper_bits(struct union_choice *choice)
{
	choice->numbers[choice->number_count++] = (struct union_number){
		.type = HEAP_NO_TYPE,
		.offset = (uint32_t)choice->offset,
		.size = sizeof(uint64_t),
		.shift = MACHINE_ADDRESS_BITS,
		.bits = 64 - MACHINE_ADDRESS_BITS,
		.is_own = true,
	};
}

// Finds or adds a choice.
HEAP_MUST_CHECK
static struct heap_error *find_choice(struct inference *inference, heap_type_id holder,
				      uint64_t offset, uint64_t union_start, uint32_t *result)
{
	struct union_tags *tags = &inference->union_tags;
	struct union_choice choice = {
		.holder = holder,
		.offset = offset,
		.union_start = union_start,
	};

	for (*result = 0; *result < tags->count; ++*result) {
		if (tags->choices[*result].holder == holder &&
		    tags->choices[*result].offset == offset)
			return NULL;
	}
	add_upper_bits(&choice);
	gather_numbers(inference->layouts.types, holder, 0, 0, false, &choice);
	gather_lengths(inference->layouts.types, holder, 0, 0, &choice);
	HEAP_TRY(heap_reserve(tags->choices, tags->capacity, (size_t)tags->count + 1));
	*result = tags->count;
	tags->choices[tags->count++] = choice;
	return NULL;
}

// The structs around the unions that have a place of a type in them.
struct search {
	const struct layouts *layouts;
	const struct heap_types *types;
	heap_type_id holders[MAX_DEPTH]; // outermost first
	uint64_t starts[MAX_DEPTH];
	uint64_t unions[MAX_DEPTH]; // where they begin in their structs
	uint32_t count;
	uint32_t steps;
};

// True if a member of a struct or union holds a byte of it.
static bool covers(const struct heap_types *types, const struct heap_member *member,
		   uint64_t offset)
{
	return offset >= member->offset &&
	       offset - member->offset < heap_types_size(types, member->type) &&
	       !(member->flags & HEAP_MEMBER_VIRTUAL_BASE);
}

static bool has_slot(const struct layouts *layouts, heap_type_id type, uint64_t offset)
{
	const struct heap_slots *slots =
		heap_slot_table_get(&layouts->slots, layouts_strip(layouts, type));
	uint32_t first;

	progress_step();
	return slots && heap_slots_at(slots, offset, &first) > first;
}

// True if several alternatives of a union, or none, have a pointer at an offset. Then the numbers in one of
// them tell nothing of that pointer: they are other data where another alternative holds.
static bool is_undecided(const struct search *search, const struct heap_type *type, uint64_t offset)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < type->members; i++) {
		const struct heap_member *member = &search->types->members[type->first_member + i];

		count += covers(search->types, member, offset) &&
			 has_slot(search->layouts, member->type, offset - member->offset);
	}
	return count != 1;
}

// Looks for unions at @p offset of a type that begins at @p start. @param holder  the struct that it is in
static void search_unions(struct search *search, heap_type_id id, uint64_t start, uint64_t offset,
			  heap_type_id holder, uint64_t holder_start, int depth)
{
	const struct heap_types *types = search->types;
	const struct heap_type *type;
	uint32_t found;

	id = heap_types_strip(types, id);
	type = &types->types[id];
	progress_step();
	if (depth == MAX_DEPTH || search->steps == 0)
		return;
	search->steps--;
	if (type->kind == HEAP_TYPE_ARRAY) {
		uint64_t size = heap_types_size(types, type->target);

		if (size > 0)
			search_unions(search, type->target, start + offset - offset % size,
				      offset % size, holder, holder_start, depth + 1);
		return;
	}
	if (!heap_types_has_members(type))
		return;
	if (type->kind != HEAP_TYPE_UNION) {
		holder = id;
		holder_start = start;
	} else if (holder != HEAP_NO_TYPE &&
		   (search->count == 0 || search->holders[search->count - 1] != holder)) {
		search->holders[search->count] = holder;
		search->unions[search->count] = start - holder_start;
		search->starts[search->count++] = holder_start;
	}
	if (type->kind == HEAP_TYPE_UNION && is_undecided(search, type, offset))
		return;
	found = search->count;
	for (uint32_t i = 0; i < type->members && search->count == found; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];

		if (covers(types, member, offset))
			search_unions(search, member->type, start + member->offset,
				      offset - member->offset, holder, holder_start, depth + 1);
	}
}

HEAP_MUST_CHECK
static struct heap_error *add_place(struct inference *inference, uint64_t hash, heap_type_id type,
				    uint64_t offset)
{
	struct union_tags *tags = &inference->union_tags;
	struct union_place place = { .type = type, .offset = offset };
	struct search search = {
		.layouts = &inference->layouts,
		.types = inference->layouts.types,
		.steps = MAX_STEPS,
	};

	search_unions(&search, type, 0, offset, HEAP_NO_TYPE, 0, 0);
	for (uint32_t i = 0; i < UNION_LEVELS; i++) {
		uint32_t level = search.count - 1 - i;

		place.choices[i] = UNION_NO_CHOICE;
		if (i >= search.count)
			continue;
		place.starts[i] = search.starts[level];
		HEAP_TRY(find_choice(inference, search.holders[level],
				     offset - search.starts[level], search.unions[level],
				     &place.choices[i]));
	}
	HEAP_TRY(heap_reserve(tags->places, tags->place_capacity, (size_t)tags->place_count + 1));
	tags->places[tags->place_count] = place;
	return heap_hash_add(&tags->place_of, hash, tags->place_count++);
}

struct heap_error *union_choices_find(struct inference *inference, heap_type_id type,
				      uint64_t *address, uint64_t offset,
				      const struct union_place **result)
{
	struct union_tags *tags = &inference->union_tags;
	const struct layout_facts *facts;
	uint64_t hash, stride;
	uint32_t found;

	*result = NULL;
	type = layouts_strip(&inference->layouts, type);
	facts = &inference->layouts.facts[type];
	if (type == HEAP_NO_TYPE)
		return NULL;
	if (facts->is_flexible && offset >= facts->start) {
		*address += facts->start;
		offset -= facts->start;
		type = layouts_strip(&inference->layouts, facts->element);
	}
	if (!has_unions(inference, type, 0))
		return NULL;
	stride = layouts_size(&inference->layouts, type);
	if (stride > 0) {
		*address += offset - offset % stride;
		offset %= stride;
	}
	hash = heap_hash_u64((uint64_t)type << 32 ^ offset);
	found = heap_hash_find(&tags->place_of, hash, i,
			       tags->places[i].type == type && tags->places[i].offset == offset);
	if (found == HEAP_HASH_NONE && tags->place_count == PLACES)
		return NULL;
	if (found == HEAP_HASH_NONE) {
		HEAP_TRY(add_place(inference, hash, type, offset));
		found = tags->place_count - 1;
	}
	*result = &tags->places[found];
	return NULL;
}

static uint64_t cut_bits(const struct union_number *number, uint64_t value)
{
	value >>= number->shift;
	return number->bits < 64 ? value & ((UINT64_C(1) << number->bits) - 1) : value;
}

uint64_t union_choices_read(const struct inference *inference, const struct union_number *number,
			    uint64_t address)
{
	uint64_t value = 0;

	pages_read(inference->pages, address + number->offset, &value, number->size);
	return cut_bits(number, value);
}

void union_choices_read_all(const struct inference *inference, const struct union_choice *choice,
			    uint64_t address, uint64_t values[UNION_NUMBERS])
{
	unsigned char bytes[4 * NEAR];
	uint64_t start = UINT64_MAX, end = 0;

	for (uint32_t i = 0; i < choice->number_count; i++) {
		const struct union_number *number = &choice->numbers[i];
		uint64_t behind = (uint64_t)number->offset + number->size;

		start = number->offset < start ? number->offset : start;
		end = behind > end ? behind : end;
	}
	if (end > start && end - start <= sizeof(bytes))
		pages_read(inference->pages, address + start, bytes, end - start);
	for (uint32_t i = 0; i < choice->number_count; i++) {
		const struct union_number *number = &choice->numbers[i];

		values[i] = 0;
		if (end - start > sizeof(bytes)) {
			values[i] = union_choices_read(inference, number, address);
			continue;
		}
		memcpy(&values[i], bytes + (number->offset - start), number->size);
		values[i] = cut_bits(number, values[i]);
	}
}

bool union_choices_concern(struct inference *inference, heap_type_id type)
{
	const struct layout_facts *facts = &inference->layouts.facts[type];

	return type != HEAP_NO_TYPE &&
	       (has_unions(inference, type, 0) ||
		(facts->is_flexible && has_unions(inference, facts->element, 0)));
}
