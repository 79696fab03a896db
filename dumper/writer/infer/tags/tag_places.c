// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/tag_places.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/bits.h"

#include <stdlib.h>
#include <string.h>

enum {
	TYPE_PLACES = 4,   // of a type, that are considered
	PLACES = 1024,     // at most
	MIN_TAGGED = 4,    // blocks of a place, or
	MIN_POINTERS = 16, // words that lead to their tables
	TAGGED_SHARE = 80, // per cent of them
};

bool tag_places_have(const struct inference *inference, heap_type_id type,
		     const struct tag_place *place)
{
	return layouts_has_pointer(&inference->layouts, type, place->offset, place->pointee);
}

struct heap_error *tag_places_list(struct inference *inference, uint32_t place)
{
	const struct layouts *layouts = &inference->layouts;
	struct tag_place *listed = &inference->pointer_tags.places.items[place];

	for (heap_type_id type = 1; !listed->is_listed && type < layouts->types->count; type++) {
		heap_type_id stripped = layouts_strip(layouts, type);

		progress_step();
		if (layouts_is_compound(layouts, stripped) &&
		    tag_places_have(inference, stripped, listed))
			HEAP_TRY(heap_array_append(&listed->types, type));
	}
	listed->is_listed = true;
	return NULL;
}

struct type_places {
	uint16_t places[TYPE_PLACES]; // numbers
	uint8_t count;
	bool is_known;
};

struct heap_error *tag_search_init(struct tag_search *search, struct inference *inference)
{
	search->inference = inference;
	search->of_types = calloc(inference->layouts.types->count, sizeof(*search->of_types));
	return search->of_types ? NULL : heap_error_out_of_memory();
}

void tag_search_deinit(struct tag_search *search)
{
	free(search->of_types);
}

// Finds or adds a place. @param result  its number; PLACES if there are too many
HEAP_MUST_CHECK
static struct heap_error *find_place(struct pointer_tags *tags, uint32_t offset,
				     heap_type_id pointee, uint16_t *result)
{
	for (size_t i = 0; i < tags->places.count; i++) {
		*result = (uint16_t)i;
		if (tags->places.items[i].offset == offset &&
		    tags->places.items[i].pointee == pointee)
			return NULL;
	}
	*result = PLACES;
	if (tags->places.count == PLACES)
		return NULL;
	*result = (uint16_t)tags->places.count;
	return heap_array_append(&tags->places,
				 (struct tag_place){ .offset = offset, .pointee = pointee });
}

HEAP_MUST_CHECK
static struct heap_error *find_type_places(struct tag_search *search, heap_type_id type,
					   struct type_places **result)
{
	const struct layouts *layouts = &search->inference->layouts;
	struct type_places *places = *result = &search->of_types[type];
	const struct heap_slots *slots =
		places->is_known ? NULL : heap_slot_table_get(&layouts->slots, type);

	places->is_known = true;
	for (uint32_t i = 0; slots && i < slots->count && places->count < TYPE_PLACES; i++) {
		const struct heap_slot *slot = &slots->list[i];
		bool is_either = i + 1 < slots->count && slots->list[i + 1].offset == slot->offset;

		if (slot->offset + 8 > TAG_HEAD_BYTES)
			break;
		if (is_either ||
		    (slot->pointee != HEAP_NO_TYPE && !layouts_is_compound(layouts, slot->pointee)))
			continue;
		HEAP_TRY(find_place(&search->inference->pointer_tags, (uint32_t)slot->offset,
				    slot->pointee, &places->places[places->count]));
		places->count += places->places[places->count] != PLACES;
	}
	return NULL;
}

// The type known to be at the start of a block: its own, or that of the part a slot leads to.
static heap_type_id find_start_type(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id found = HEAP_NO_TYPE;

	if (claims_are_good(&inference->claims, object) &&
	    names_of(&inference->capture->names, object)->elements <= 1)
		return inference_type(inference, object);
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!layouts_is_start(hint->interior) || hint->either ||
		    !layouts_is_compound(layouts, hint->type))
			continue;
		if (found == HEAP_NO_TYPE || claims_prefer(layouts, hint->type, found))
			found = hint->type;
	}
	return found;
}

static void read_head(const struct inference *inference, heap_object_id object, uint64_t *words)
{
	uint64_t size = inference_size(inference, object);

	memset(words, 0, TAG_HEAD_BYTES);
	pages_read(inference->pages, inference_address(inference, object), words,
		   size < TAG_HEAD_BYTES ? size / 8 * 8 : TAG_HEAD_BYTES);
}

struct heap_error *tag_places_find_holders(struct inference *inference)
{
	struct pointer_tags *tags = &inference->pointer_tags;
	const struct objects *objects = &inference->capture->objects;

	tags->holders = calloc(objects->count / 8 + 1, 1);
	if (!tags->holders)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < objects->count; i++) {
		uint64_t words[(BLOCK_PREFIX_MAX + TAG_HEAD_BYTES) / 8];
		uint64_t size = objects_size(objects, i);
		size_t count = size < sizeof(words) ? size / 8 : sizeof(words) / 8, at = 0;

		progress_step();
		pages_read(inference->pages, objects_address(objects, i), words, count * 8);
		while (at < count && !method_tables_find(&tags->tables, words[at]))
			at++;
		if (at < count)
			heap_bit_set(tags->holders, i);
	}
	return NULL;
}

struct heap_error *tag_places_visit(struct tag_search *search, bool joined,
				    tag_place_visitor *visit)
{
	struct inference *inference = search->inference;
	const struct pointer_tags *tags = &inference->pointer_tags;

	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		heap_type_id type;
		struct type_places *places;
		uint64_t words[TAG_HEAD_BYTES / 8];
		bool is_done = false;

		progress_step();
		if (!tag_places_is_holder(tags, i) || (!joined && tags->of[i] != 0))
			continue;
		type = find_start_type(inference, i);
		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(find_type_places(search, type, &places));
		if (places->count == 0)
			continue;
		read_head(inference, i, words);
		for (uint8_t j = 0; !is_done && j < places->count; j++) {
			uint16_t place = places->places[j];

			// cppcheck-suppress returnDanglingLifetime; an error is no address of is_done
			HEAP_TRY(
				visit(search, i, place,
				      words[inference->pointer_tags.places.items[place].offset / 8],
				      &is_done));
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *count_place(struct tag_search *search, heap_object_id object,
				      uint16_t number, uint64_t word, bool *is_done)
{
	struct pointer_tags *tags = &search->inference->pointer_tags;
	struct tag_place *place = &tags->places.items[number];
	const struct method_table *table = method_tables_find(&tags->tables, word);

	(void)object;
	place->blocks++;
	*is_done = table != NULL;
	place->tagged += *is_done;
	place->pointers += table ? table->blocks : 0;
	return NULL;
}

// True if enough holders have their tag at a place.
static bool has_support(const struct tag_place *place)
{
	return place->tagged >= MIN_TAGGED || place->pointers >= MIN_POINTERS;
}

static bool is_mostly_tagged(const struct tag_place *place)
{
	return place->tagged * UINT64_C(100) >= place->blocks * (uint64_t)TAGGED_SHARE;
}

// True if a place is not accepted yet, and the blocks that have it without a tag decide.
static bool is_candidate(const struct tag_place *place)
{
	return !place->is_accepted && has_support(place) && is_mostly_tagged(place);
}

static uint32_t count_candidates(const struct pointer_tags *tags)
{
	uint32_t count = 0;

	for (size_t i = 0; i < tags->places.count; i++)
		count += is_candidate(&tags->places.items[i]);
	return count;
}

// Counts the blocks that have a place and no tag anywhere, until that speaks against all candidates.
HEAP_MUST_CHECK
static struct heap_error *count_others(struct tag_search *search)
{
	struct inference *inference = search->inference;
	struct pointer_tags *tags = &inference->pointer_tags;
	uint32_t left = count_candidates(tags);

	for (heap_object_id i = 0; left > 0 && i < inference->capture->objects.count; i++) {
		heap_type_id type;
		struct type_places *places;

		progress_step();
		if (tag_places_is_holder(tags, i))
			continue;
		type = find_start_type(inference, i);
		if (type == HEAP_NO_TYPE)
			continue;
		HEAP_TRY(find_type_places(search, type, &places));
		for (uint8_t j = 0; j < places->count; j++) {
			struct tag_place *place = &tags->places.items[places->places[j]];
			bool before = is_candidate(place);

			place->blocks++;
			left -= before && !is_candidate(place);
		}
	}
	return NULL;
}

struct heap_error *tag_places_accept(struct tag_search *search, bool *any)
{
	struct pointer_tags *tags = &search->inference->pointer_tags;

	for (size_t i = 0; i < tags->places.count; i++) {
		struct tag_place *place = &tags->places.items[i];

		place->blocks = place->tagged = 0;
		place->pointers = 0;
	}
	HEAP_TRY(tag_places_visit(search, true, count_place));
	HEAP_TRY(count_others(search));
	*any = false;
	for (size_t i = 0; i < tags->places.count; i++) {
		struct tag_place *place = &tags->places.items[i];

		place->is_accepted |= has_support(place) && is_mostly_tagged(place);
		*any |= place->is_accepted;
	}
	return NULL;
}
