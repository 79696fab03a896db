// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sizes/agreement.h"

#include "dumper/writer/base/progress.h"

enum {
	MAX_SLOTS = 64, // pointers of a type that are looked at
};

static bool is_text(const struct inference *inference, heap_object_id object)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read(inference, object, words, &content);
	return content_is_text(inference, &content, inference_size(inference, object));
}

static bool is_named(const struct inference *inference, heap_object_id object)
{
	return claims_are_good(&inference->claims, object) &&
	       inference_type(inference, object) != HEAP_NO_TYPE;
}

// True for an object of characters, or without a name that has letters.
static bool holds_text(const struct inference *inference, heap_object_id object)
{
	return is_named(inference, object) ? layouts_is_character(&inference->layouts,
								  inference_type(inference, object))
					   : is_text(inference, object);
}

// The pointer that an object has where a type has a slot; UINT32_MAX: there is none.
static uint32_t find_edge(const struct inference *inference, heap_object_id object,
			  const struct heap_slot *slot)
{
	return slot->pointee == HEAP_NO_TYPE
		       ? UINT32_MAX
		       : heap_edge_at(&inference->capture->snapshot, object, slot->offset);
}

// True if a block without a name is a struct by its size and contents.
static bool may_be_struct(const struct inference *inference, heap_object_id object,
			  heap_type_id type)
{
	struct layout_claim claim = inference_fit(inference, type, object);
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	if (claim.fit == LAYOUT_NONE || claim.elements != 1)
		return false;
	content_read(inference, object, words, &content);
	return content_score(inference, &content, claim.type, claim.elements) > 0;
}

// How much the object that a pointer leads to proves, if it has a name, hints or a text.
static uint32_t prove_other(const struct inference *inference, uint32_t edge, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id target = snapshot->edge_target[edge];
	uint64_t interior = snapshot->edge_interior[edge];

	if (layouts_is_compound(&inference->layouts, pointee)) {
		bool is_it = is_named(inference, target)
				     ? inference_has(inference, target, pointee, interior)
				     : hints_tell(inference, target, pointee, interior);

		return is_it ? AGREEMENT_STRUCT : 0;
	}
	if (!layouts_is_character(&inference->layouts, pointee) || interior != 0)
		return 0;
	return holds_text(inference, target) ? AGREEMENT_TEXT : 0;
}

uint32_t agreement_prove_target(const struct inference *inference, heap_object_id object,
				uint32_t edge, heap_type_id type, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct layouts *layouts = &inference->layouts;
	uint64_t interior = snapshot->edge_interior[edge];

	if (snapshot->edge_target[edge] != object)
		return prove_other(inference, edge, pointee);
	if (layouts_is_character(layouts, pointee)
		    ? layouts_has(layouts, type, pointee, interior)
		    : layouts_has_sentinel(layouts, type, interior, pointee))
		return AGREEMENT_STRUCT;
	return 0;
}

// True if a pointer of an object where a type has one leads to what proves something.
static bool is_supported(const struct inference *inference, heap_object_id object,
			 heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	for (uint32_t i = 0; slots && i < slots->count && i < MAX_SLOTS; i++) {
		uint32_t edge = find_edge(inference, object, &slots->list[i]);

		progress_step();
		if (edge != UINT32_MAX && agreement_prove_target(inference, object, edge, type,
								 slots->list[i].pointee) > 0)
			return true;
	}
	return false;
}

// The same for an object without a name, by its size and contents, and by its own pointers.
static uint32_t prove_ahead(const struct inference *inference, uint32_t edge, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id target = snapshot->edge_target[edge];

	if (!layouts_is_compound(&inference->layouts, pointee) || is_named(inference, target) ||
	    snapshot->edge_interior[edge] != 0 || !may_be_struct(inference, target, pointee))
		return 0;
	return is_supported(inference, target, pointee) ? AGREEMENT_STRUCT : AGREEMENT_AHEAD;
}

// @param ahead  the most that an object without a name may prove; 0: nothing
static uint32_t prove_pointer(const struct inference *inference, heap_object_id object,
			      uint32_t edge, heap_type_id type, heap_type_id pointee,
			      uint32_t ahead)
{
	uint32_t proof = agreement_prove_target(inference, object, edge, type, pointee);

	if (proof > 0 || ahead == 0)
		return proof;
	proof = prove_ahead(inference, edge, pointee);
	return proof < ahead ? proof : ahead;
}

// A pointer to the start of a part may as well lead to an array of such parts.
uint32_t agreement_prove_hints(const struct inference *inference, heap_object_id object,
			       heap_type_id type)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if ((hint->type == type || !layouts_is_start(hint->interior)) &&
		    hint_ask(inference, hint, type) == VERDICT_FOR)
			return AGREEMENT_STRUCT;
	}
	return 0;
}

// How much the pointers to a block, and those in it, prove that it is of a type. Of a union's members at
// one place the best counts.
static uint32_t prove(const struct inference *inference, heap_object_id object, heap_type_id type,
		      uint32_t ahead)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	uint32_t proof = agreement_prove_hints(inference, object, type);
	uint32_t here = 0;

	for (uint32_t i = 0; slots && i < slots->count && i < MAX_SLOTS; i++) {
		const struct heap_slot *slot = &slots->list[i];
		uint32_t one, edge = find_edge(inference, object, slot);

		progress_step();
		if (i > 0 && slots->list[i - 1].offset != slot->offset) {
			proof += here;
			here = 0;
		}
		one = edge == UINT32_MAX
			      ? 0
			      : prove_pointer(inference, object, edge, type, slot->pointee, ahead);
		here = one > here ? one : here;
	}
	return proof + here;
}

// True for a block that begins with letters where a type has a pointer. What it has behind them may be of a struct that
// was freed, whose pointers are good.
static bool reads_as_text(const struct inference *inference, const struct content *content,
			  heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	return slots && slots->count > 0 && slots->list[0].offset == 0 &&
	       content_is_text_and_rest(inference, content,
					inference_size(inference, content->object));
}

bool agreement_is_uniform(const struct inference *inference, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].offset != i * sizeof(uint64_t) ||
		    slots->list[i].pointee != slots->list[0].pointee)
			return false;
	}
	return slots && slots->count * sizeof(uint64_t) == layouts_size(&inference->layouts, type);
}

bool agreement_is_all_texts(const struct inference *inference, const struct content *content)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[content->object];
	uint32_t end = snapshot->edge_first[content->object + 1];
	size_t count = 0;

	for (size_t i = 0; i < content->count; i++)
		count += content->words[i] != 0;
	for (uint32_t i = first; i < end && count == end - first; i++) {
		progress_step();
		if (!holds_text(inference, snapshot->edge_target[i]))
			return false;
	}
	return count == end - first;
}

struct agreement agreement_of(const struct inference *inference, const struct content *content,
			      heap_type_id type, uint32_t ahead, uint32_t least)
{
	heap_object_id object = content->object;
	struct agreement result = { .proof = prove(inference, object, type, ahead), .score = -1 };

	if (result.proof < least)
		return result;
	result.claim = inference_fit(inference, type, object);
	if (result.claim.fit != LAYOUT_NONE && !reads_as_text(inference, content, type) &&
	    hints_ask(inference, object, type) != VERDICT_AGAINST &&
	    !profiles_exclude(inference, object, type))
		result.score = content_score(inference, content, type, result.claim.elements);
	return result;
}
