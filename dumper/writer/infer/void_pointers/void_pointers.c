// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/void_pointers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/void_pointers/void_meanings.h"
#include "dumper/writer/infer/void_pointers/void_visits.h"
#include "dumper/writer/infer/sampler.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash.h"

#include <stdlib.h>

enum {
	HEAD_DEPTH = 2, // from a node to its pointer in an array, and to the table that has that
	MAX_INDEXED = 4096, // places for single indexes of arrays
};

static void release(struct void_search *search)
{
	heap_array_deinit(&search->places);
	heap_hash_table_deinit(&search->by_place);
	heap_array_deinit(&search->lengths);
	deep_content_deinit(&search->deep);
	heap_array_deinit(&search->values);
	void_contexts_deinit(&search->contexts);
	free(search->words);
	free(search->voids);
}

// --- places -----------------------------------------------------------------------------------

static bool is_open(const struct void_place *place)
{
	return place->beside.offset != NO_CALLBACK;
}

// True if a place does not tell what all of its pointers lead to.
static bool is_left(const struct void_place *place)
{
	return place->meaning == MEANS_NOTHING ||
	       (place->meaning == MEANS_CAST && place->is_mixed) ||
	       ((place->meaning == MEANS_TYPE || place->meaning == MEANS_CAST) &&
		place->is_partial);
}

// Likewise of all pointers of a type. Code may cast those of one container alone.
static bool is_unclear(const struct void_place *place)
{
	return place->callback == 0 && is_left(place);
}

// True if the callback beside a pointer may tell more: it knows one type, code casts the pointers of all.
static bool may_be_divided(const struct void_place *place)
{
	return is_unclear(place) || (place->callback == 0 && place->meaning == MEANS_CAST);
}

static bool is_told(const struct void_place *place)
{
	return place->meaning != MEANS_NOTHING;
}

static uint64_t hash_place(const struct void_pointer *pointer, uint64_t callback)
{
	return heap_hash_mix(heap_hash_pair(pointer->type, pointer->offset), callback);
}

static struct void_place *find_place(const struct void_search *search,
				     const struct void_pointer *pointer, uint64_t callback)
{
	const struct void_place *list = search->places.items;
	uint32_t found =
		heap_hash_find(&search->by_place, hash_place(pointer, callback), i,
			       list[i].type == pointer->type && list[i].offset == pointer->offset &&
				       list[i].callback == callback);

	return found == HEAP_HASH_NONE ? NULL : &search->places.items[found];
}

// The callback of the value that has a pointer, or its table of functions; 0 if it has none.
// @param place  of the pointer
static uint64_t read_callback(const struct void_search *search, const struct void_place *place,
			      const struct void_pointer *pointer)
{
	const struct capture *capture = search->inference->capture;
	uint64_t callback = 0;

	if (is_open(place))
		pages_read(search->inference->pages,
			   pointer->value + place->beside.offset +
				   (place->beside.is_element ? pointer->element : 0),
			   &callback, sizeof(callback));
	// Code that is compiled as the program runs is in no module, and objects with functions of their own are no
	// tables: there may be as many as values.
	return modules_find(&capture->modules, callback) ? callback : 0;
}

// The context of a pointer as a callback of its place; 0 if it has none.
static uint64_t read_context(const struct void_search *search, const struct void_pointer *pointer)
{
	struct void_origin origin;
	uint32_t context = 0;

	if (search->contexts.of)
		context = pointer->edge ? void_contexts_of_variable(search->inference,
								    pointer->edge, &origin)
					: search->contexts.of[pointer->holder];
	return context ? VOID_CONTEXT | context : 0;
}

// The index of a pointer in its array as a callback of its place, with the context of that; 0 if it is in none.
static uint64_t read_index(const struct void_search *search, const struct void_pointer *pointer)
{
	uint64_t hash;

	if (pointer->exact == NO_INDEX)
		return 0;
	hash = heap_hash_mix(heap_hash_pair(pointer->exact, pointer->length),
			     read_context(search, pointer));
	return VOID_INDEX | hash >> 32;
}

// The place of the index of a pointer, if that tells more than the one of its context.
static const struct void_place *find_by_index(const struct void_search *search,
					      const struct void_pointer *pointer,
					      const struct void_place *context)
{
	uint64_t index = read_index(search, pointer);
	const struct void_place *place = index ? find_place(search, pointer, index) : NULL;

	return place && is_told(place) ? place : context;
}

// The place that tells what a pointer leads to: that with its callback or context, if all of them together do not
// tell all. @return NULL: there is none
static const struct void_place *find_telling(const struct void_search *search,
					     const struct void_pointer *pointer)
{
	const struct void_place *all = find_place(search, pointer, 0), *place = all, *narrow;
	bool is_contested;
	uint64_t callback = 0;

	if (place && is_open(place)) {
		callback = read_callback(search, place, pointer);
		place = callback ? find_place(search, pointer, callback) : NULL;
	}
	// The pointers of other callbacks are cast to none of the types among which this one's are.
	is_contested = place && place->is_contested;
	if (place && !is_told(place))
		place = NULL;
	if (all && (!place || (place == all && is_unclear(all)))) {
		callback = read_context(search, pointer);
		narrow = callback ? find_place(search, pointer, callback) : NULL;
		if (!narrow || is_left(narrow))
			narrow = find_by_index(search, pointer, narrow);
		if (narrow && is_told(narrow))
			place = narrow;
		else if (all->meaning == MEANS_CAST && !is_contested)
			place = all;
	}
	return place;
}

// True for the pointer that stands for its group of @p step consecutive ones.
//
// The first one of each would pass over types where targets of several take turns, and their order would decide which. Where
// sites are not known it still is the first: of mixed samples contents often tell no type there, or a wrong one.
static bool is_taken(const struct inference *inference, uint32_t number, uint32_t step)
{
	return inference_has_sites(inference) ? number == sampler_choose(step, number / step)
					      : number % step == 0;
}

// Keeps a target as a sample if it stands for its group. When there is no room, one of two stays.
static void keep_sample(const struct inference *inference, struct void_place *place,
			const struct void_pointer *pointer)
{
	if (!is_taken(inference, place->pointers++, place->step))
		return;
	place->samples[place->kept++] = (struct byte_pointer){ pointer->value, pointer->target };
	if (place->kept < VOID_SAMPLES)
		return;
	place->kept = VOID_SAMPLES / 2;
	for (uint32_t i = 0; i < place->kept; i++)
		place->samples[i] = place->samples[2 * i + is_taken(inference, 2 * i + 1, 2)];
	place->step *= 2;
}

// Reads the word that tells a pointer of a place apart from others, as places are being divided. @return 0: there is none
static uint64_t read_division(const struct void_search *search, const struct void_place *place,
			      const struct void_pointer *pointer)
{
	const struct void_place *narrow;
	uint64_t context;

	if (search->by_callback)
		return is_open(place) ? read_callback(search, place, pointer) : 0;
	if (!is_unclear(place))
		return 0;
	context = read_context(search, pointer);
	if (search->by_context)
		return context;
	narrow = context ? find_place(search, pointer, context) : NULL;
	return !narrow || is_left(narrow) ? read_index(search, pointer) : 0;
}

// Counts the type that a target has, whether it is a sample or not.
static void count_name(const struct inference *inference, struct void_place *place,
		       heap_object_id target)
{
	if (!claims_are_good(&inference->claims, target))
		return;
	place->voters++;
	majority_add(&place->names, inference_type(inference, target));
}

HEAP_MUST_CHECK
static struct heap_error *count_pointer(struct void_search *search,
					const struct void_pointer *pointer)
{
	struct void_place *place = find_place(search, pointer, 0);
	uint64_t callback = 0;

	if (search->by_callback || search->by_context || search->by_index) {
		callback = place ? read_division(search, place, pointer) : 0;
		if (callback == 0)
			return NULL;
		place = find_place(search, pointer, callback);
		if (!place && search->by_index && search->indexed++ >= MAX_INDEXED)
			return NULL;
	}
	if (!place) {
		HEAP_TRY(heap_hash_add(&search->by_place, hash_place(pointer, callback),
				       (uint32_t)search->places.count));
		HEAP_TRY(heap_array_append(&search->places,
					   ((struct void_place){ .type = pointer->type,
								 .offset = pointer->offset,
								 .exact = pointer->exact,
								 .callback = callback,
								 .beside.offset = NO_CALLBACK,
								 .step = 1 })));
		place = &search->places.items[search->places.count - 1];
	}
	if (pointer->is_inner) {
		place->inner++;
		return NULL;
	}
	keep_sample(search->inference, place, pointer);
	count_name(search->inference, place, pointer->target);
	if (search->by_content)
		void_arrays_add(&place->arrays, search->inference, pointer->target);
	return NULL;
}

// --- claims -----------------------------------------------------------------------------------

// True if a block needs nothing that code casts pointers to: what has allocated it knows its type.
static bool is_known_by_site(const struct inference *inference, heap_object_id target)
{
	return inference_has_sites(inference) && claims_are_good(&inference->claims, target);
}

HEAP_MUST_CHECK
static struct heap_error *claim_target(struct void_search *search,
				       const struct void_pointer *pointer)
{
	struct inference *inference = search->inference;
	const struct void_place *place = find_telling(search, pointer);
	bool is_tagged = place && place->meaning == MEANS_TAGGED;
	enum heap_evidence evidence = HEAP_EVIDENCE_VOTE;
	struct layout_claim claim;

	if (pointer->is_inner || !place ||
	    claims_rank(&inference->claims, pointer->target) <= place->rank)
		return NULL;
	claim = void_meanings_fit(search, place, pointer);
	if (claim.fit == LAYOUT_NONE)
		return NULL;
	if (is_tagged)
		evidence = HEAP_EVIDENCE_TAG;
	else if (place->is_handled)
		evidence = HEAP_EVIDENCE_METHODS;
	else if (place->meaning == MEANS_CAST || place->meaning == MEANS_ONE_CAST)
		evidence = HEAP_EVIDENCE_CAST;
	if (evidence == HEAP_EVIDENCE_CAST && is_known_by_site(inference, pointer->target))
		return NULL;
	++*search->claimed;
	return claims_add(&inference->claims, place->rank,
			  &(struct claim){ pointer->target, claim.type, claim.elements, evidence,
					   is_tagged && pointer->is_sure });
}

// Finds the meanings of places from a number on.
HEAP_MUST_CHECK
static struct heap_error *find_meanings(struct void_search *search, size_t first)
{
	for (size_t i = first; i < search->places.count && !progress_is_late(); i++)
		HEAP_TRY(void_meanings_find(search, &search->places.items[i]));
	return NULL;
}

// Tells the void pointers of places apart by callbacks where nothing, or not all, of them is known. One callback
// may have another type than those that voted.
HEAP_MUST_CHECK
static struct heap_error *divide_places(struct void_search *search)
{
	size_t count = search->places.count, open = 0;

	for (size_t i = 0; i < count; i++) {
		struct void_place *place = &search->places.items[i];

		if (may_be_divided(place))
			place->beside = callbacks_find(&search->inference->layouts, place->type,
						       place->offset);
		open += is_open(place);
	}
	if (open == 0)
		return NULL;
	search->by_callback = true;
	void_visits_narrow(search, is_open);
	HEAP_TRY(void_visits_all(search, count_pointer));
	search->by_callback = false;
	return find_meanings(search, count);
}

// True if a type has pointers, and all lead to containers, but for those to functions and to what many share: an
// allocator, the texts of all keys, settings.
static bool holds_containers(const struct inference *inference, const uint8_t *is_container,
			     const uint32_t *counts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	bool has_any = false;

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		heap_type_id pointee = layouts_strip(&inference->layouts, slots->list[i].pointee);

		if (inference->layouts.types->types[pointee].kind == HEAP_TYPE_FUNCTION)
			continue;
		if (is_container[pointee])
			has_any = true;
		else if (counts[pointee] >= counts[type])
			return false;
	}
	return has_any;
}

// The heads of containers have no void pointers themselves: those of lists lead to their first nodes, those of hash
// tables to arrays of pointers to these. Types that no object has may have huge arrays, and finding the pointers in these
// takes long.
HEAP_MUST_CHECK
static struct heap_error *add_heads(struct inference *inference, uint8_t *is_container)
{
	const uint32_t *counts;

	HEAP_TRY(inference_count_types(inference, &counts));
	for (int depth = 0; depth < HEAD_DEPTH; depth++) {
		for (heap_type_id id = 1; id < inference->layouts.types->count; id++) {
			if (counts[id] > 0 && !is_container[id])
				is_container[id] =
					holds_containers(inference, is_container, counts, id);
		}
	}
	return NULL;
}

// Tells those that are left apart by their contexts.
HEAP_MUST_CHECK
static struct heap_error *divide_by_context(struct void_search *search)
{
	size_t count = search->places.count, types = search->inference->layouts.types->count;
	CLEANUP_FREE uint8_t *is_container = calloc(types + 1, 1);

	if (!is_container)
		return heap_error_out_of_memory();
	for (heap_type_id id = 1; id < types; id++)
		is_container[id] =
			search->voids[id] == VOIDS_SOME || search->voids[id] == VOIDS_IDLE;
	void_visits_narrow(search, is_unclear);
	if (!search->has_holders)
		return NULL;
	HEAP_TRY(add_heads(search->inference, is_container));
	HEAP_TRY(void_contexts_find(search->inference, is_container, &search->contexts));
	search->by_context = true;
	HEAP_TRY(void_visits_all(search, count_pointer));
	return find_meanings(search, count);
}

// Tells those that are left then apart by their index in an array, as the contexts of plugins or columns of tables.
HEAP_MUST_CHECK
static struct heap_error *divide_by_index(struct void_search *search)
{
	size_t count = search->places.count;

	if (!search->has_holders)
		return NULL;
	search->by_context = false;
	search->by_index = true;
	HEAP_TRY(void_visits_all(search, count_pointer));
	return find_meanings(search, count);
}

struct heap_error *void_pointers_claim(struct inference *inference, bool by_content,
				       uint64_t *claimed)
{
	CLEANUP(release)
	struct void_search search = {
		.inference = inference,
		.voids = calloc((size_t)inference->layouts.types->count + 1, 1),
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words)),
		.by_content = by_content,
		.void_pointer = void_arrays_element(inference),
		.claimed = claimed,
	};

	if (!search.words || !search.voids)
		return heap_error_out_of_memory();
	search.voids[HEAP_NO_TYPE] = VOIDS_NONE;
	HEAP_TRY(void_visits_find_holders(&search));
	HEAP_TRY(void_visits_all(&search, count_pointer));
	if (search.places.count == 0)
		return NULL;
	HEAP_TRY(self_lengths_find(inference, &search.lengths));
	HEAP_TRY(find_meanings(&search, 0));
	HEAP_TRY(divide_places(&search));
	if (by_content) {
		HEAP_TRY(divide_by_context(&search));
		HEAP_TRY(divide_by_index(&search));
	}
	void_visits_narrow(&search, is_told);
	return void_visits_all(&search, claim_target);
}
