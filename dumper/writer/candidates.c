// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Candidates: what the blocks of a kind may be, and what speaks for each.
 */
#include "dumper/writer/naming.h"

enum {
	TEXT_SCORE = 3,
};

struct candidate *candidates_add(struct candidates *candidates, struct layout_claim claim)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		if (candidates->list[i].type == claim.type &&
		    candidates->list[i].elements == claim.elements)
			return &candidates->list[i];
	}
	if (candidates->count == CANDIDATES) {
		candidates->too_many = true;
		return NULL;
	}

	struct candidate *added = &candidates->list[candidates->count++];

	*added = (struct candidate){
		.type = claim.type,
		.fit = claim.fit,
		.elements = claim.elements,
		.depth = UINT32_MAX,
	};
	return added;
}

// The types of a size that have the hinted part.
static void add_wholes(const struct inference *inference, const struct hint *hint, uint64_t size,
		       struct candidates *candidates)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;
	size_t at;
	size_t end = layouts_wholes(layouts, hint->type, interior, &at);

	for (; at < end; at++) {
		struct layout_claim claim = layouts_fit(layouts, layouts->parts[at].whole, size);

		if (claim.fit != LAYOUT_NONE)
			candidates_add(candidates, claim);
	}
}

// What a union's slot may point to itself.
static void add_alternative(const struct inference *inference, const struct hint *hint,
			    uint64_t size, struct candidates *candidates)
{
	struct layout_claim claim = layouts_fit(&inference->layouts, hint->type, size);

	if (!layouts_is_start(hint->interior))
		return;
	if (claim.fit == LAYOUT_NONE && layouts_is_character(&inference->layouts, hint->type))
		claim = (struct layout_claim){ LAYOUT_TEXT, hint->type, size };
	if (claim.fit == LAYOUT_NONE)
		return;

	struct candidate *candidate = candidates_add(candidates, claim);

	if (candidate)
		candidate->alternative = true;
}

void candidates_add_hinted(const struct inference *inference, heap_object_id object,
			   struct candidates *candidates)
{
	uint64_t size = inference->capture->objects.size[object];

	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		if (hint->either)
			add_alternative(inference, hint, size, candidates);
		if (layouts_is_compound(&inference->layouts, hint->type))
			add_wholes(inference, hint, size, candidates);
	}
}

int candidate_score(const struct inference *inference, const struct content *content,
		    const struct candidate *candidate)
{
	uint64_t size = inference->capture->objects.size[content->object];

	if (candidate->fit == LAYOUT_TEXT)
		return content_is_text(inference, content, size) ? TEXT_SCORE : -TEXT_SCORE;
	return content_score(inference, content, candidate->type, candidate->elements);
}

// Of two types, both of which agree, whether the first says all that the second does and more.
static bool says_more(const struct inference *inference, heap_type_id more, heap_type_id less)
{
	return more != less && layouts_has(&inference->layouts, more, less, 0);
}

// Holds all candidates against one block: how well each fits, and which of those that have the
// hinted parts fits best.
void candidates_hold(const struct inference *inference, const struct content *content,
		     struct candidates *candidates)
{
	struct candidate *best = NULL;
	int best_score = 0;
	bool several = false;

	candidates->samples++;
	for (uint32_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];
		enum word word = hints_ask(inference, content->object, candidate->type);
		int own = candidate_score(inference, content, candidate);

		candidate->parts += word == WORD_FOR;
		candidate->against += word == WORD_AGAINST;
		candidate->fitting += own >= 0;
		if (word != WORD_FOR || (best && own < best_score))
			continue;
		if (best && own == best_score) {
			if (says_more(inference, best->type, candidate->type))
				continue;
			several = !says_more(inference, candidate->type, best->type);
		} else {
			several = false;
		}
		best = candidate;
		best_score = own;
	}
	if (best && !several) {
		best->wins++;
		candidates->won++;
	}
}

// What must speak for a candidate. Contents are a weak witness: a member that the program has
// not set yet holds anything.
enum witness {
	HINTS,
	HINTS_AND_CONTENT,
};

static bool is_accepted(const struct candidates *candidates, const struct candidate *candidate,
			enum witness witness)
{
	uint64_t enough = (uint64_t)candidates->samples * NAMING_PER_MILLE;

	return (candidates->samples - candidate->against) * UINT64_C(1000) >= enough &&
	       (witness == HINTS || candidate->fitting * UINT64_C(1000) >= enough);
}

typedef bool candidate_test(const struct candidate *candidate, uint32_t depth);

static bool is_meant(const struct candidate *candidate, uint32_t depth)
{
	return candidate->depth == depth;
}

static bool has_parts(const struct candidate *candidate, uint32_t depth)
{
	(void)depth;
	return candidate->parts > 0;
}

static bool has_parts_exactly(const struct candidate *candidate, uint32_t depth)
{
	(void)depth;
	return candidate->parts > 0 && candidate->fit == LAYOUT_EXACT;
}

// The one candidate that passes, or of several the one that says more than the others; NULL if
// there is none, or no such one.
static const struct candidate *only_accepted(const struct inference *inference,
					     const struct candidates *candidates,
					     enum witness witness, candidate_test *test,
					     uint32_t depth)
{
	const struct candidate *found = NULL;
	bool several = false;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (!is_accepted(candidates, candidate, witness) || !test(candidate, depth))
			continue;
		if (!found || says_more(inference, candidate->type, found->type)) {
			found = candidate;
		} else if (!says_more(inference, found->type, candidate->type)) {
			several = true;
		}
	}
	return several ? NULL : found;
}

// The type that fits best nearly wherever one does.
static const struct candidate *winning_candidate(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidates->won * 2 >= candidates->samples && candidate->wins > 0 &&
		    candidate->wins * UINT64_C(1000) >=
			    candidates->won * (uint64_t)NAMING_PER_MILLE)
			return candidate;
	}
	return NULL;
}

// The only type that has the parts.
const struct candidate *candidates_only_whole(const struct inference *inference,
					      const struct candidates *candidates)
{
	const struct candidate *found =
		candidates->too_many ? NULL
				     : only_accepted(inference, candidates, HINTS, has_parts, 0);

	return found && !found->alternative ? found : NULL;
}

// Of several types that have the parts, the one that agrees best with the contents.
const struct candidate *candidates_best_whole(const struct inference *inference,
					      const struct candidates *candidates)
{
	const struct candidate *found;

	if (candidates->too_many)
		return NULL;
	found = winning_candidate(candidates);
	if (found)
		return !found->alternative || is_accepted(candidates, found, HINTS_AND_CONTENT)
			       ? found
			       : NULL;
	// A size that is just a struct's is seldom a header's with that many elements by chance.
	return only_accepted(inference, candidates, HINTS_AND_CONTENT, has_parts_exactly, 0);
}

// The type of the variable that gets the block.
const struct candidate *candidates_result(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		if (candidates->list[i].is_result &&
		    is_accepted(candidates, &candidates->list[i], HINTS))
			return &candidates->list[i];
	}
	return NULL;
}

// The type that the code means: what the innermost function says that says anything.
const struct candidate *candidates_meant(const struct inference *inference,
					 const struct candidates *candidates)
{
	for (uint32_t depth = 0; depth < MEANING_DEPTHS; depth++) {
		for (uint32_t i = 0; i < candidates->count; i++) {
			if (candidates->list[i].depth == depth &&
			    is_accepted(candidates, &candidates->list[i], HINTS_AND_CONTENT))
				return only_accepted(inference, candidates, HINTS_AND_CONTENT,
						     is_meant, depth);
		}
	}
	return NULL;
}

const struct candidate *candidates_elected(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->votes >= NAMING_VOTERS &&
		    candidate->votes * UINT64_C(1000) >=
			    candidates->voters * (uint64_t)NAMING_PER_MILLE &&
		    is_accepted(candidates, candidate, HINTS))
			return candidate;
	}
	return NULL;
}
