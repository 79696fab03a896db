// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Candidates for the type of a kind's blocks, and the evidence for each.
 */
#include "dumper/writer/infer/candidates.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/explained_pointers.h"

#include <stdlib.h>

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

static int compare_ids(const void *left, const void *right)
{
	heap_type_id a = *(const heap_type_id *)left, b = *(const heap_type_id *)right;

	return a < b ? -1 : a > b;
}

// True if a chunk whose size is not rounded is a whole number of a type: an array, rather than one with
// other bytes behind it.
static bool is_many(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	uint8_t flags = inference->capture->objects.flags[object];
	uint64_t stride = layouts_size(&inference->layouts, type);
	uint64_t size = inference_size(inference, object);

	return (flags & ARENA_CHUNK) && !(flags & (ARENA_ROUNDED | ARENA_SLOT)) && size > stride &&
	       size % stride == 0;
}

// The types of a size that have the hinted part, by their numbers. No more of them are read
// than it takes to know that they are too many.
static void add_wholes(const struct inference *inference, const struct hint *hint,
		       heap_object_id object, struct candidates *candidates)
{
	const uint64_t size = inference_size(inference, object);
	const struct layouts *layouts = &inference->layouts;
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;
	// A part in the middle of a chunk tells of a struct, which other bytes may follow.
	bool may_follow = interior > 0 && interior < size &&
			  (inference->capture->objects.flags[object] & ARENA_CHUNK);
	const uint64_t own_slack = inference_slack(inference, object);
	const uint64_t slack = may_follow ? size - interior - 1 : own_slack;
	const struct layout_wholes runs[] = {
		layouts_exact_wholes(layouts, hint->type, interior, size, slack),
		layouts_flexible_wholes(layouts, hint->type, interior, size),
	};
	heap_type_id wholes[2 * (CANDIDATES + 1)];
	uint32_t count = 0;

	for (int run = 0; run < 2; run++) {
		const struct layout_part *end = runs[run].end;

		if (end - runs[run].at > CANDIDATES)
			end = runs[run].at + CANDIDATES + 1;
		for (const struct layout_part *at = runs[run].at; at < end; at++) {
			if (!storage_headers_are_own(inference, object, at->whole))
				wholes[count++] = at->whole;
		}
	}
	progress_steps(count);
	if (count > 1)
		qsort(wholes, count, sizeof(*wholes), compare_ids);
	for (uint32_t i = 0; i < count && !candidates->too_many; i++) {
		struct layout_claim claim = layouts_fit(layouts, wholes[i], size, slack);

		if (claim.fit == LAYOUT_NONE ||
		    (claim.fit == LAYOUT_EXACT && is_many(inference, object, wholes[i])))
			continue;

		uint32_t known = candidates->count;
		struct candidate *added = candidates_add(candidates, claim);

		if (added && claim.fit == LAYOUT_EXACT)
			added->is_followed = size - layouts_size(layouts, wholes[i]) > own_slack;
		// Another member of the union may hold.
		if (added)
			added->alternative =
				hint->either && (added->alternative || candidates->count > known);
	}
}

// True for an array of structs some of whose numbers lie where the block has pointers.
static bool has_numbers_for_pointers(const struct inference *inference, heap_object_id object,
				     const struct layout_claim *claim)
{
	struct explained_pointers explained;

	if (claim->elements < 2 || !layouts_is_compound(&inference->layouts, claim->type))
		return false;
	explained = explained_pointers_find(inference, object, claim->type);
	return explained.count < explained.asked;
}

// Adds the types that a union's slot may point to itself.
static void add_alternative(const struct inference *inference, const struct hint *hint,
			    heap_object_id object, struct candidates *candidates)
{
	struct layout_claim claim = inference_fit(inference, hint->type, object);

	if (!layouts_is_start(hint->interior))
		return;
	if (claim.fit == LAYOUT_NONE && layouts_is_character(&inference->layouts, hint->type))
		claim = (struct layout_claim){ LAYOUT_TEXT, hint->type,
					       inference_size(inference, object) };
	if (claim.fit == LAYOUT_NONE || has_numbers_for_pointers(inference, object, &claim))
		return;

	struct candidate *candidate = candidates_add(candidates, claim);

	if (candidate)
		candidate->alternative = true;
}

// True for a hint of a union's pointer whose place bytes may have instead, if no contents can tell.
static bool is_unproven(const struct inference *inference, const struct hint *hint)
{
	const struct heap_slots *slots =
		hint->may_be_bytes
			? heap_slot_table_get(&inference->layouts.slots,
					      layouts_strip(&inference->layouts, hint->type))
			: NULL;

	return slots && slots->count == 0;
}

void candidates_add_hinted(const struct inference *inference, heap_object_id object,
			   struct candidates *candidates)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		if (is_unproven(inference, hint))
			continue;
		if (hint->either)
			add_alternative(inference, hint, object, candidates);
		if (layouts_is_compound(&inference->layouts, hint->type))
			add_wholes(inference, hint, object, candidates);
		if (layouts_is_start(hint->interior) &&
		    !layouts_is_link(&inference->layouts, hint->type) &&
		    inference_is_ambiguous(inference, hint->type, object))
			candidates_add(candidates, inference_fit(inference, hint->type, object));
	}
}

void candidates_drop_hinted(struct candidates *candidates)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->votes > 0 || candidate->is_result || candidate->depth != UINT32_MAX)
			candidates->list[kept++] = *candidate;
	}
	candidates->count = kept;
}

// True if a pointer to a number leads to the start of a block that may be an array of such numbers.
static bool may_be_of_numbers(const struct inference *inference, const struct hint *hint,
			      heap_object_id object)
{
	uint64_t stride = layouts_size(&inference->layouts, hint->type);

	return layouts_is_start(hint->interior) &&
	       !layouts_is_compound(&inference->layouts, hint->type) && stride > 0 &&
	       inference_size(inference, object) % stride <= inference_slack(inference, object);
}

// True if a pointer may be the link of a list that a type begins with, as it lies over free blocks, too.
static bool may_be_free(const struct inference *inference, const struct hint *hint,
			heap_object_id object)
{
	(void)object;
	return layouts_is_start(hint->interior) && layouts_is_link(&inference->layouts, hint->type);
}

// True if all pointers that speak for a type may lead to something else.
static bool may_all_be(bool (*may_be_else)(const struct inference *, const struct hint *,
					   heap_object_id),
		       const struct inference *inference, heap_object_id object, heap_type_id type)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint_ask(inference, hint, type) == VERDICT_FOR &&
		    !may_be_else(inference, hint, object))
			return false;
	}
	return true;
}

enum verdict candidate_ask(const struct inference *inference, heap_object_id object,
			   const struct candidate *candidate)
{
	enum verdict word;

	if (profiles_exclude(inference, object, candidate->type))
		return VERDICT_AGAINST;
	word = hints_ask(inference, object, candidate->type);
	// Any size may be that of a header with elements, and many headers begin with a number or a link. Nor does such a pointer
	// tell of which structs an array is.
	if (word == VERDICT_FOR &&
	    (candidate->fit == LAYOUT_FLEXIBLE ||
	     (candidate->elements > 1 &&
	      layouts_is_compound(&inference->layouts, candidate->type))) &&
	    (may_all_be(may_be_of_numbers, inference, object, candidate->type) ||
	     may_all_be(may_be_free, inference, object, candidate->type)))
		return VERDICT_NONE;
	return word;
}

int candidate_score(const struct inference *inference, const struct content *content,
		    const struct candidate *candidate)
{
	uint64_t size = inference_size(inference, content->object);
	bool is_of_code = candidate->is_result || candidate->depth != UINT32_MAX;
	int score;

	if (candidate->fit == LAYOUT_TEXT)
		return content_is_sure_text(inference, content, size) &&
				       !content_is_wide_text(content, size)
			       ? TEXT_SCORE
			       : -TEXT_SCORE;
	score = content_score(inference, content, candidate->type, candidate->elements);
	// An enum that the program never sets proves nothing against what its code has.
	return score < 0 && is_of_code && candidate->fit == LAYOUT_EXACT &&
			       candidate->elements == 1 &&
			       content_score_unset(inference, content, candidate->type) >= 0
		       ? 0
		       : score;
}

// True if a pointer to a block's start may lead to the first element of an array.
static bool may_be_of_elements(const struct inference *inference, const struct hint *hint,
			       const struct content *content, const struct candidate *candidate,
			       int score)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t stride = layouts_size(layouts, hint->type);
	uint64_t size = inference_size(inference, content->object);

	if (!layouts_is_start(hint->interior) || hint->either || stride == 0 || size % stride != 0)
		return false;
	if (layouts_is_compound(layouts, hint->type))
		return layouts_consists_of(layouts, candidate->type, hint->type);
	return content_score(inference, content, hint->type, size / stride) >= score;
}

bool candidate_may_be_array(const struct inference *inference, const struct content *content,
			    const struct candidate *candidate)
{
	int score;

	if (candidate->is_result || candidate->fit != LAYOUT_EXACT || candidate->elements != 1)
		return false;
	score = candidate_score(inference, content, candidate);
	for (uint32_t at = hints_first(&inference->hints, content->object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint_ask(inference, hint, candidate->type) == VERDICT_FOR &&
		    !may_be_of_elements(inference, hint, content, candidate, score))
			return false;
	}
	return true;
}

static enum verdict count_verdict(const struct inference *inference, heap_object_id object,
				  struct candidate *candidate)
{
	enum verdict word = candidate_ask(inference, object, candidate);

	candidate->parts += word == VERDICT_FOR;
	candidate->against += word == VERDICT_AGAINST;
	return word;
}

void candidates_ask(const struct inference *inference, heap_object_id object,
		    struct candidates *candidates)
{
	candidates->samples++;
	for (uint32_t i = 0; i < candidates->count; i++)
		count_verdict(inference, object, &candidates->list[i]);
}

// Checks all candidates against one block: how well each fits, and which one with the hinted
// parts fits best.
void candidates_hold(const struct inference *inference, const struct content *content,
		     struct candidates *candidates)
{
	struct candidate *best = NULL;
	int best_score = 0, scores[CANDIDATES]; // of those that have the parts
	bool several = false, has_parts[CANDIDATES];

	candidates->samples++;
	candidates->hinted += hints_have(&inference->hints, content->object);
	for (uint32_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];
		enum verdict word = count_verdict(inference, content->object, candidate);
		int own = candidate_score(inference, content, candidate);

		candidate->fitting += own >= 0;
		candidate->parts_fitting += word == VERDICT_FOR && own >= 0;
		candidate->proving += own > 0;
		candidate->score += own;
		scores[i] = own;
		has_parts[i] = word == VERDICT_FOR;
		if (word != VERDICT_FOR || (best && own < best_score))
			continue;
		if (best && own == best_score) {
			if (layouts_says_more(&inference->layouts, best->type, candidate->type))
				continue;
			several = !layouts_says_more(&inference->layouts, candidate->type,
						     best->type);
		} else {
			several = false;
		}
		best = candidate;
		best_score = own;
	}
	for (uint32_t i = 0; i < candidates->count; i++)
		candidates->list[i].losses += has_parts[i] && scores[i] < best_score;
	if (best && !several) {
		best->wins++;
		candidates->won++;
	}
}

// The evidence that a candidate needs. Contents are weak evidence: members may be unset.
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

typedef bool candidate_test(const struct candidates *candidates, const struct candidate *candidate);

static bool has_parts(const struct candidates *candidates, const struct candidate *candidate)
{
	return candidate->parts > 0 && is_accepted(candidates, candidate, HINTS);
}

// A type with few pointers agrees with anything: it is not that of a kind many of whose blocks agree better with another.
static bool has_parts_exactly(const struct candidates *candidates,
			      const struct candidate *candidate)
{
	return candidate->parts > 0 && candidate->fit == LAYOUT_EXACT &&
	       candidate->parts_fitting * UINT64_C(1000) >=
		       candidate->parts * (uint64_t)NAMING_PER_MILLE &&
	       candidate->losses * UINT64_C(1000) <=
		       candidate->parts * (uint64_t)(1000 - NAMING_PER_MILLE) &&
	       is_accepted(candidates, candidate, HINTS_AND_CONTENT);
}

// Any size may be that of a header and elements. So a variable of the code is not
// enough for one: the contents must prove it.
static bool is_meant(const struct candidates *candidates, const struct candidate *candidate)
{
	return candidate->depth != UINT32_MAX &&
	       is_accepted(candidates, candidate, HINTS_AND_CONTENT) &&
	       (candidate->fit != LAYOUT_FLEXIBLE || candidate->parts > 0 ||
		candidate->proving * UINT64_C(1000) >=
			candidates->samples * (uint64_t)NAMING_PER_MILLE);
}

// The only candidate that passes, or the most specific of several; NULL if there is none, or no
// such one.
static const struct candidate *only_accepted(const struct inference *inference,
					     const struct candidates *candidates,
					     candidate_test *test)
{
	const struct candidate *found = NULL;
	bool several = false;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (!test(candidates, candidate))
			continue;
		if (!found ||
		    layouts_says_more(&inference->layouts, candidate->type, found->type)) {
			found = candidate;
		} else if (!layouts_says_more(&inference->layouts, found->type, candidate->type)) {
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

		if (candidates->won * 2 >= candidates->hinted && candidate->wins > 0 &&
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
		candidates->too_many ? NULL : only_accepted(inference, candidates, has_parts);

	return found && !found->alternative && !found->is_followed ? found : NULL;
}

// True if contents agree with a type that something else than pointers to its size tells of. Zeros agree with
// any alternative of a union, and prove none.
static bool is_proved(const struct candidates *candidates, const struct candidate *candidate)
{
	if (candidate->alternative && candidate->proving * UINT64_C(2) < candidate->parts)
		return false;
	return !(candidate->alternative || candidate->is_followed) ||
	       is_accepted(candidates, candidate, HINTS_AND_CONTENT);
}

// The type that agrees best with the contents, of those that have the parts.
const struct candidate *candidates_best_whole(const struct inference *inference,
					      const struct candidates *candidates)
{
	const struct candidate *found;

	if (candidates->too_many)
		return NULL;
	found = winning_candidate(candidates);
	// If a size is exactly a struct's, a header with elements is less likely.
	if (!found)
		found = only_accepted(inference, candidates, has_parts_exactly);
	return found && is_proved(candidates, found) ? found : NULL;
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

// True if one type is preferred to another: it is more specific, or fits the contents better.
static bool is_preferred(const struct inference *inference, const struct candidates *candidates,
			 const struct candidate *one, const struct candidate *other)
{
	return layouts_says_more(&inference->layouts, one->type, other->type) ||
	       (one->score - other->score >= (int64_t)candidates->samples &&
		!layouts_says_more(&inference->layouts, other->type, one->type));
}

static bool is_preferred_to_all(const struct inference *inference,
				const struct candidates *candidates, const struct candidate *one)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *other = &candidates->list[i];

		if (other != one && other->depth == one->depth && is_meant(candidates, other) &&
		    !is_preferred(inference, candidates, one, other))
			return false;
	}
	return true;
}

const struct candidate *candidates_meant(const struct inference *inference,
					 const struct candidates *candidates)
{
	uint32_t depth = UINT32_MAX;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *one = &candidates->list[i];

		if (one->depth < depth && is_meant(candidates, one))
			depth = one->depth;
	}
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *one = &candidates->list[i];

		if (one->depth == depth && is_meant(candidates, one) &&
		    is_preferred_to_all(inference, candidates, one))
			return one;
	}
	return NULL;
}

// True if no candidate has the hinted parts, so that nothing explains the hints.
static bool are_unexplained(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		if (candidates->list[i].parts > 0)
			return false;
	}
	return !candidates->too_many;
}

const struct candidate *candidates_elected(const struct candidates *candidates, uint32_t siblings)
{
	bool outweigh = candidates->voters * UINT64_C(2) >= siblings && are_unexplained(candidates);

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->votes >= NAMING_VOTERS &&
		    candidate->votes * UINT64_C(1000) >=
			    candidates->voters * (uint64_t)NAMING_PER_MILLE &&
		    (outweigh || is_accepted(candidates, candidate, HINTS)))
			return candidate;
	}
	return NULL;
}

const struct candidate *candidates_unanimous(const struct inference *inference,
					     const struct candidates *candidates)
{
	const struct candidate *found = NULL;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->votes > 0 && candidate->votes == candidates->voters)
			found = candidate;
		else if (candidate->parts > 0)
			return NULL;
	}
	if (!found || found->elements != 1 || found->against > 0 ||
	    found->fitting < candidates->samples ||
	    !layouts_is_compound(&inference->layouts, found->type))
		return NULL;
	return found->votes >= NAMING_FEW_VOTERS || found->proving == candidates->samples ? found
											  : NULL;
}
