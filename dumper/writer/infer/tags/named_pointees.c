// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/named_pointees.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/tags/enum_names.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_DEPTH = 4, // of an enum in structs
	MAX_ENUMS = 8, // of a struct
	LARGEST_HOLDER = 4096,
	MIN_ENUMERATORS = 2, // that name structs
	MIN_TARGETS = 4,
	AGREEING = 95, // per cent of them
};

// An enum in a struct.
struct enum_member {
	heap_type_id tag;
	uint64_t offset;
};

struct enum_members {
	struct enum_member list[MAX_ENUMS]; // [count]
	uint32_t count;
};

// A struct that a value of the enum names.
struct named_value {
	uint64_t value;
	heap_type_id type;
};

// The values of an enum that name structs, [first, first + count) of the search's.
struct named_enum {
	heap_type_id tag;
	uint32_t first, count;
};

// A void pointer and an enum of a struct.
struct named_place {
	heap_type_id holder;
	uint64_t pointer_at, enum_at;
	uint32_t enum_size;
	uint32_t first_value, values; // in the search's
	uint32_t targets, agreeing;
	uint64_t value;  // of the first target that agrees
	bool has_values; // there are others
	bool is_telling;
};

struct search {
	struct inference *inference;
	struct named_structs structs; // by name
	struct HEAP_ARRAY(struct named_value) values;
	struct HEAP_ARRAY(struct named_enum) enums;   // whose values are known
	struct HEAP_ARRAY(struct named_place) places; // by holder
	uint64_t *words;                              // [CONTENT_WORDS + 1]
	uint64_t *claimed;
};

static void release(struct search *search)
{
	heap_array_deinit(&search->structs);
	heap_array_deinit(&search->values);
	heap_array_deinit(&search->enums);
	heap_array_deinit(&search->places);
	free(search->words);
}

// --- places -----------------------------------------------------------------------------------

// Gathers the enums of a struct, outside of its unions and arrays.
static void gather_enums(const struct layouts *layouts, heap_type_id id, uint64_t offset, int depth,
			 struct enum_members *enums)
{
	const struct heap_types *types = layouts->types;
	const struct heap_type *type = &types->types[id];

	if (depth == MAX_DEPTH || (type->kind != HEAP_TYPE_STRUCT && type->kind != HEAP_TYPE_CLASS))
		return;
	for (uint32_t i = 0; i < type->members && enums->count < MAX_ENUMS; i++) {
		const struct heap_member *member = &types->members[type->first_member + i];
		heap_type_id own = layouts_strip(layouts, member->type);

		progress_step();
		if (member->flags & (HEAP_MEMBER_BIT_FIELD | HEAP_MEMBER_VIRTUAL_BASE))
			continue;
		if (types->types[own].kind == HEAP_TYPE_ENUM)
			enums->list[enums->count++] =
				(struct enum_member){ own, offset + member->offset };
		else
			gather_enums(layouts, own, offset + member->offset, depth + 1, enums);
	}
}

static bool has_void(const struct heap_slots *slots)
{
	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee == HEAP_NO_TYPE)
			return true;
	}
	return false;
}

// Lists the values of an enum that name structs.
HEAP_MUST_CHECK
static struct heap_error *list_values(struct search *search, heap_type_id tag)
{
	const struct heap_types *types = search->inference->layouts.types;
	const struct enum_structs structs = { types, tag, search->structs.items,
					      search->structs.count };
	uint64_t size = heap_types_size(types, tag);
	struct enum_naming_rule rule;

	if (size == 0 || size > sizeof(uint64_t))
		return NULL;
	HEAP_TRY(enum_names_find_rule(&structs, MIN_ENUMERATORS, &rule));
	for (uint32_t i = 0; rule.count >= MIN_ENUMERATORS && i < enum_names_count(&structs); i++) {
		heap_type_id type = enum_names_apply(&structs, &rule, i);
		int64_t value = types->enumerators[types->types[tag].first_member + i].value;

		if (type != HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(
				&search->values,
				((struct named_value){
					(uint64_t)value & UINT64_MAX >> (64 - 8 * size), type })));
	}
	return NULL;
}

// Finds the values of an enum, which several structs may have.
HEAP_MUST_CHECK
static struct heap_error *find_enum(struct search *search, heap_type_id tag,
				    struct named_enum *result)
{
	*result = (struct named_enum){ tag, (uint32_t)search->values.count, 0 };
	for (size_t i = 0; i < search->enums.count; i++) {
		progress_step();
		if (search->enums.items[i].tag == tag) {
			*result = search->enums.items[i];
			return NULL;
		}
	}
	HEAP_TRY(list_values(search, tag));
	result->count = (uint32_t)search->values.count - result->first;
	return heap_array_append(&search->enums, *result);
}

// Adds the void pointers of a struct with one of its enums.
HEAP_MUST_CHECK
static struct heap_error *add_places(struct search *search, heap_type_id holder,
				     const struct heap_slots *slots,
				     const struct enum_member *member)
{
	struct named_enum values;
	struct named_place place = {
		.holder = holder,
		.enum_at = member->offset,
		.enum_size =
			(uint32_t)heap_types_size(search->inference->layouts.types, member->tag),
	};

	HEAP_TRY(find_enum(search, member->tag, &values));
	place.first_value = values.first;
	place.values = values.count;
	for (uint32_t i = 0; place.values > 0 && i < slots->count; i++) {
		place.pointer_at = slots->list[i].offset;
		if (slots->list[i].pointee == HEAP_NO_TYPE)
			HEAP_TRY(heap_array_append(&search->places, place));
	}
	return NULL;
}

// Lists the places in the types that objects and parts have.
HEAP_MUST_CHECK
static struct heap_error *list_places(struct search *search)
{
	const struct layouts *layouts = &search->inference->layouts;
	const struct pools *pools = &search->inference->pools;
	CLEANUP_FREE bool *has_parts = calloc(layouts->types->count, sizeof(*has_parts));
	const uint32_t *counts;

	if (!has_parts)
		return heap_error_out_of_memory();
	HEAP_TRY(inference_count_types(search->inference, &counts));
	for (uint32_t i = 0; i < pools->count; i++)
		has_parts[pools->parts[i].type] = true;
	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct heap_slots *slots;
		struct enum_members enums = { .count = 0 };

		progress_step();
		if ((counts[id] == 0 && !has_parts[id]) || !layouts_is_compound(layouts, id) ||
		    layouts_size(layouts, id) > LARGEST_HOLDER)
			continue;
		slots = heap_slot_table_get(&layouts->slots, id);
		if (!has_void(slots))
			continue;
		gather_enums(layouts, id, 0, 0, &enums);
		for (uint32_t i = 0; i < enums.count; i++)
			HEAP_TRY(add_places(search, id, slots, &enums.list[i]));
	}
	return NULL;
}

static int compare_names(const void *left, const void *right)
{
	const struct named_struct *a = left, *b = right;
	int order = strcmp(a->name, b->name);

	return order ? order : a->type < b->type ? -1 : a->type > b->type;
}

HEAP_MUST_CHECK
static struct heap_error *list_structs(struct search *search)
{
	const struct layouts *layouts = &search->inference->layouts;

	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		struct named_struct named = { .place.tag = HEAP_NO_TYPE };

		progress_step();
		if (enum_names_set(layouts, id, &named) && layouts_size(layouts, named.type) > 0)
			HEAP_TRY(heap_array_append(&search->structs, named));
	}
	if (search->structs.count > 0)
		qsort(search->structs.items, search->structs.count, sizeof(*search->structs.items),
		      compare_names);
	return NULL;
}

// --- pointers ---------------------------------------------------------------------------------

// A void pointer, and the struct that the enum beside it names.
struct named_pointer {
	struct named_place *place;
	uint64_t value; // of the enum
	heap_type_id type;
	heap_object_id target;
	uint64_t interior;
};

typedef struct heap_error *(*visitor)(struct search *search, const struct named_pointer *pointer);

// The struct that a value of the enum names; HEAP_NO_TYPE: none.
static heap_type_id find_value(const struct search *search, const struct named_place *place,
			       uint64_t value)
{
	for (uint32_t i = place->first_value; i < place->first_value + place->values; i++) {
		if (search->values.items[i].value == value)
			return search->values.items[i].type;
	}
	return HEAP_NO_TYPE;
}

// Visits the pointers of a holder's places at an edge. @param address  of the holder
HEAP_MUST_CHECK
static struct heap_error *visit_edge(struct search *search, struct named_place *first,
				     heap_type_id holder, uint64_t address, uint64_t offset,
				     uint32_t edge, visitor visit)
{
	const struct heap_snapshot *snapshot = &search->inference->capture->snapshot;
	const struct named_place *end = search->places.items + search->places.count;

	for (struct named_place *place = first; place < end && place->holder == holder; place++) {
		struct named_pointer pointer = { .place = place,
						 .target = snapshot->edge_target[edge] };
		uint64_t prefix = inference_prefix(search->inference, pointer.target);

		progress_step();
		if (place->pointer_at != offset || snapshot->edge_interior[edge] < prefix)
			continue;
		pointer.interior = snapshot->edge_interior[edge] - prefix;
		pages_read(search->inference->pages, address + place->enum_at, &pointer.value,
			   place->enum_size);
		pointer.type = find_value(search, place, pointer.value);
		if (pointer.type == HEAP_NO_TYPE)
			continue;
		// cppcheck-suppress returnDanglingLifetime; an error does not refer to the pointer
		HEAP_TRY(visit(search, &pointer));
	}
	return NULL;
}

// Visits the pointers in values of one type in an object, [start, end).
HEAP_MUST_CHECK
static struct heap_error *visit_values(struct search *search, heap_object_id object,
				       heap_type_id type, uint64_t start, uint64_t end,
				       visitor visit)
{
	const struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct named_place *places = search->places.items;
	uint64_t address = objects_address(&inference->capture->objects, object);
	uint64_t size = layouts_size(&inference->layouts, type);
	size_t first = heap_partition_point(i, 0, search->places.count, places[i].holder < type);

	if (first == search->places.count || places[first].holder != type)
		return NULL;
	// Something else lies behind the header of a flexible struct.
	if (layouts_is_flexible(&inference->layouts, type) && end > start + size)
		end = start + size;
	for (uint32_t i = heap_edge_from(snapshot, object, start);
	     i < snapshot->edge_first[object + 1]; i++) {
		uint64_t slot = snapshot->edge_slot[i] * UINT64_C(8);
		uint64_t offset = (slot - start) % size;

		progress_step();
		if (slot >= end)
			break;
		HEAP_TRY(visit_edge(search, &search->places.items[first], type,
				    address + slot - offset, offset, i, visit));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_all(struct search *search, visitor visit)
{
	const struct inference *inference = search->inference;
	const struct pools *pools = &inference->pools;

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		heap_type_id type = inference_type(inference, i);
		uint64_t prefix = inference_prefix(inference, i);

		if (type != HEAP_NO_TYPE)
			HEAP_TRY(visit_values(search, i, type, prefix,
					      prefix + inference_size(inference, i), visit));
	}
	for (uint32_t i = 0; i < pools->count && !progress_is_late(); i++) {
		const struct heap_part *part = &pools->parts[i];
		uint64_t size = layouts_size(&inference->layouts, part->type);

		HEAP_TRY(visit_values(search, part->object, part->type, part->offset,
				      part->offset + size * part->elements, visit));
	}
	return NULL;
}

// --- targets ----------------------------------------------------------------------------------

// True if a pointer leads into a pool, or to what the program has cut out of a larger block.
static bool is_in_pool(const struct search *search, const struct named_pointer *pointer)
{
	return pools_have(&search->inference->pools, pointer->target);
}

// True if the struct may be a part of the pool that the pointer leads into.
static bool may_be_part(const struct search *search, const struct named_pointer *pointer)
{
	const struct inference *inference = search->inference;
	heap_type_id part = pools_type_at(&inference->pools, pointer->target, pointer->interior);
	struct content content;

	if (part != HEAP_NO_TYPE)
		return part == pointer->type;
	return pointer->interior % 8 == 0 &&
	       content_read_value(inference, pointer->target, pointer->interior, pointer->type,
				  search->words, &content) &&
	       content_score(inference, &content, pointer->type, 1) >= 0;
}

// The claim on the block that a pointer leads to; LAYOUT_NONE if it cannot be one or several of the struct.
static struct layout_claim fit(const struct search *search, const struct named_pointer *pointer)
{
	const struct inference *inference = search->inference;
	const struct layout_claim none = { LAYOUT_NONE, HEAP_NO_TYPE, 0 };
	struct layout_claim claim = inference_fit(inference, pointer->type, pointer->target);
	struct content content;

	if (claim.fit == LAYOUT_NONE)
		claim = inference_fit_weakly(inference, pointer->type, 0, pointer->target);
	if (!layouts_is_start(pointer->interior) ||
	    (claim.fit != LAYOUT_EXACT && claim.fit != LAYOUT_FLEXIBLE &&
	     claim.fit != LAYOUT_ARRAY) ||
	    hints_ask(inference, pointer->target, pointer->type) == VERDICT_AGAINST ||
	    (claims_are_good(&inference->claims, pointer->target) &&
	     inference_type(inference, pointer->target) != claim.type))
		return none;
	content_read(inference, pointer->target, search->words, &content);
	return content_score(inference, &content, claim.type, claim.elements) >= 0 ? claim : none;
}

HEAP_MUST_CHECK
static struct heap_error *count_target(struct search *search, const struct named_pointer *pointer)
{
	struct named_place *place = pointer->place;

	place->targets++;
	if (is_in_pool(search, pointer) ? !may_be_part(search, pointer)
					: fit(search, pointer).fit == LAYOUT_NONE)
		return NULL;
	if (place->agreeing++ == 0)
		place->value = pointer->value;
	place->has_values |= place->value != pointer->value;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim_target(struct search *search, const struct named_pointer *pointer)
{
	struct inference *inference = search->inference;
	struct layout_claim claim;

	if (!pointer->place->is_telling)
		return NULL;
	if (is_in_pool(search, pointer)) {
		if (pools_type_at(&inference->pools, pointer->target, pointer->interior) !=
			    HEAP_NO_TYPE ||
		    !may_be_part(search, pointer))
			return NULL;
		++*search->claimed;
		return hints_add(inference, pointer->type,
				 &(struct pointer){ .target = pointer->target,
						    .interior = pointer->interior },
				 false);
	}
	if (claims_rank(&inference->claims, pointer->target) <= RANK_DISCRIMINATOR_LIKELY)
		return NULL;
	claim = fit(search, pointer);
	if (claim.fit == LAYOUT_NONE)
		return NULL;
	++*search->claimed;
	return claims_add(&inference->claims, RANK_DISCRIMINATOR_LIKELY,
			  &(struct claim){ pointer->target, claim.type, claim.elements,
					   HEAP_EVIDENCE_TAG, false });
}

struct heap_error *named_pointees_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP(release) struct search search = { .inference = inference, .claimed = claimed };
	bool is_any_telling = false;

	search.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words));
	if (!search.words)
		return heap_error_out_of_memory();
	HEAP_TRY(list_structs(&search));
	HEAP_TRY(list_places(&search));
	if (search.places.count == 0)
		return NULL;
	HEAP_TRY(visit_all(&search, count_target));
	for (size_t i = 0; i < search.places.count; i++) {
		struct named_place *place = &search.places.items[i];

		place->is_telling =
			place->has_values && place->targets >= MIN_TARGETS &&
			place->agreeing * UINT64_C(100) >= place->targets * (uint64_t)AGREEING;
		is_any_telling |= place->is_telling;
	}
	return is_any_telling ? visit_all(&search, claim_target) : NULL;
}
