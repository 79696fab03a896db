// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/texts/text_ends.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

#include <string.h>

enum {
	LEAST_START = 9, // bytes before the text: numbers alone may be before any
	MAX_TEXT = 1024,
	MIN_CHOSEN = 16, // blocks of a struct that is taken for those of others
	MIN_LEAD = 20,   // times as many must be of it as of others
};

static void gather(const struct inference *inference, struct text_ends *ends)
{
	const struct layouts *layouts = &inference->layouts;

	ends->is_known = true;
	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct layout_facts *facts = &layouts->facts[id];
		progress_step();
		if (!facts->is_candidate || !facts->fits_any || facts->start < LEAST_START ||
		    facts->stripped != id || inference_is_of_libc(inference, id) ||
		    !layouts_is_character(layouts, layouts_strip(layouts, facts->element)))
			continue;
		if (ends->count < MAX_TEXT_ENDS)
			ends->list[ends->count++] = (struct text_end){ facts->start, id, 0 };
	}
}

// True if nothing but pointers to one text leads into a block.
static bool is_led_to_text(const struct inference *inference, heap_object_id object, uint64_t start)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior != start || layouts_is_start(hint->interior) ||
		    !layouts_is_character(&inference->layouts, hint->type))
			return false;
	}
	return true;
}

// True if a text begins at a place of a block, and ends where the block does, but for what such a struct ends with.
static bool ends_block(const struct inference *inference, heap_object_id object,
		       const struct layout_facts *facts)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t size = objects_size(objects, object), room = size - facts->start;
	uint64_t behind = facts->size > facts->start ? facts->size - facts->start - 1 : 0;
	char text[MAX_TEXT];
	size_t length;

	if (size <= facts->start || room > sizeof(text))
		return false;
	pages_read(inference->pages, objects_address(objects, object) + facts->start, text, room);
	length = strnlen(text, room);
	return length > 0 && length < room &&
	       room - length - 1 <= behind + inference_slack(inference, object);
}

// True if the code that makes a block has a pointer to such structs.
static bool is_handled(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct site_types *types = inference_site_types(inference, object);

	for (uint32_t i = 0; i < types->count; i++) {
		if (types->list[i].type == type)
			return true;
	}
	return false;
}

// The structs that a block may be by its text and its contents.
struct choice {
	struct text_end
		*best; // the first of those with which the contents agree best; NULL: there is none
	bool is_only;
	struct text_end
		*usual;  // of these, the one that is chosen more often than all others together
	uint32_t others; // how often these are
};

static void add(struct choice *choice, struct text_end *end, bool is_better)
{
	if (is_better)
		*choice = (struct choice){ .best = end, .is_only = true, .usual = end };
	else
		choice->is_only = false;
	if (choice->usual != end && end->chosen > choice->usual->chosen) {
		choice->others += choice->usual->chosen;
		choice->usual = end;
	} else if (choice->usual != end) {
		choice->others += end->chosen;
	}
}

// The struct that ends in a block's text: the one that the code handles, or with which the contents agree best. Of
// several, that of nearly all blocks with such an end.
static struct text_end *choose(struct inference *inference, heap_object_id object, uint64_t start)
{
	struct text_ends *ends = &inference->text_ends;
	struct choice choice = { 0 };
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	int best = 0;

	content_read(inference, object, words, &content);
	for (uint32_t i = 0; i < ends->count; i++) {
		struct text_end *end = &ends->list[i];
		int score;

		progress_step();
		if (end->start != start ||
		    !ends_block(inference, object, &inference->layouts.facts[end->type]))
			continue;
		score = content_score(inference, &content, end->type, 1);
		if (score >= 0 && is_handled(inference, object, end->type))
			return end;
		if (score < best)
			continue;
		add(&choice, end, !choice.best || score > best);
		best = score;
	}
	if (!choice.best || choice.is_only)
		return choice.best;
	return choice.usual->chosen >= MIN_CHOSEN &&
			       choice.usual->chosen >= MIN_LEAD * (uint64_t)choice.others
		       ? choice.usual
		       : NULL;
}

// Claims the structs of hints from one on.
HEAP_MUST_CHECK
static struct heap_error *claim(struct inference *inference, uint32_t first, uint64_t *claimed)
{
	for (uint32_t i = first; i < inference->hints.count; i++) {
		const struct hint *hint = &inference->hints.list[i];
		heap_object_id object = hint->object;
		struct text_end *end;

		progress_step();
		if (i == NO_HINT || !layouts_is_character(&inference->layouts, hint->type) ||
		    layouts_is_start(hint->interior) || !inference_is_open(inference, object) ||
		    !is_led_to_text(inference, object, hint->interior))
			continue;
		end = choose(inference, object, hint->interior);
		if (!end)
			continue;
		end->chosen++;
		HEAP_TRY(claims_add(
			&inference->claims, RANK_EMBEDDED,
			&(struct claim){ object, end->type, 1, HEAP_EVIDENCE_EMBEDDING, false }));
		++*claimed;
	}
	return NULL;
}

struct heap_error *text_ends_claim(struct inference *inference, uint64_t *claimed)
{
	struct text_ends *ends = &inference->text_ends;
	uint32_t first = ends->hints_seen;

	if (!ends->is_known)
		gather(inference, ends);
	ends->hints_seen = inference->hints.count;
	if (ends->count == 0)
		return NULL;
	HEAP_TRY(claim(inference, first, claimed));
	// Once more for those that the others tell of.
	return claim(inference, first, claimed);
}
