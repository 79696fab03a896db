// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/texts/text_headers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/headers.h"
#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	MAX_TYPES = 32, // with characters behind a header; of more, none is believed
	MAX_TEXT = 4096,
	LEAST_BITS = 8, // of a length
	MAX_CHARACTERS = 4,
	LEAST_SHARE = 8, // of so many texts at one offset, one has its length before it
};

struct text_type {
	heap_type_id type;
	uint64_t start; // of the characters
	struct header_members members;
	uint64_t agreeing; // pointers to texts that are those of such structs, or may be
	uint64_t tried;    // to all texts at their offset
};

struct text_types {
	struct text_type list[MAX_TYPES];
	uint32_t count;
	uint64_t starts;                         // bit n: one has its characters at n + 1
	heap_type_id characters[MAX_CHARACTERS]; // of all kinds of them, HEAP_NO_TYPE behind
	uint32_t *furthest; // [objects] where the furthest pointer leads to; NULL: not needed yet
};

static void text_types_deinit(struct text_types *types)
{
	free(types->furthest);
}

// Arrays of unsigned char are bytes rather than texts.
static bool is_char(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_types *types = layouts->types;

	type = layouts_strip(layouts, type);
	return layouts_is_character(layouts, type) &&
	       strcmp(heap_types_string(types, types->types[type].name), "char") == 0;
}

static void gather_characters(const struct layouts *layouts, struct text_types *types)
{
	uint32_t count = 0;

	for (heap_type_id id = 1; id < layouts->types->count && count < MAX_CHARACTERS; id++) {
		if (layouts->facts[id].stripped == id && layouts_is_character(layouts, id))
			types->characters[count++] = id;
	}
}

// @return false: they are too many
static bool gather(const struct inference *inference, struct text_types *types)
{
	const struct layouts *layouts = &inference->layouts;

	*types = (struct text_types){ 0 };
	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct layout_facts *facts = &layouts->facts[id];
		struct text_type *type = &types->list[types->count];

		if (!facts->is_candidate || !facts->fits_any || facts->start == 0 ||
		    facts->start > HEADER_BYTES || facts->stripped != id ||
		    inference_is_of_libc(inference, id) || !is_char(layouts, facts->element))
			continue;
		if (types->count == MAX_TYPES)
			return false;
		type->type = id;
		type->start = facts->start;
		type->agreeing = type->tried = 0;
		types->starts |= UINT64_C(1) << (type->start - 1);
		type->members.count = 0;
		headers_gather(layouts->types, id, &type->members);
		types->count++;
	}
	if (types->count > 0)
		gather_characters(layouts, types);
	return types->count > 0;
}

// @return the length of the text at an offset of a block; 0: there is none, or it is longer than MAX_TEXT, or has nothing
// but white space, as the number 13 does
static uint64_t text_length(const struct inference *inference, heap_object_id object,
			    uint64_t offset)
{
	char text[MAX_TEXT];
	uint64_t size = inference_size(inference, object), length;
	bool has_letters = false;

	if (offset >= size)
		return 0;
	size = size - offset < MAX_TEXT ? size - offset : MAX_TEXT;
	pages_read(inference->pages, inference_address(inference, object) + offset, text, size);
	length = strnlen(text, size);
	for (uint64_t i = 0; i < length; i++) {
		if ((unsigned char)text[i] < ' ' && !strchr("\t\n\r", text[i]))
			return 0;
		has_letters |= text[i] != ' ' && !strchr("\t\n\r", text[i]);
	}
	return length < size && has_letters ? length : 0;
}

static bool has_length(const struct text_type *type, const struct header *header, uint64_t length)
{
	for (uint32_t i = 0; i < type->members.count; i++) {
		if (type->members.list[i].bits >= LEAST_BITS &&
		    headers_value(&type->members.list[i], header) == length)
			return true;
	}
	return false;
}

// The only type that has a text at an offset, and its @p length before it; NULL if there is none, or if
// pointers lead behind the text: then it is one of several in the block.
//
// @param furthest  where a pointer leads to, behind the block's prefix
static struct text_type *find(const struct inference *inference, struct text_types *types,
			      heap_object_id object, uint64_t offset, uint64_t length,
			      uint64_t furthest)
{
	struct text_type *found = NULL;
	struct header header;

	if (length == 0 || furthest > offset + length + 1)
		return NULL;
	inference_read_header(inference, object, &header);
	for (uint32_t i = 0; i < types->count; i++) {
		struct text_type *type = &types->list[i];

		if (type->start != offset || !has_length(type, &header, length))
			continue;
		if (found)
			return NULL;
		found = type;
	}
	return found;
}

static void reach(uint32_t *furthest, uint32_t interior)
{
	if (interior > *furthest)
		*furthest = interior;
}

// Finds the furthest place in each object that a pointer leads to. That visits all of memory, which most
// programs do not need.
HEAP_MUST_CHECK
static struct heap_error *find_furthest(const struct inference *inference, struct text_types *types)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t *furthest;

	if (types->furthest)
		return NULL;
	furthest = calloc((size_t)inference->capture->objects.count + 1, sizeof(*furthest));
	if (!furthest)
		return heap_error_out_of_memory();
	types->furthest = furthest;
	for (uint32_t i = 0; i < snapshot->edge_count; i++)
		reach(&furthest[snapshot->edge_target[i]], snapshot->edge_interior[i]);
	for (uint64_t i = 0; i < snapshot->root_edge_count; i++)
		reach(&furthest[snapshot->root_edges[i].target], snapshot->root_edges[i].interior);
	progress_steps(snapshot->edge_count);
	return NULL;
}

// True if a word of a block leads to the block's own text, as a std::string's does to a short one.
static bool points_into_itself(const struct heap_snapshot *snapshot, heap_object_id object,
			       uint64_t interior)
{
	for (uint32_t i = snapshot->edge_first[object]; i < snapshot->edge_first[object + 1]; i++) {
		progress_step();
		if (snapshot->edge_target[i] == object && snapshot->edge_interior[i] == interior)
			return true;
	}
	return false;
}

// A place in a block that a pointer leads to, where some struct has its text.
struct place {
	heap_object_id object;
	uint64_t offset; // behind the block's prefix
	bool is_named;
};

// @return false: it is no such place
static bool find_place(const struct inference *inference, const struct text_types *types,
		       uint32_t edge, struct place *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id object = snapshot->edge_target[edge];
	uint64_t interior = snapshot->edge_interior[edge];
	uint32_t prefix = inference_prefix(inference, object);

	if (interior <= prefix || interior - prefix > HEADER_BYTES ||
	    !(types->starts >> (interior - prefix - 1) & 1))
		return false;
	*result = (struct place){ object, interior - prefix,
				  claims_are_good(&inference->claims, object) };
	return true;
}

// True if the header's other members cannot have what lies there: a number may be anything's, and the length of its text.
static bool is_contradicted(const struct inference *inference, heap_object_id object,
			    heap_type_id type)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read(inference, object, words, &content);
	return content_contradicts(inference, &content, type);
}

// The only type that a block without a name is said to be of, by a pointer to its text.
//
// @param length  gets that of the text; 0: there is none
HEAP_MUST_CHECK
static struct heap_error *ask(const struct inference *inference, struct text_types *types,
			      const struct place *place, uint64_t *length,
			      struct text_type **result)
{
	uint32_t prefix = inference_prefix(inference, place->object);

	HEAP_TRY(find_furthest(inference, types));
	*length = text_length(inference, place->object, place->offset);
	*result = find(inference, types, place->object, place->offset, *length,
		       types->furthest[place->object] - prefix);
	if (*result && (points_into_itself(&inference->capture->snapshot, place->object,
					   place->offset + prefix) ||
			is_contradicted(inference, place->object, (*result)->type)))
		*result = NULL;
	return NULL;
}

// True if a block is known to be a struct with characters at a place.
static bool has_characters(const struct inference *inference, const struct text_types *types,
			   const struct place *place)
{
	if (!place->is_named ||
	    !layouts_is_compound(&inference->layouts, inference_type(inference, place->object)))
		return false;
	for (uint32_t i = 0; i < MAX_CHARACTERS && types->characters[i] != HEAP_NO_TYPE; i++) {
		if (inference_has(inference, place->object, types->characters[i], place->offset))
			return true;
	}
	return false;
}

// Counts a pointer to a text, for the only type of which it may be, and against the others.
HEAP_MUST_CHECK
static struct heap_error *count_text(const struct inference *inference, struct text_types *types,
				     const struct place *place)
{
	heap_type_id named = HEAP_NO_TYPE;
	struct text_type *found = NULL;
	uint64_t length = 0;

	if (place->is_named)
		named = inference_type(inference, place->object);
	else
		HEAP_TRY(ask(inference, types, place, &length, &found));
	if (length == 0 && !has_characters(inference, types, place))
		return NULL;
	for (uint32_t i = 0; i < types->count; i++) {
		struct text_type *type = &types->list[i];

		type->tried += type->start == place->offset;
		type->agreeing += type == found || type->type == named;
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim(struct inference *inference, struct text_types *types,
				const struct place *place, uint64_t *claimed)
{
	struct layout_claim fit;
	struct text_type *type;
	uint64_t length;

	HEAP_TRY(ask(inference, types, place, &length, &type));
	if (!type || type->agreeing * LEAST_SHARE < type->tried)
		return NULL;
	fit = layouts_fit(&inference->layouts, type->type, inference_size(inference, place->object),
			  inference_slack(inference, place->object));
	if (fit.fit == LAYOUT_NONE)
		return NULL;
	++*claimed;
	return claims_add(&inference->claims, RANK_EMBEDDED,
			  &(struct claim){ place->object, fit.type, fit.elements,
					   HEAP_EVIDENCE_EMBEDDING, false });
}

// Visits all pointers to places where some struct has its text.
//
// @param claimed  counted up; NULL: texts are counted
HEAP_MUST_CHECK
static struct heap_error *visit(struct inference *inference, struct text_types *types,
				uint64_t *claimed)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t count = snapshot->edge_first[inference->capture->objects.count];
	struct place place;

	// No characters are at a block's start.
	for (uint32_t i = inner_edges_find(snapshot, 0, count); i < count && !progress_is_late();
	     i = inner_edges_find(snapshot, i + 1, count)) {
		progress_step();
		if (!find_place(inference, types, i, &place))
			continue;
		if (!claimed)
			HEAP_TRY(count_text(inference, types, &place));
		else if (!place.is_named)
			HEAP_TRY(claim(inference, types, &place, claimed));
	}
	return NULL;
}

struct heap_error *text_headers_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP(text_types_deinit) struct text_types types = { 0 };

	if (inference_has_sites(inference) || !gather(inference, &types))
		return NULL;
	HEAP_TRY(visit(inference, &types, NULL));
	return visit(inference, &types, claimed);
}
