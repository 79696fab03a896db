// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/bounded_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/holders.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	WORD = 8,
	BOUNDS = 3,
	ALTERNATIVES = 64, // slots at one place that are looked at
	FAILURES = 64,     // values of a type without bounds, after which few others are read
	SAMPLE = 16,       // one in so many is
};

// Pointers at one place of a value, of which the first leads to a block's start.
struct bounds {
	heap_object_id holder; // HEAP_NO_OBJECT: a variable
	heap_object_id target;
	heap_type_id element;
	uint64_t words[BOUNDS];
	bool is_sure;
};

// A place in values of a type, and what has been found there. The alternatives of a std::variant have other elements.
struct place {
	heap_type_id type;
	uint64_t offset;
	heap_type_id element; // of the arrays that begin there, or HEAP_NO_TYPE
	uint32_t failures;    // values without bounds there
	uint64_t skipped;     // values that were not read
	bool has_bounds;      // of any value
};

struct places HEAP_ARRAY(struct place);

struct search {
	struct inference *inference;
	struct holders holders; // of types with bounds
	struct places places;
	struct heap_hash_table by_type; // and offset
	bool is_incomplete; // values were not read of a place that turned out to have bounds
	uint64_t *claimed;
};

static void release(struct search *search)
{
	holders_deinit(&search->holders);
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_type);
}

// --- places --------------------------------------------------------------------

// The only pointee of the slot at an offset; HEAP_NO_TYPE: there is none, or there are several.
static heap_type_id pointee_at(const struct heap_repetition *repetition, uint64_t offset)
{
	uint32_t first, end;
	const struct heap_slots *slots = heap_repetition_slots_at(repetition, offset, &first, &end);

	return slots && end - first == 1 ? slots->list[first].pointee : HEAP_NO_TYPE;
}

// The elements of an array whose pointers may begin at an offset; HEAP_NO_TYPE: none do. Characters are texts.
static heap_type_id element_at(const struct layouts *layouts,
			       const struct heap_repetition *repetition, uint64_t offset)
{
	heap_type_id element = layouts_element(layouts, pointee_at(repetition, offset));

	if (element == HEAP_NO_TYPE || layouts_is_character(layouts, element) ||
	    layouts_is_flexible(layouts, element) || layouts_size(layouts, element) == 0)
		return HEAP_NO_TYPE;
	for (uint64_t i = 1; i < BOUNDS; i++) {
		if (layouts_element(layouts, pointee_at(repetition, offset + i * WORD)) != element)
			return HEAP_NO_TYPE;
	}
	return element;
}

// True if one of the slots from a number on is a pointer to an element at an offset.
static bool has_slot(const struct layouts *layouts, const struct heap_slots *slots, uint32_t from,
		     uint64_t offset, heap_type_id element)
{
	const struct heap_slot *list = slots->list;
	uint32_t first =
		(uint32_t)heap_partition_point(i, from, slots->count, list[i].offset < offset);

	for (uint32_t i = first;
	     i < slots->count && i - first < ALTERNATIVES && list[i].offset == offset; i++) {
		progress_step();
		if (layouts_element(layouts, list[i].pointee) == element)
			return true;
	}
	return false;
}

// Notes if values of a type have three neighbouring pointers of one type. Those of a std::variant have others there, too.
static void note_type(struct search *search, heap_type_id type)
{
	const struct layouts *layouts = &search->inference->layouts;
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);
	bool found = false;

	for (uint32_t i = 0; slots && i < slots->count && !found; i++) {
		const struct heap_slot *slot = &slots->list[i];
		heap_type_id element = layouts_element(layouts, slot->pointee);

		found = element != HEAP_NO_TYPE &&
			has_slot(layouts, slots, i + 1, slot->offset + WORD, element) &&
			has_slot(layouts, slots, i + 1, slot->offset + 2 * WORD, element);
	}
	search->holders.are_types[type] = found;
}

// Looks at the types of which there are objects. @param found  if any of them has such pointers
HEAP_MUST_CHECK
static struct heap_error *note_types(struct search *search, bool *found)
{
	const struct layouts *layouts = &search->inference->layouts;
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(search->inference, &counts));
	HEAP_TRY(holders_init(&search->holders, search->inference));
	for (heap_type_id type = 1; type < layouts->types->count; type++) {
		if (counts[type] > 0 && layouts_is_compound(layouts, type))
			note_type(search, type);
		*found |= search->holders.are_types[type];
	}
	return NULL;
}

// --- arrays ----------------------------------------------------------------------

// The number of elements for which there is room; 0: the words are no bounds of an array.
static uint64_t count_elements(const struct inference *inference, const struct bounds *bounds)
{
	uint64_t size = layouts_size(&inference->layouts, bounds->element);
	uint64_t begin = bounds->words[0], end = bounds->words[1], limit = bounds->words[2];

	if (begin != inference_address(inference, bounds->target) || end < begin || limit < end ||
	    limit - begin > inference_size(inference, bounds->target) ||
	    (end - begin) % size != 0 || (limit - begin) % size != 0)
		return 0;
	return (limit - begin) / size;
}

// True if a pointer leads behind so many bytes of a block.
static bool has_more(const struct inference *inference, heap_object_id object, uint64_t bytes)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior > bytes && !hint->either)
			return true;
	}
	return false;
}

// Makes a block of which the array is but a part a pool.
HEAP_MUST_CHECK
static struct heap_error *cut(struct search *search, const struct bounds *bounds, uint64_t elements)
{
	struct inference *inference = search->inference;
	uint64_t bytes = elements * layouts_size(&inference->layouts, bounds->element);

	if (pools_have(&inference->pools, bounds->target) ||
	    claims_rank(&inference->claims, bounds->target) < RANK_EXACT ||
	    inference->claims.is_renamed[bounds->target] ||
	    !has_more(inference, bounds->target, bytes))
		return NULL;
	++*search->claimed;
	HEAP_TRY(pools_doubt(inference, bounds->target));
	return pools_add_array(inference, &(struct heap_part){ .object = bounds->target,
							       .type = bounds->element,
							       .elements = elements });
}

// Corrects the number of elements of a block that has the right name: as many as its usable size has room for.
HEAP_MUST_CHECK
static struct heap_error *correct(struct inference *inference, const struct bounds *bounds,
				  uint64_t elements)
{
	struct names *names = &inference->capture->names;
	struct name name = *names_of(names, bounds->target);

	return name.elements == elements
		       ? NULL
		       : names_set(names, bounds->target, name.type, elements, name.evidence);
}

// @param elements  for which the bounds leave room
HEAP_MUST_CHECK
static struct heap_error *judge(struct search *search, const struct bounds *bounds,
				uint64_t elements)
{
	struct inference *inference = search->inference;
	enum rank rank = bounds->is_sure ? RANK_FLEXIBLE : RANK_PASSED_FLEXIBLE;

	if (inference_prefix(inference, bounds->target) != 0)
		return NULL;
	if (!inference_has_length(inference, bounds->target, bounds->element, elements))
		return cut(search, bounds, elements);
	if (inference_type(inference, bounds->target) == bounds->element)
		return correct(inference, bounds, elements);
	if (claims_are_futile(&inference->claims, rank, bounds->target))
		return NULL;
	++*search->claimed;
	return claims_add(&inference->claims, rank,
			  &(struct claim){ bounds->target, bounds->element, elements,
					   HEAP_EVIDENCE_POINTER, bounds->is_sure });
}

// --- holders ---------------------------------------------------------------------

// Finds or adds a place of a type. @param place  [out] until the next is added
HEAP_MUST_CHECK
static struct heap_error *find_place(struct search *search, heap_type_id type,
				     const struct heap_repetition *repetition, uint64_t offset,
				     struct place **place)
{
	const struct place *list = search->places.items;
	uint64_t hash = heap_hash_pair(type, offset);
	uint32_t found = heap_hash_find(&search->by_type, hash, i,
					list[i].type == type && list[i].offset == offset);

	if (found == HEAP_HASH_NONE) {
		struct place added = { type, offset,
				       .element = element_at(&search->inference->layouts,
							     repetition, offset) };

		found = (uint32_t)search->places.count;
		HEAP_TRY(heap_array_append(&search->places, added));
		HEAP_TRY(heap_hash_add(&search->by_type, hash, found));
	}
	*place = &search->places.items[found];
	return NULL;
}

// The elements of the array whose pointers begin at an offset of the alternative that a std::variant holds there.
HEAP_MUST_CHECK
static struct heap_error *find_alternative(struct search *search, heap_type_id type, uint64_t value,
					   uint64_t offset, heap_type_id *element)
{
	struct inference *inference = search->inference;
	const struct heap_repetition *repetition;

	*element = HEAP_NO_TYPE;
	type = held_parts_alternative(inference->held, type, value, &offset);
	if (type == HEAP_NO_TYPE)
		return NULL;
	HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
	*element = element_at(&inference->layouts, repetition, offset);
	return NULL;
}

// True for a place that holds nothing now: behind the last element, for instance.
static bool is_dead(const struct inference *inference, const struct bounds *bounds, uint64_t offset)
{
	struct held_value value;

	if (bounds->holder == HEAP_NO_OBJECT)
		return false;
	value = inference_value(inference, bounds->holder);
	return !held_parts_has(inference->held, &value, offset);
}

// True if a value is not worth being read. The three pointers of a tree's nodes are no bounds: what never are is not read for
// each of millions of values. But the first values may be old ones, so that a sample of the others is.
static bool is_skipped(struct place *place)
{
	if (place->has_bounds || place->failures < FAILURES)
		return false;
	return ++place->skipped % SAMPLE != 0;
}

static void note_bounds(struct search *search, struct place *place, bool has_bounds)
{
	place->failures += !has_bounds && place->failures < FAILURES;
	search->is_incomplete |= has_bounds && !place->has_bounds && place->skipped > 0;
	place->has_bounds |= has_bounds;
}

// Judges the bounds of which a pointer may be the first.
HEAP_MUST_CHECK
static struct heap_error *judge_pointer(struct search *search, heap_type_id type,
					const struct heap_repetition *repetition, uint64_t value,
					uint64_t offset, struct bounds *bounds)
{
	uint64_t elements;
	struct place *place;

	HEAP_TRY(find_place(search, type, repetition, heap_repetition_first(repetition, offset),
			    &place));
	if (is_skipped(place))
		return NULL;
	bounds->element = place->element;
	if (bounds->element == HEAP_NO_TYPE)
		HEAP_TRY(find_alternative(search, type, value, offset, &bounds->element));
	if (bounds->element == HEAP_NO_TYPE)
		return NULL;
	pages_read(search->inference->pages, value + offset, bounds->words, sizeof(bounds->words));
	elements = count_elements(search->inference, bounds);
	note_bounds(search, place, elements > 0);
	return elements > 0 && !is_dead(search->inference, bounds, offset)
		       ? judge(search, bounds, elements)
		       : NULL;
}

// False if one of the two words behind an edge's leads to the start of another block, which is no place of the array: so it
// is for the nodes of trees, of which there may be millions. An allocator may put the next block where the array ends.
static bool may_be_first(const struct heap_snapshot *snapshot, uint64_t edge, uint64_t end)
{
	heap_object_id target = snapshot->edge_target[edge];

	for (uint64_t i = edge + 1; i < end && i < edge + BOUNDS &&
				    snapshot->edge_slot[i] - snapshot->edge_slot[edge] < BOUNDS;
	     i++) {
		if (snapshot->edge_target[i] != target && snapshot->edge_target[i] != target + 1)
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *visit_object(struct search *search, heap_object_id holder)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_type_id type = inference_type(inference, holder);
	uint32_t end = snapshot->edge_first[holder + 1];
	const struct heap_repetition *repetition = NULL;
	uint64_t prefix = 0;

	for (uint32_t i = snapshot->edge_first[holder]; i < end; i++) {
		uint64_t slot = snapshot->edge_slot[i] * UINT64_C(8);
		struct bounds bounds = {
			.holder = holder,
			.target = snapshot->edge_target[i],
			.is_sure = names_is_sure(&inference->capture->names, holder),
		};

		progress_step();
		if (!layouts_is_start(snapshot->edge_interior[i]) ||
		    !may_be_first(snapshot, i, end))
			continue;
		if (!repetition) {
			prefix = inference_prefix(inference, holder);
			HEAP_TRY(heap_repetitions_find(&inference->repetitions, type, &repetition));
		}
		if (slot < prefix || !heap_repetition_has_room(repetition, slot - prefix,
							       inference_size(inference, holder)))
			continue;
		HEAP_TRY(judge_pointer(search, type, repetition,
				       inference_address(inference, holder), slot - prefix,
				       &bounds));
	}
	return NULL;
}

// Local variables may not be set yet.
HEAP_MUST_CHECK
static struct heap_error *visit_roots(struct search *search)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->root_edge_count && !progress_is_late(); i++) {
		const struct heap_root_edge *edge = &snapshot->root_edges[i];
		const struct heap_root *root = &snapshot->roots[edge->root];
		struct bounds bounds = { HEAP_NO_OBJECT, edge->target, .is_sure = true };
		struct root_value value;

		progress_step();
		if (root->kind == HEAP_ROOT_LOCAL || !layouts_is_start(edge->interior))
			continue;
		HEAP_TRY(inference_root_value(inference, root, &value));
		if (value.type != HEAP_NO_TYPE && heap_repetition_has_slots(value.repetition))
			HEAP_TRY(judge_pointer(search, value.type, value.repetition, root->address,
					       edge->offset, &bounds));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *visit_objects(struct search *search)
{
	const struct holders *holders = &search->holders;

	for (heap_object_id i = holders_next(holders, 0); i < holders->objects;
	     i = holders_next(holders, i + 1))
		HEAP_TRY(visit_object(search, i));
	return NULL;
}

struct heap_error *bounded_arrays_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP(release) struct search search = { .inference = inference, .claimed = claimed };
	bool found = false;

	HEAP_TRY(visit_roots(&search));
	HEAP_TRY(note_types(&search, &found));
	if (!found)
		return NULL;
	holders_begin(&search.holders);
	HEAP_TRY(visit_objects(&search));
	// Once is enough: of places that have bounds nothing is left out any more.
	return search.is_incomplete ? visit_objects(&search) : NULL;
}
