// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/array_lengths.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/infer/holders.h"
#include "dumper/writer/infer/sampler.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>

enum {
	NUMBERS = 8,      // beside a pointer, at most
	NEAR = 32,        // bytes from the pointer to a number
	LEAST_BITS = 8,   // of a length
	MIN_POINTERS = 8, // seen at a place
	AGREEING = 98,    // per cent of them
	HOLDERS = 1024,   // of each type that are looked at, about
	SIZES = 3,        // of their targets, at least
};

// The pointers at one place of a type, and the numbers beside them.
struct place {
	heap_type_id type, pointee;
	uint64_t offset;
	struct header_member numbers[NUMBERS]; // [count]
	uint32_t agreeing[NUMBERS];            // pointers
	uint32_t count;
	uint32_t pointers;
	uint64_t sizes[SIZES]; // [size_count] of targets, all different
	uint32_t size_count;
	const struct header_member *length; // NULL: none of the numbers
};

struct search {
	struct inference *inference;
	struct HEAP_ARRAY(struct place) places;
	struct heap_hash_table by_place;
	uint64_t *words; // [CONTENT_WORDS + 1]
	uint64_t *claimed;
};

// A pointer to the start of a block.
struct length_pointer {
	heap_type_id type, pointee;
	uint64_t offset; // in a value of the type
	uint64_t value;  // address of that value
	heap_object_id target;
};

typedef struct heap_error *(*visitor)(struct search *search, const struct length_pointer *pointer);

static void release(struct search *search)
{
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_place);
	free(search->words);
}

// Reads an edge that is a pointer with one possible pointee, a struct. @return false: it is no such pointer
static bool read_edge(const struct inference *inference, const struct heap_repetition *repetition,
		      heap_object_id holder, uint32_t edge, struct length_pointer *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct layouts *layouts = &inference->layouts;
	uint64_t slot = snapshot->edge_slot[edge] * UINT64_C(8);
	uint64_t prefix = inference_prefix(inference, holder);
	heap_type_id type = inference_type(inference, holder);
	uint64_t offset = slot - prefix, size = layouts_size(layouts, type);
	const struct heap_slots *slots;
	uint32_t first, end;

	if (slot < prefix || !layouts_is_start(snapshot->edge_interior[edge]) ||
	    !heap_repetition_has_room(repetition, offset, inference_size(inference, holder)) ||
	    (layouts_is_flexible(layouts, type) && offset >= size))
		return false;
	slots = heap_repetition_slots_at(repetition, offset, &first, &end);
	if (!slots || end - first != 1 || slots->list[first].pointee == HEAP_NO_TYPE)
		return false;
	*result = (struct length_pointer){
		.type = type,
		.pointee = layouts_strip(layouts, slots->list[first].pointee),
		.offset = offset % size,
		.value = inference_address(inference, holder) + offset - offset % size,
		.target = snapshot->edge_target[edge],
	};
	return layouts_is_compound(layouts, result->pointee) &&
	       !layouts_is_flexible(layouts, result->pointee);
}

HEAP_MUST_CHECK
static struct heap_error *visit_holder(struct search *search, heap_object_id holder, visitor visit)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_repetition *repetition;
	struct length_pointer pointer;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, inference_type(inference, holder),
				       &repetition));
	if (!heap_repetition_has_slots(repetition))
		return NULL;
	for (uint32_t i = snapshot->edge_first[holder]; i < snapshot->edge_first[holder + 1]; i++) {
		progress_step();
		if (!read_edge(inference, repetition, holder, i, &pointer))
			continue;
		// cppcheck-suppress returnDanglingLifetime; an error does not refer to the pointer
		HEAP_TRY(visit(search, &pointer));
	}
	return NULL;
}

// --- learning ----------------------------------------------------------------------------------

// Gathers the numbers near the pointer, the first few of them.
static void gather_numbers(const struct inference *inference, struct place *place)
{
	struct header_members members = { .count = 0 };

	headers_gather(inference->layouts.types, place->type, &members);
	for (uint32_t i = 0; i < members.count && place->count < NUMBERS; i++) {
		const struct header_member *member = &members.list[i];

		if (member->bits >= LEAST_BITS && member->offset + NEAR >= place->offset &&
		    member->offset <= place->offset + NEAR)
			place->numbers[place->count++] = *member;
	}
}

static struct place *find_place(const struct search *search, const struct length_pointer *pointer)
{
	struct place *list = search->places.items;
	uint32_t found =
		heap_hash_find(&search->by_place, heap_hash_pair(pointer->type, pointer->offset), i,
			       list[i].type == pointer->type && list[i].offset == pointer->offset);

	return found == HEAP_HASH_NONE ? NULL : &list[found];
}

HEAP_MUST_CHECK
static struct heap_error *add_place(struct search *search, const struct length_pointer *pointer,
				    struct place **result)
{
	struct place place = {
		.type = pointer->type,
		.pointee = pointer->pointee,
		.offset = pointer->offset,
	};

	gather_numbers(search->inference, &place);
	HEAP_TRY(heap_hash_add(&search->by_place, heap_hash_pair(place.type, place.offset),
			       (uint32_t)search->places.count));
	HEAP_TRY(heap_array_append(&search->places, place));
	*result = &search->places.items[search->places.count - 1];
	return NULL;
}

static uint64_t read_number(const struct inference *inference, const struct header_member *number,
			    uint64_t value)
{
	struct header header;

	pages_read(inference->pages, value, header.words, sizeof(header.words));
	return headers_value(number, &header);
}

static void note_size(struct place *place, uint64_t size)
{
	for (uint32_t i = 0; i < place->size_count; i++) {
		if (place->sizes[i] == size)
			return;
	}
	if (place->size_count < SIZES)
		place->sizes[place->size_count++] = size;
}

HEAP_MUST_CHECK
static struct heap_error *count_pointer(struct search *search, const struct length_pointer *pointer)
{
	const struct inference *inference = search->inference;
	struct place *place = find_place(search, pointer);

	if (!place)
		HEAP_TRY(add_place(search, pointer, &place));
	if (place->count == 0 || inference_prefix(inference, pointer->target) != 0)
		return NULL;
	place->pointers++;
	note_size(place, inference_size(inference, pointer->target));
	for (uint32_t i = 0; i < place->count; i++) {
		uint64_t count = read_number(inference, &place->numbers[i], pointer->value);

		progress_step();
		place->agreeing[i] +=
			inference_has_length(inference, pointer->target, place->pointee, count);
	}
	return NULL;
}

// Looks for types with pointers beside which there are numbers.
static bool may_have_places(const struct inference *inference, heap_type_id type)
{
	struct header_members members = { .count = 0 };

	if (!layouts_is_compound(&inference->layouts, type))
		return false;
	headers_gather(inference->layouts.types, type, &members);
	for (uint32_t i = 0; i < members.count; i++) {
		if (members.list[i].bits >= LEAST_BITS)
			return true;
	}
	return false;
}

// Visits about HOLDERS objects of each type that may have places, so that small types are seen as well as large ones.
HEAP_MUST_CHECK
static struct heap_error *visit_samples(struct search *search)
{
	struct inference *inference = search->inference;
	size_t types = inference->layouts.types->count;
	CLEANUP(holders_deinit) struct holders holders = { 0 };
	CLEANUP_FREE struct sampler *samplers = malloc((types + 1) * sizeof(*samplers));
	const uint32_t *counts;

	if (!samplers)
		return heap_error_out_of_memory();
	HEAP_TRY(holders_init(&holders, inference));
	HEAP_TRY(inference_count_types(inference, &counts));
	for (heap_type_id id = 1; id < types; id++) {
		holders.are_types[id] = counts[id] > 0 && may_have_places(inference, id);
		samplers[id] = sampler_of(counts[id] / HOLDERS + 1);
	}
	holders_begin(&holders);
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1)) {
		if (sampler_takes(&samplers[inference_type(inference, i)]))
			HEAP_TRY(visit_holder(search, i, count_pointer));
	}
	return NULL;
}

// Finds the number with which most pointers agree. @return false: there is none
static bool find_length(struct place *place)
{
	uint32_t best = 0;

	for (uint32_t i = 1; i < place->count; i++)
		best = place->agreeing[i] > place->agreeing[best] ? i : best;
	if (place->count > 0 && place->pointers >= MIN_POINTERS && place->size_count == SIZES &&
	    place->agreeing[best] * UINT64_C(100) >= place->pointers * (uint64_t)AGREEING)
		place->length = &place->numbers[best];
	return place->length;
}

// --- claims ------------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *claim_target(struct search *search, const struct length_pointer *pointer)
{
	struct inference *inference = search->inference;
	const struct place *place = find_place(search, pointer);
	struct content content;
	uint64_t count;

	if (!place || !place->length || !inference_is_open(inference, pointer->target))
		return NULL;
	count = read_number(inference, place->length, pointer->value);
	if (!inference_has_length(inference, pointer->target, place->pointee, count) ||
	    hints_ask(inference, pointer->target, place->pointee) == VERDICT_AGAINST)
		return NULL;
	content_read(inference, pointer->target, search->words, &content);
	if (content_score(inference, &content, place->pointee, count) < 0)
		return NULL;
	++*search->claimed;
	return claims_add(&inference->claims, RANK_PASSED_FLEXIBLE,
			  &(struct claim){ pointer->target, place->pointee, count,
					   HEAP_EVIDENCE_POINTER, false });
}

// Visits all objects of types with places that have lengths.
HEAP_MUST_CHECK
static struct heap_error *visit_lengths(struct search *search)
{
	struct inference *inference = search->inference;
	CLEANUP(holders_deinit) struct holders holders = { 0 };

	HEAP_TRY(holders_init(&holders, inference));
	for (size_t i = 0; i < search->places.count; i++) {
		if (search->places.items[i].length)
			holders.are_types[search->places.items[i].type] = true;
	}
	holders_begin(&holders);
	for (heap_object_id i = holders_next(&holders, 0); i < holders.objects;
	     i = holders_next(&holders, i + 1))
		HEAP_TRY(visit_holder(search, i, claim_target));
	return NULL;
}

struct heap_error *array_lengths_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP(release)
	struct search search = { .inference = inference, .claimed = claimed };
	bool has_any = false;

	if (inference_has_sites(inference))
		return NULL;
	search.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words));
	if (!search.words)
		return heap_error_out_of_memory();
	HEAP_TRY(visit_samples(&search));
	for (size_t i = 0; i < search.places.count; i++)
		has_any |= find_length(&search.places.items[i]);
	return has_any ? visit_lengths(&search) : NULL;
}
