// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Hints: what typed slots say of blocks that they do not name.
 */
#include "dumper/writer/inference.h"

#include <stdlib.h>

enum {
	SEARCHED_HINTS = 8,   // of a block, that a new hint is compared with
	MIN_TELLING_SIZE = 2, // bytes of a type that says something
	TEXT_SCORE = 3,
};

HEAP_MUST_CHECK
static struct heap_error *grow_hints(struct inference *inference)
{
	uint32_t capacity = inference->hint_capacity ? inference->hint_capacity * 2 : 4096;
	void *larger = capacity ? realloc(inference->hints, capacity * sizeof(struct hint)) : NULL;

	if (!larger)
		return heap_error_out_of_memory();
	inference->hints = larger;
	inference->hint_capacity = capacity;
	if (inference->hint_count == 0)
		inference->hints[inference->hint_count++] = (struct hint){ 0 };
	return NULL;
}

// Whether a char * leads to the start.
static bool is_text(const struct inference *inference, const struct hint *hint)
{
	return layouts_is_start(hint->interior) && !hint->either &&
	       layouts_is_character(&inference->layouts, hint->type);
}

HEAP_MUST_CHECK
struct heap_error *hints_add(struct inference *inference, heap_type_id type,
			     const struct pointer *pointer, bool either)
{
	uint32_t at = inference->hint_head[pointer->target];
	struct hint hint = {
		.next = at,
		.object = pointer->target,
		.type = type,
		.interior = (uint32_t)pointer->interior,
		.count = 1,
		.either = either,
	};

	for (int i = 0; at != NO_HINT && i < SEARCHED_HINTS; i++) {
		struct hint *known = &inference->hints[at];

		if (known->type == type && known->interior == hint.interior &&
		    known->either == either) {
			known->count++;
			return NULL;
		}
		at = known->next;
	}
	if (inference->hint_count == inference->hint_capacity) {
		struct heap_error *error = grow_hints(inference);

		if (error)
			return error;
	}
	inference->hint_head[pointer->target] = inference->hint_count;
	inference->hints[inference->hint_count++] = hint;
	kinds_note_news(inference, hint.object);
	inference->news[hint.object] |=
		NEWS_SURE | NEWS_LIKELY | (is_text(inference, &hint) ? NEWS_TEXT : 0);
	return NULL;
}

// A T ** leads to a T *, be it alone, in an array or in a struct.
static enum word ask_pointer_hint(const struct inference *inference, const struct hint *hint,
				  heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id pointee = heap_types_strip(types, types->types[hint->type].target);
	uint64_t stride = layouts_size(&inference->layouts, type);

	if (!layouts_is_compound(&inference->layouts, pointee))
		return WORD_NONE;
	if (stride > 0 && layouts_has_pointer(&inference->layouts, type,
					      (hint->interior & ~UINT32_C(7)) % stride, pointee))
		return WORD_FOR;
	return hint->either ? WORD_NONE : WORD_AGAINST;
}

enum word hint_ask(const struct inference *inference, const struct hint *hint, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;

	if (interior == 0 && hint->type == type)
		return WORD_FOR;
	if (types->types[hint->type].kind == HEAP_TYPE_POINTER)
		return ask_pointer_hint(inference, hint, type);
	// Bytes may be anything; a double * leads to a double.
	if (layouts_size(&inference->layouts, hint->type) < MIN_TELLING_SIZE)
		return WORD_NONE;
	if (inference_type_has(inference, type, hint->type, interior))
		return WORD_FOR;
	return hint->either ? WORD_NONE : WORD_AGAINST;
}

// All the words of hints on an object: the majority's.
enum word hints_ask(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	uint32_t in_favour = 0, against = 0;

	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		switch (hint_ask(inference, hint, type)) {
		case WORD_FOR:
			in_favour += hint->count;
			break;
		case WORD_AGAINST:
			against += hint->count;
			break;
		default:
			break;
		}
	}
	if (in_favour + against == 0)
		return WORD_NONE;
	return in_favour > against ? WORD_FOR : WORD_AGAINST;
}

// The type of a char * that points to the start of a block, or HEAP_NO_TYPE.
heap_type_id hints_find_text(const struct inference *inference, heap_object_id object)
{
	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		if (is_text(inference, hint))
			return hint->type;
	}
	return HEAP_NO_TYPE;
}

// --- single hints ------------------------------------------------------------

// What a hint makes of a block.
struct weighed {
	struct layout_claim claim;
	int score;
	uint32_t count;
};

static const struct weighed nothing = { { LAYOUT_NONE, HEAP_NO_TYPE, 0 }, 0, 0 };

// Nothing, if anything contradicts it.
static struct weighed weigh_hint(const struct inference *inference, const struct content *content,
				 const struct hint *hint)
{
	uint64_t size = objects_size(&inference->capture->objects, content->object);
	struct layout_claim claim =
		layouts_fit_weakly(&inference->layouts, hint->type, hint->interior, size);
	int score = TEXT_SCORE;

	// Where a text is read, a pointer goes through it.
	if (claim.fit == LAYOUT_NONE && layouts_is_character(&inference->layouts, hint->type))
		return content_is_text(inference, content, size)
			       ? (struct weighed){ { LAYOUT_TEXT, hint->type, size },
						   TEXT_SCORE,
						   hint->count }
			       : nothing;
	if (claim.fit == LAYOUT_NONE ||
	    hints_ask(inference, content->object, claim.type) == WORD_AGAINST)
		return nothing;
	if (claim.fit != LAYOUT_TEXT || !hint->either)
		score = content_score(inference, content, claim.type, claim.elements);
	else if (!content_is_text(inference, content, size))
		return nothing;
	return score >= 0 ? (struct weighed){ claim, score, hint->count } : nothing;
}

// A struct says more than a pointer, as which its first member may be seen.
static bool is_better(const struct inference *inference, const struct weighed *one,
		      const struct weighed *best)
{
	bool compound = layouts_is_compound(&inference->layouts, one->claim.type);
	bool best_compound = layouts_is_compound(&inference->layouts, best->claim.type);

	if (one->claim.fit != best->claim.fit)
		return one->claim.fit < best->claim.fit;
	return compound != best_compound ? compound : one->count > best->count;
}

// The best that the hints on a block make of it. Of a union's, the one that agrees best.
struct layout_claim hints_weigh(const struct inference *inference, const struct content *content)
{
	struct weighed best = nothing, either = nothing;
	bool several = false;

	for (uint32_t at = inference->hint_head[content->object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];
		struct weighed one = weigh_hint(inference, content, hint);

		if (one.claim.fit == LAYOUT_NONE)
			continue;
		if (!hint->either) {
			if (is_better(inference, &one, &best))
				best = one;
		} else if (either.claim.fit == LAYOUT_NONE || one.score > either.score) {
			either = one;
			several = false;
		} else if (one.score == either.score && one.claim.type != either.claim.type) {
			several = true;
		}
	}
	if (best.claim.fit != LAYOUT_NONE)
		return best.claim;
	return several ? nothing.claim : either.claim;
}
