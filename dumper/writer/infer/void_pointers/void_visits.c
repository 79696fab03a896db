// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/void_visits.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/holders.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MAX_DEPTH = 8,
	MAX_FLEXIBLE = 4096, // bytes of a struct with a flexible array whose pointers are visited
	MAX_INDEXED = 512,   // bytes of an array in which each index may have a meaning of its own
};

// Values of a type in an object, or of a variable.
struct values {
	heap_object_id object; // HEAP_NO_OBJECT: they are of a variable
	heap_type_id type;
	uint64_t address;
	uint64_t start, end; // in the object
	uint32_t edge;       // the first one of the object that is not before them
	bool is_sure;
	bool is_thin; // a template names what all of its void pointers lead to
	const struct heap_root_edge *root_edge; // of a variable: the one that is visited
};

// A pointer among values.
struct held_pointer {
	uint64_t offset; // behind their start
	heap_object_id target;
	uint32_t interior; // of the target
};

// The offset of the first one, if a pointer is in one of several elements of an array. Of a flexible array
// the last elements are often not in use, and hold old pointers: each counts for itself, unless they are thin.
//
// @param in_array  gets true if it is
static uint64_t without_index(const struct layouts *layouts, const struct values *values,
			      uint64_t offset, bool *in_array)
{
	heap_type_id id = values->type;
	const struct layout_facts *facts = &layouts->facts[id];
	uint64_t base = 0, stride = layouts_size(layouts, facts->element);

	*in_array = false;
	if (!layouts_is_flexible(layouts, id) && layouts_size(layouts, id) > 0)
		offset %= layouts_size(layouts, id);
	else if (values->is_thin && offset >= facts->start && stride > 0)
		offset = facts->start + (offset - facts->start) % stride;
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		bool is_array =
			layouts->types->types[layouts_strip(layouts, id)].kind == HEAP_TYPE_ARRAY;
		uint64_t before = offset;

		id = layouts_step_in(layouts, id, &offset);
		if (id == HEAP_NO_TYPE)
			break;
		*in_array |= is_array;
		base += is_array ? 0 : before - offset;
	}
	return base + offset;
}

static bool has_void(const struct heap_slots *slots)
{
	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee == HEAP_NO_TYPE)
			return true;
	}
	return false;
}

// True if the pointers at one place, [first, end), are void: one, or the members of a union, which may be functions, too.
static bool are_void(const struct inference *inference, const struct heap_slots *slots,
		     uint32_t first, uint32_t end)
{
	const struct heap_types *types = inference->layouts.types;
	bool has_any = false;

	for (uint32_t i = first; i < end; i++) {
		heap_type_id pointee = slots->list[i].pointee;

		has_any |= pointee == HEAP_NO_TYPE;
		if (pointee != HEAP_NO_TYPE && types->types[pointee].kind != HEAP_TYPE_FUNCTION)
			return false;
	}
	return has_any;
}

// Finds out if values of a type have void pointers. Most have none, and their edges need not be visited.
HEAP_MUST_CHECK
static struct heap_error *find_voids(struct void_search *search, heap_type_id type, bool *result)
{
	const struct heap_repetition *repetition;

	if (search->voids[type] == VOIDS_UNKNOWN) {
		HEAP_TRY(heap_repetitions_find(&search->inference->repetitions, type, &repetition));
		search->voids[type] = heap_repetition_has_slots(repetition) &&
						      (has_void(repetition->slots) ||
						       has_void(repetition->flexible_slots))
					      ? VOIDS_SOME
					      : VOIDS_NONE;
	}
	*result = search->voids[type] == VOIDS_SOME;
	return NULL;
}

struct heap_error *void_visits_find_holders(struct void_search *search)
{
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(search->inference, &counts));
	for (heap_type_id id = 1; id < search->inference->layouts.types->count; id++) {
		bool has_voids = false;

		if (counts[id] > 0)
			HEAP_TRY(find_voids(search, id, &has_voids));
		search->has_holders |= has_voids;
	}
	return NULL;
}

// The address of the element of an array that an offset of values lies in; of a flexible one that of its header.
static uint64_t value_address(const struct void_search *search, const struct values *values,
			      uint64_t offset)
{
	const struct layouts *layouts = &search->inference->layouts;
	uint64_t size = layouts_size(layouts, values->type), first = 0;

	if (!layouts_is_flexible(layouts, values->type) && size > 0)
		first = offset - offset % size;
	return values->address + first;
}

// Where in its value a void pointer is: see struct void_pointer.
struct location {
	uint64_t offset, exact, length;
};

// @param in_value  the offset behind the start of its value
static struct location locate(const struct inference *inference, const struct values *values,
			      uint64_t offset, uint64_t in_value)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t bytes = values->end - values->start;
	bool in_array;
	struct location result = { without_index(layouts, values, offset, &in_array), NO_INDEX, 0 };

	if (layouts_is_pointer(layouts, values->type) && bytes <= MAX_INDEXED) {
		result.exact = offset;
		result.length = bytes;
	} else if (in_array && layouts_size(layouts, values->type) <= MAX_INDEXED) {
		result.exact = in_value;
	}
	return result;
}

// Visits a pointer among values if it is void.
HEAP_MUST_CHECK
static struct heap_error *visit_pointer(struct void_search *search, const struct values *values,
					const struct heap_repetition *repetition,
					const struct held_pointer *pointer, void_visitor *visit)
{
	struct inference *inference = search->inference;
	uint64_t address = values->address + pointer->offset, value;
	uint32_t first, behind;
	const struct heap_slots *slots =
		heap_repetition_slots_at(repetition, pointer->offset, &first, &behind);
	struct location at;

	if (!slots || !are_void(inference, slots, first, behind))
		return NULL;
	value = value_address(search, values, pointer->offset);
	at = locate(inference, values, pointer->offset, address - value);
	return visit(search,
		     &(struct void_pointer){
			     values->type,
			     at.offset,
			     at.exact,
			     at.length,
			     value,
			     address - at.offset - value,
			     values->object,
			     values->root_edge,
			     pointer->target,
			     values->is_sure,
			     !layouts_is_start(pointer->interior -
					       inference_prefix(inference, pointer->target)),
		     });
}

// Visits the void pointers of values in an object.
HEAP_MUST_CHECK
static struct heap_error *visit_values(struct void_search *search, const struct values *values,
				       void_visitor *visit)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_repetition *repetition;
	uint64_t end = values->end;

	// Each element of a flexible array is a place of its own: those of a long one have too few targets each.
	if (layouts_is_flexible(&inference->layouts, values->type) && !values->is_thin &&
	    end - values->start > MAX_FLEXIBLE)
		end = values->start + MAX_FLEXIBLE;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, values->type, &repetition));
	for (uint32_t i = values->edge; i < snapshot->edge_first[values->object + 1]; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);

		progress_step();
		if (offset >= end)
			break;
		HEAP_TRY(visit_pointer(search, values, repetition,
				       &(struct held_pointer){ offset - values->start,
							       snapshot->edge_target[i],
							       snapshot->edge_interior[i] },
				       visit));
	}
	return NULL;
}

void void_visits_narrow(struct void_search *search,
			bool (*is_wanted)(const struct void_place *place))
{
	search->has_holders = false;
	for (heap_type_id id = 0; id < search->inference->layouts.types->count; id++) {
		if (search->voids[id] == VOIDS_SOME)
			search->voids[id] = VOIDS_IDLE;
	}
	for (size_t i = 0; i < search->places.count; i++) {
		const struct void_place *place = &search->places.items[i];

		if (!is_wanted(place))
			continue;
		search->voids[place->type] = VOIDS_SOME;
		search->has_holders = true;
	}
}

static bool is_thin(const struct inference *inference, heap_type_id type)
{
	return thin_templates_find(&inference->thin_templates, &inference->layouts, type,
				   inference->layouts.facts[type].start);
}

HEAP_MUST_CHECK
static struct heap_error *visit_objects(struct void_search *search, void_visitor *visit)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct objects *objects = &inference->capture->objects;
	size_t types = inference->layouts.types->count;
	CLEANUP(holders_deinit) struct holders holders = { 0 };

	HEAP_TRY(holders_init(&holders, inference));
	for (heap_type_id id = 0; id < types; id++)
		holders.are_types[id] = search->voids[id] == VOIDS_SOME;
	holders_begin(&holders);
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1)) {
		uint64_t prefix = inference_prefix(inference, i);
		heap_type_id type = inference_type(inference, i);

		HEAP_TRY(visit_values(
			search,
			&(struct values){ i, type, objects_address(objects, i) + prefix, prefix,
					  prefix + inference_size(inference, i),
					  heap_edge_from(snapshot, i, prefix),
					  names_is_sure(&inference->capture->names, i),
					  is_thin(inference, type), NULL },
			visit));
	}
	return NULL;
}

// Describes a static variable that has structs with void pointers; its type is HEAP_NO_TYPE: it has none. Variables that are
// void pointers themselves have nothing in common.
HEAP_MUST_CHECK
static struct heap_error *find_holder(struct void_search *search, const struct heap_root *root,
				      struct root_value *result)
{
	const struct layouts *layouts = &search->inference->layouts;
	heap_type_id type = layouts_element(layouts, root->type);
	bool has_voids = false;

	*result = (struct root_value){ .type = HEAP_NO_TYPE };
	if (root->kind == HEAP_ROOT_LOCAL || type == HEAP_NO_TYPE ||
	    layouts_is_pointer(layouts, type))
		return NULL;
	HEAP_TRY(find_voids(search, type, &has_voids));
	return has_voids ? inference_root_value(search->inference, root, result) : NULL;
}

// Visits the void pointers of static variables, whose tables may be the only way to what the program keeps.
HEAP_MUST_CHECK
static struct heap_error *visit_variables(struct void_search *search, void_visitor *visit)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_root *root = NULL;
	struct root_value value = { .type = HEAP_NO_TYPE };

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];

		progress_step();
		if (root != &snapshot->roots[edge->root]) {
			root = &snapshot->roots[edge->root];
			HEAP_TRY(find_holder(search, root, &value));
		}
		if (value.type == HEAP_NO_TYPE ||
		    !held_parts_has(inference->held, &value.held, edge->offset))
			continue;
		HEAP_TRY(visit_pointer(
			search,
			&(struct values){ HEAP_NO_OBJECT, value.type, root->address, 0, root->size,
					  0, true, is_thin(inference, value.type), edge },
			value.repetition,
			&(struct held_pointer){ edge->offset, edge->target, edge->interior },
			visit));
	}
	return NULL;
}

struct heap_error *void_visits_all(struct void_search *search, void_visitor *visit)
{
	struct inference *inference = search->inference;
	const struct pools *pools = &inference->pools;
	const struct objects *objects = &inference->capture->objects;
	bool has_voids;

	HEAP_TRY(visit_variables(search, visit));
	if (search->has_holders)
		HEAP_TRY(visit_objects(search, visit));
	for (uint32_t i = 0; i < pools->count && !progress_is_late(); i++) {
		const struct heap_part *part = &pools->parts[i];
		uint64_t size = layouts_size(&inference->layouts, part->type);

		HEAP_TRY(find_voids(search, part->type, &has_voids));
		if (!has_voids)
			continue;
		HEAP_TRY(visit_values(
			search,
			&(struct values){ part->object, part->type,
					  objects_address(objects, part->object) + part->offset,
					  part->offset, part->offset + size,
					  pools_first_edge(pools, i), false,
					  is_thin(inference, part->type), NULL },
			visit));
	}
	return NULL;
}
