// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Evidence by kind: what the blocks of one site and size are.
 *
 * One call with one size nearly always makes objects of one type. So what is known of some
 * tells of all: candidates are the types that have the parts which hints say are there, the
 * types that the allocating code has variables of, and the names that siblings have already.
 * Each candidate is held against the hints and the contents of a sample of the kind's blocks
 * that have no name; one that hardly any of them contradicts is accepted. If several are, the
 * code's word counts first, then the siblings' vote, then the parts.
 *
 * A site that is called with many sizes makes arrays, texts or headers with elements: there
 * the same is asked of all of its blocks, of the element's type. And kinds that are mixed,
 * where a program allocates nodes of several types by one function, are named one by one.
 */
#include "dumper/writer/inference.h"

#include "lib/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	SAMPLES = 64,         // of a kind's blocks, that candidates are held against
	CANDIDATES = 32,      // at a time
	MANY_SIZES = 3,       // a site with so many is not one that makes single structs
	VOTERS = 5,           // at least
	MIN_TELLING_SIZE = 2, // bytes of a type that says something
	BALLOTS = 8,          // different names of a kind that are counted
	TEXT_SCORE = 3,
	PER_MILLE = 950, // of votes, and of samples, that must agree
};

// --- kinds -------------------------------------------------------------------

struct kind_table {
	uint32_t *slots; // [size] kind + 1
	size_t size;
};

static size_t slot_of(const struct kind_table *table, const struct kinds *kinds, heap_site_id site,
		      uint64_t size)
{
	size_t at = ((site * UINT64_C(0x9e3779b97f4a7c15) ^ size) * UINT64_C(0x9e3779b97f4a7c15) >>
		     20) &
		    (table->size - 1);

	while (table->slots[at] && (kinds->kinds[table->slots[at] - 1].site != site ||
				    kinds->kinds[table->slots[at] - 1].size != size))
		at = (at + 1) & (table->size - 1);
	return at;
}

HEAP_MUST_CHECK
static struct heap_error *grow(struct kind_table *table, struct kinds *kinds)
{
	struct kind_table larger = { .size = table->size ? table->size * 2 : 1024 };
	struct kind *more = realloc(kinds->kinds, larger.size / 2 * sizeof(*more));

	if (!more)
		return heap_error_out_of_memory();
	kinds->kinds = more;
	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < kinds->count; i++)
		larger.slots[slot_of(&larger, kinds, more[i].site, more[i].size)] = i + 1;
	free(table->slots);
	*table = larger;
	return NULL;
}

static int compare_kinds(const void *left, const void *right)
{
	const struct kind *a = left, *b = right;

	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

// Finds all kinds, and notes for each object which is its.
HEAP_MUST_CHECK
static struct heap_error *find_kinds(struct kinds *kinds, const struct capture *capture,
				     struct kind_table *table, uint32_t *kind_of)
{
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		heap_site_id site = capture->sites.site[i];
		uint64_t size = capture->objects.size[i];

		if ((size_t)kinds->count * 2 >= table->size) {
			struct heap_error *error = grow(table, kinds);

			if (error)
				return error;
		}

		size_t at = slot_of(table, kinds, site, size);

		if (!table->slots[at]) {
			kinds->kinds[kinds->count] = (struct kind){ .site = site, .size = size };
			table->slots[at] = ++kinds->count;
		}
		kind_of[i] = table->slots[at] - 1;
		kinds->kinds[kind_of[i]].count++;
	}
	return NULL;
}

// Sorts kinds by site and size, and objects by kind.
HEAP_MUST_CHECK
static struct heap_error *sort_members(struct kinds *kinds, uint32_t *kind_of,
				       heap_object_id objects)
{
	CLEANUP_FREE uint32_t *place = malloc(((size_t)kinds->count + 1) * sizeof(*place));
	CLEANUP_FREE uint32_t *next = malloc(((size_t)kinds->count + 1) * sizeof(*next));

	kinds->members = malloc(((size_t)objects + 1) * sizeof(*kinds->members));
	if (!place || !next || !kinds->members)
		return heap_error_out_of_memory();
	// `first` keeps where each kind was, until it is sorted.
	for (uint32_t i = 0; i < kinds->count; i++)
		kinds->kinds[i].first = i;
	if (kinds->count > 0)
		qsort(kinds->kinds, kinds->count, sizeof(*kinds->kinds), compare_kinds);

	uint32_t first = 0;

	for (uint32_t i = 0; i < kinds->count; i++) {
		place[kinds->kinds[i].first] = i;
		kinds->kinds[i].first = next[i] = first;
		first += kinds->kinds[i].count;
	}
	for (heap_object_id i = 0; i < objects; i++)
		kinds->members[next[place[kind_of[i]]]++] = i;
	return NULL;
}

struct heap_error *kinds_init(struct kinds *kinds, struct capture *capture)
{
	CLEANUP_FREE uint32_t *kind_of =
		malloc(((size_t)capture->objects.count + 1) * sizeof(*kind_of));
	struct kind_table table = { 0 };
	struct heap_error *error = kind_of ? NULL : heap_error_out_of_memory();

	if (!error)
		error = find_kinds(kinds, capture, &table, kind_of);
	free(table.slots);
	if (error)
		return error;
	kinds->sites = capture->sites.count;
	kinds->meanings = calloc((size_t)kinds->sites + 1, sizeof(*kinds->meanings));
	if (!kinds->meanings)
		return heap_error_out_of_memory();
	for (heap_site_id i = 0; !error && i < kinds->sites; i++)
		error = meanings_find(capture, i, &kinds->meanings[i]);
	return error ? error : sort_members(kinds, kind_of, capture->objects.count);
}

void kinds_deinit(struct kinds *kinds)
{
	for (uint32_t i = 0; kinds->meanings && i < kinds->sites; i++)
		free(kinds->meanings[i].list);
	free(kinds->meanings);
	free(kinds->kinds);
	free(kinds->members);
}

// --- candidates --------------------------------------------------------------

struct candidate {
	heap_type_id type;
	enum layout_fit fit;
	uint64_t elements;
	uint32_t votes;   // siblings that have this name
	uint32_t depth;   // of the code's meaning; UINT32_MAX if the code does not say so
	uint32_t parts;   // samples that have a hint of a part of it
	uint32_t against; // samples whose hints speak against it
	uint32_t fitting; // samples whose contents agree
	uint32_t wins;    // samples whose contents agree with it best
	bool is_result;   // the variable that gets the block points to one
	bool alternative; // one of a union's
};

struct candidates {
	struct candidate list[CANDIDATES];
	uint32_t count;
	bool too_many;
	uint32_t samples; // that they were held against
	uint32_t won;     // of them, those with one that fits best
	uint32_t voters;  // siblings with a name
};

static struct candidate *add_candidate(struct candidates *candidates, struct layout_claim claim)
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
			add_candidate(candidates, claim);
	}
}

static bool is_text(const struct inference *inference, heap_type_id type)
{
	const struct heap_type *found = &inference->layouts.types->types[type];

	return found->kind == HEAP_TYPE_BASE && found->size == 1;
}

// What a union's slot may point to itself.
static void add_alternative(const struct inference *inference, const struct hint *hint,
			    uint64_t size, struct candidates *candidates)
{
	struct layout_claim claim = layouts_fit(&inference->layouts, hint->type, size);

	if (!layouts_is_start(hint->interior))
		return;
	if (claim.fit == LAYOUT_NONE && is_text(inference, hint->type))
		claim = (struct layout_claim){ LAYOUT_TEXT, hint->type, size };
	if (claim.fit == LAYOUT_NONE)
		return;

	struct candidate *candidate = add_candidate(candidates, claim);

	if (candidate)
		candidate->alternative = true;
}

static void add_hinted(const struct inference *inference, heap_object_id object,
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

// What a hint says of a candidate. Only structs speak clearly: an int * may point anywhere.
enum word {
	WORD_NONE,
	WORD_FOR,
	WORD_AGAINST,
};

// A T ** leads to a T *, be it alone, in an array or in a struct.
static enum word ask_pointer_hint(const struct inference *inference, const struct hint *hint,
				  heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	heap_type_id pointee = heap_types_strip(types, types->types[hint->type].target);
	uint64_t stride = heap_types_size(types, type);

	if (!layouts_is_compound(&inference->layouts, pointee))
		return WORD_NONE;
	if (stride > 0 && layouts_has_pointer(&inference->layouts, type,
					      (hint->interior & ~UINT32_C(7)) % stride, pointee))
		return WORD_FOR;
	return hint->either ? WORD_NONE : WORD_AGAINST;
}

static enum word ask_hint(const struct inference *inference, const struct hint *hint,
			  heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;

	if (interior == 0 && hint->type == type)
		return WORD_FOR;
	if (types->types[hint->type].kind == HEAP_TYPE_POINTER)
		return ask_pointer_hint(inference, hint, type);
	// Bytes may be anything; a double * leads to a double.
	if (heap_types_size(types, hint->type) < MIN_TELLING_SIZE)
		return WORD_NONE;
	if (inference_type_has(inference, type, hint->type, interior))
		return WORD_FOR;
	return hint->either ? WORD_NONE : WORD_AGAINST;
}

// All the words of hints on an object: the majority's.
static enum word ask_hints(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	uint32_t in_favour = 0, against = 0;

	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		switch (ask_hint(inference, hint, type)) {
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

static int score(const struct inference *inference, const struct content *content,
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
static void hold_against(const struct inference *inference, const struct content *content,
			 struct candidates *candidates)
{
	struct candidate *best = NULL;
	int best_score = 0;
	bool several = false;

	candidates->samples++;
	for (uint32_t i = 0; i < candidates->count; i++) {
		struct candidate *candidate = &candidates->list[i];
		enum word word = ask_hints(inference, content->object, candidate->type);
		int own = score(inference, content, candidate);

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
	uint64_t enough = (uint64_t)candidates->samples * PER_MILLE;

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
		    candidate->wins * UINT64_C(1000) >= candidates->won * (uint64_t)PER_MILLE)
			return candidate;
	}
	return NULL;
}

// The only type that has the parts.
static const struct candidate *only_whole(const struct inference *inference,
					  const struct candidates *candidates)
{
	const struct candidate *found =
		candidates->too_many ? NULL
				     : only_accepted(inference, candidates, HINTS, has_parts, 0);

	return found && !found->alternative ? found : NULL;
}

// Of several types that have the parts, the one that agrees best with the contents.
static const struct candidate *best_whole(const struct inference *inference,
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
static const struct candidate *result_candidate(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		if (candidates->list[i].is_result &&
		    is_accepted(candidates, &candidates->list[i], HINTS))
			return &candidates->list[i];
	}
	return NULL;
}

// The type that the code means: what the innermost function says that says anything.
static const struct candidate *meant_candidate(const struct inference *inference,
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

static const struct candidate *elected_candidate(const struct candidates *candidates)
{
	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->votes >= VOTERS &&
		    candidate->votes * UINT64_C(1000) >= candidates->voters * (uint64_t)PER_MILLE &&
		    is_accepted(candidates, candidate, HINTS))
			return candidate;
	}
	return NULL;
}

// The type of a char * that points to the start of a block, or HEAP_NO_TYPE.
static heap_type_id find_text_hint(const struct inference *inference, heap_object_id object)
{
	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		if (layouts_is_start(hint->interior) && !hint->either &&
		    is_text(inference, hint->type))
			return hint->type;
	}
	return HEAP_NO_TYPE;
}

// --- naming a kind -----------------------------------------------------------

static bool is_named(const struct inference *inference, heap_object_id object)
{
	return inference->rank[object] < RANK_ARRAY;
}

// The votes of those that have a name, and how many have none.
static uint32_t count_votes(const struct inference *inference, const struct kind *kind,
			    struct candidates *candidates)
{
	const struct capture *capture = inference->capture;
	uint32_t unnamed = 0;

	for (uint32_t i = 0; i < kind->count; i++) {
		heap_object_id object = inference->kinds.members[kind->first + i];

		if (!is_named(inference, object)) {
			unnamed++;
			continue;
		}
		struct candidate *candidate = add_candidate(
			candidates, (struct layout_claim){ LAYOUT_EXACT, capture->type[object],
							   capture->elements[object] });

		candidates->voters++;
		if (candidate)
			candidate->votes++;
	}
	return unnamed;
}

// What the code means, if a block of that size can be that.
static void add_meanings(const struct inference *inference, const struct kind *kind,
			 const struct site_summary *site, struct candidates *candidates)
{
	const struct layouts *layouts = &inference->layouts;
	const struct meanings *meanings = site->meanings;

	for (uint32_t i = 0; i < meanings->count; i++) {
		const struct meaning *meaning = &meanings->list[i];
		struct layout_claim claim = layouts_fit(layouts, meaning->type, kind->size);

		if (claim.fit == LAYOUT_NONE ||
		    (claim.fit == LAYOUT_EXACT && site->sizes >= MANY_SIZES && !meaning->is_result))
			continue;

		struct candidate *candidate = add_candidate(candidates, claim);

		if (!candidate)
			continue;
		candidate->is_result |= meaning->is_result;
		if (meaning->depth < candidate->depth)
			candidate->depth = meaning->depth;
	}
}

static void sample(const struct inference *inference, const struct kind *kind, uint32_t unnamed,
		   heap_object_id *samples, uint32_t *count)
{
	uint32_t step = unnamed / SAMPLES + 1, seen = 0;

	*count = 0;
	for (uint32_t i = 0; i < kind->count && *count < SAMPLES; i++) {
		heap_object_id object = inference->kinds.members[kind->first + i];

		if (!is_named(inference, object) && seen++ % step == 0)
			samples[(*count)++] = object;
	}
}

HEAP_MUST_CHECK
static struct heap_error *claim_member(struct inference *inference, heap_object_id object,
				       const struct candidate *candidate, enum rank rank,
				       uint64_t *claimed)
{
	static const uint8_t evidence[] = {
		[RANK_EMBEDDED] = HEAP_EVIDENCE_EMBEDDING,
		[RANK_SITE] = HEAP_EVIDENCE_SITE,
		[RANK_VOTE] = HEAP_EVIDENCE_VOTE,
	};

	++*claimed;
	return inference_claim(
		inference, rank,
		&(struct claim){ object, candidate->type, candidate->elements, evidence[rank] });
}

static bool fits(const struct inference *inference, heap_object_id object,
		 const struct candidate *candidate, uint64_t *words)
{
	struct content content;

	content_read(inference, object, words, &content);
	return score(inference, &content, candidate) >= 0;
}

// Names those of a kind that have no name. By parts, only those that have hints of them.
HEAP_MUST_CHECK
static struct heap_error *claim_kind(struct inference *inference, const struct kind *kind,
				     const struct candidate *candidate, enum rank rank,
				     uint64_t *words, uint64_t *claimed)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; !error && i < kind->count; i++) {
		heap_object_id object = inference->kinds.members[kind->first + i];

		if (is_named(inference, object))
			continue;

		enum word word = ask_hints(inference, object, candidate->type);

		if (word == WORD_FOR)
			error = claim_member(inference, object, candidate, RANK_EMBEDDED, claimed);
		else if (word == WORD_NONE && rank != RANK_EMBEDDED &&
			 (candidate->is_result || fits(inference, object, candidate, words)))
			error = claim_member(inference, object, candidate, rank, claimed);
	}
	return error;
}

// A kind that is mixed: each block by its own parts.
HEAP_MUST_CHECK
static struct heap_error *claim_singly(struct inference *inference, const struct kind *kind,
				       bool surely, uint64_t *words, uint64_t *claimed)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; !error && i < kind->count; i++) {
		heap_object_id object = inference->kinds.members[kind->first + i];
		struct candidates candidates = { .count = 0 };
		struct content content;

		if (is_named(inference, object) || inference->hint_head[object] == NO_HINT)
			continue;
		add_hinted(inference, object, &candidates);
		if (candidates.count == 0)
			continue;
		content_read(inference, object, words, &content);
		hold_against(inference, &content, &candidates);

		const struct candidate *only = surely ? only_whole(inference, &candidates)
						      : best_whole(inference, &candidates);

		if (only)
			error = claim_member(inference, object, only, RANK_EMBEDDED, claimed);
	}
	return error;
}

// Gathers what those of a kind that have no name may be. @return whether there is anything
static bool gather(const struct inference *inference, const struct kind *kind,
		   const struct site_summary *site, uint64_t *words, struct candidates *candidates)
{
	heap_object_id samples[SAMPLES];
	uint32_t count, unnamed = count_votes(inference, kind, candidates);

	if (unnamed == 0)
		return false;
	sample(inference, kind, unnamed, samples, &count);
	add_meanings(inference, kind, site, candidates);
	for (uint32_t i = 0; i < count; i++)
		add_hinted(inference, samples[i], candidates);
	for (uint32_t i = 0; candidates->count > 0 && i < count; i++) {
		struct content content;

		content_read(inference, samples[i], words, &content);
		hold_against(inference, &content, candidates);
	}
	return candidates->count > 0;
}

// What a char * points to is a text, if it reads like one.
HEAP_MUST_CHECK
static struct heap_error *claim_strings(struct inference *inference, const struct kind *kind,
					uint64_t *words, uint64_t *claimed)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; !error && i < kind->count; i++) {
		heap_object_id object = inference->kinds.members[kind->first + i];
		heap_type_id type = is_named(inference, object) ? HEAP_NO_TYPE
								: find_text_hint(inference, object);
		struct content content;

		if (type == HEAP_NO_TYPE)
			continue;
		content_read(inference, object, words, &content);
		if (!content_is_text(inference, &content, kind->size))
			continue;
		++*claimed;
		error = inference_claim(
			inference, RANK_STRING,
			&(struct claim){ object, type, kind->size, HEAP_EVIDENCE_POINTER });
	}
	return error;
}

// By what leaves no choice.
HEAP_MUST_CHECK
static struct heap_error *name_surely(struct inference *inference, const struct kind *kind,
				      const struct site_summary *site, uint64_t *words,
				      uint64_t *claimed)
{
	struct heap_error *error = claim_strings(inference, kind, words, claimed);
	struct candidates candidates = { .count = 0 };
	const struct candidate *found;

	if (error || !gather(inference, kind, site, words, &candidates))
		return error;
	found = result_candidate(&candidates);
	if (found)
		return claim_kind(inference, kind, found, RANK_SITE, words, claimed);
	found = only_whole(inference, &candidates);
	if (found)
		return claim_kind(inference, kind, found, RANK_EMBEDDED, words, claimed);
	return claim_singly(inference, kind, true, words, claimed);
}

// By what is likely: what the code handles, what siblings are, what agrees best.
HEAP_MUST_CHECK
static struct heap_error *name_likely(struct inference *inference, const struct kind *kind,
				      const struct site_summary *site, uint64_t *words,
				      uint64_t *claimed)
{
	struct candidates candidates = { .count = 0 };
	const struct candidate *found;

	if (!gather(inference, kind, site, words, &candidates))
		return NULL;
	found = meant_candidate(inference, &candidates);
	if (found)
		return claim_kind(inference, kind, found, RANK_SITE, words, claimed);
	found = elected_candidate(&candidates);
	if (found)
		return claim_kind(inference, kind, found, RANK_VOTE, words, claimed);
	found = best_whole(inference, &candidates);
	if (found)
		return claim_kind(inference, kind, found, RANK_EMBEDDED, words, claimed);
	return claim_singly(inference, kind, false, words, claimed);
}

// --- naming all of a site ----------------------------------------------------

// What an element's type makes of a block of a size.
static struct layout_claim fit_any(const struct layouts *layouts, heap_type_id type, uint64_t size)
{
	struct layout_claim claim = layouts_fit(layouts, type, size);

	return claim.fit == LAYOUT_NONE ? layouts_fit_weakly(layouts, type, 0, size) : claim;
}

// Whether a slot says that the block is some other struct, or has one at its start.
static bool has_whole_hint(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		const struct hint *hint = &inference->hints[at];

		if (hint->type != type && !hint->either && layouts_is_start(hint->interior) &&
		    (layouts_is_compound(&inference->layouts, hint->type) ||
		     ask_hint(inference, hint, type) == WORD_AGAINST))
			return true;
	}
	return ask_hints(inference, object, type) == WORD_AGAINST;
}

// Whether a block may be one or several of a type, by its size, hints and content.
static bool may_repeat(const struct inference *inference, const struct content *content,
		       heap_type_id type, bool must_be_text)
{
	const struct capture *capture = inference->capture;
	heap_object_id object = content->object;
	uint64_t size = capture->objects.size[object];
	struct layout_claim claim = fit_any(&inference->layouts, type, size);

	if (claim.fit == LAYOUT_NONE || claim.fit == LAYOUT_SLACK ||
	    has_whole_hint(inference, object, type))
		return false;
	if (is_text(inference, type))
		return capture->edges.first[object] == capture->edges.first[object + 1] &&
		       (!must_be_text || content_is_text(inference, content, size));
	return content_score(inference, content, type, claim.elements) >= 0;
}

static void sample_site(const struct inference *inference, const struct site_summary *site,
			heap_object_id *samples, uint32_t *count)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[site->first].first, unnamed = 0, seen = 0;
	uint32_t end = first + site->objects;

	*count = 0;
	for (uint32_t i = first; i < end; i++)
		unnamed += inference->rank[kinds->members[i]] == RANK_NONE;

	uint32_t step = unnamed / SAMPLES + 1;

	for (uint32_t i = first; i < end && *count < SAMPLES; i++) {
		if (inference->rank[kinds->members[i]] == RANK_NONE && seen++ % step == 0)
			samples[(*count)++] = kinds->members[i];
	}
}

// How many samples may be one or several of a type.
static bool samples_agree(const struct inference *inference, const heap_object_id *samples,
			  uint32_t count, heap_type_id type, bool must_be_text, uint64_t *words)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct content content;

		content_read(inference, samples[i], words, &content);
		good += may_repeat(inference, &content, type, must_be_text);
	}
	return good > 0 && good * UINT64_C(1000) >= count * (uint64_t)PER_MILLE;
}

// The element's type that nearly all named blocks of the site have.
static heap_type_id elect_element(const struct inference *inference,
				  const struct site_summary *site)
{
	const struct kinds *kinds = &inference->kinds;
	struct {
		heap_type_id type;
		uint32_t votes;
	} ballots[BALLOTS] = { { HEAP_NO_TYPE, 0 } };
	uint32_t first = kinds->kinds[site->first].first, voters = 0;

	for (uint32_t i = first; i < first + site->objects; i++) {
		heap_object_id object = kinds->members[i];

		if (inference->rank[object] == RANK_NONE)
			continue;
		voters++;
		for (int j = 0; j < BALLOTS; j++) {
			if (ballots[j].votes == 0)
				ballots[j].type = inference->capture->type[object];
			if (ballots[j].type == inference->capture->type[object]) {
				ballots[j].votes++;
				break;
			}
		}
	}
	for (int j = 0; j < BALLOTS; j++) {
		if (ballots[j].votes >= VOTERS &&
		    ballots[j].votes * UINT64_C(1000) >= voters * (uint64_t)PER_MILLE)
			return ballots[j].type;
	}
	return HEAP_NO_TYPE;
}

// The element's type that the code means: the only one of the innermost function that has one
// which agrees.
static heap_type_id find_meant_element(const struct inference *inference,
				       const struct site_summary *site,
				       const heap_object_id *samples, uint32_t count,
				       uint64_t *words)
{
	for (uint32_t depth = 0; depth < MEANING_DEPTHS; depth++) {
		heap_type_id found = HEAP_NO_TYPE;

		for (uint32_t i = 0; i < site->meanings->count; i++) {
			const struct meaning *meaning = &site->meanings->list[i];
			bool text = is_text(inference, meaning->type);
			bool flexible = heap_types_flexible(inference->layouts.types, meaning->type,
							    NULL, NULL);

			// Any function has pointers: for arrays only the one that gets the block
			// counts.
			if (meaning->depth != depth || meaning->type == found ||
			    !(meaning->is_result || text || flexible) ||
			    !samples_agree(inference, samples, count, meaning->type,
					   !meaning->is_result, words))
				continue;
			if (meaning->is_result)
				return meaning->type;
			if (found != HEAP_NO_TYPE)
				return HEAP_NO_TYPE;
			found = meaning->type;
		}
		if (found != HEAP_NO_TYPE)
			return found;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *claim_site(struct inference *inference, const struct site_summary *site,
				     heap_type_id type, enum rank rank, uint64_t *words,
				     uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[site->first].first;
	struct heap_error *error = NULL;

	for (uint32_t i = first; !error && i < first + site->objects; i++) {
		heap_object_id object = kinds->members[i];
		uint64_t size = inference->capture->objects.size[object];
		struct layout_claim claim = fit_any(&inference->layouts, type, size);
		struct content content;

		if (inference->rank[object] != RANK_NONE)
			continue;
		content_read(inference, object, words, &content);
		if (!may_repeat(inference, &content, type, false))
			continue;
		error = claim_member(
			inference, object,
			&(struct candidate){ .type = type, .elements = claim.elements }, rank,
			claimed);
	}
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *name_site(struct inference *inference, const struct site_summary *site,
				    uint64_t *words, uint64_t *claimed)
{
	heap_object_id samples[SAMPLES];
	uint32_t count;
	heap_type_id type;

	sample_site(inference, site, samples, &count);
	if (count == 0)
		return NULL;
	type = find_meant_element(inference, site, samples, count, words);
	if (type != HEAP_NO_TYPE)
		return claim_site(inference, site, type, RANK_SITE, words, claimed);
	type = elect_element(inference, site);
	if (type != HEAP_NO_TYPE && samples_agree(inference, samples, count, type, false, words))
		return claim_site(inference, site, type, RANK_VOTE, words, claimed);
	return NULL;
}

// --- all kinds ---------------------------------------------------------------

static bool has_unnamed(const struct inference *inference, const struct site_summary *site)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[site->first].first;

	for (uint32_t i = first; i < first + site->objects; i++) {
		if (!is_named(inference, kinds->members[i]))
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *name_kinds_surely(struct inference *inference, struct site_summary *site,
					    uint64_t *words, uint64_t *claimed)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; !error && i < site->sizes && has_unnamed(inference, site); i++)
		error = name_surely(inference, &inference->kinds.kinds[site->first + i], site,
				    words, claimed);
	return error;
}

HEAP_MUST_CHECK
static struct heap_error *name_kinds_likely(struct inference *inference, struct site_summary *site,
					    uint64_t *words, uint64_t *claimed)
{
	struct heap_error *error = NULL;

	if (!has_unnamed(inference, site))
		return NULL;
	for (uint32_t i = 0; !error && i < site->sizes; i++)
		error = name_likely(inference, &inference->kinds.kinds[site->first + i], site,
				    words, claimed);
	return error ? error : name_site(inference, site, words, claimed);
}

// Calls `work` for each site.
HEAP_MUST_CHECK
static struct heap_error *for_each_site(struct inference *inference,
					struct heap_error *(*work)(struct inference *inference,
								   struct site_summary *site,
								   uint64_t *words,
								   uint64_t *claimed),
					uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	struct heap_error *error = words ? NULL : heap_error_out_of_memory();

	for (uint32_t first = 0, end; !error && first < kinds->count; first = end) {
		struct site_summary site = {
			.site = kinds->kinds[first].site,
			.first = first,
			.meanings = &kinds->meanings[kinds->kinds[first].site],
		};

		for (end = first; end < kinds->count && kinds->kinds[end].site == site.site; end++)
			site.objects += kinds->kinds[end].count;
		site.sizes = end - first;
		error = work(inference, &site, words, claimed);
	}
	return error;
}

// --- single hints ------------------------------------------------------------

static enum rank weak_rank(enum layout_fit fit)
{
	switch (fit) {
	case LAYOUT_ARRAY:
		return RANK_ARRAY;
	case LAYOUT_TEXT:
		return RANK_TEXT;
	case LAYOUT_SLACK:
		return RANK_SLACK;
	default:
		return RANK_ELEMENT;
	}
}

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
	uint64_t size = inference->capture->objects.size[content->object];
	struct layout_claim claim =
		layouts_fit_weakly(&inference->layouts, hint->type, hint->interior, size);
	int score = TEXT_SCORE;

	// Where a text is read, a pointer goes through it.
	if (claim.fit == LAYOUT_NONE && is_text(inference, hint->type))
		return content_is_text(inference, content, size)
			       ? (struct weighed){ { LAYOUT_TEXT, hint->type, size },
						   TEXT_SCORE,
						   hint->count }
			       : nothing;
	if (claim.fit == LAYOUT_NONE ||
	    ask_hints(inference, content->object, claim.type) == WORD_AGAINST)
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
static struct layout_claim weigh_hints(const struct inference *inference,
				       const struct content *content)
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

HEAP_MUST_CHECK
static struct heap_error *weigh_hints_of(struct inference *inference, struct site_summary *site,
					 uint64_t *words, uint64_t *claimed)
{
	const struct kinds *kinds = &inference->kinds;
	uint32_t first = kinds->kinds[site->first].first;
	struct heap_error *error = NULL;

	for (uint32_t i = first; !error && i < first + site->objects; i++) {
		heap_object_id object = kinds->members[i];
		struct content content;

		if (inference->rank[object] != RANK_NONE || inference->hint_head[object] == NO_HINT)
			continue;
		content_read(inference, object, words, &content);

		struct layout_claim claim = weigh_hints(inference, &content);

		if (claim.fit == LAYOUT_NONE)
			continue;
		++*claimed;
		error = inference_claim(inference, weak_rank(claim.fit),
					&(struct claim){ object, claim.type, claim.elements,
							 HEAP_EVIDENCE_POINTER });
	}
	return error;
}

struct heap_error *kinds_claim(struct inference *inference, enum kinds_evidence evidence,
			       uint64_t *claimed)
{
	switch (evidence) {
	case KINDS_SURE:
		return for_each_site(inference, name_kinds_surely, claimed);
	case KINDS_LIKELY:
		return for_each_site(inference, name_kinds_likely, claimed);
	default:
		return for_each_site(inference, weigh_hints_of, claimed);
	}
}

// --- second thoughts ---------------------------------------------------------

struct heap_error *kinds_reconsider(struct inference *inference, uint64_t *dropped)
{
	struct capture *capture = inference->capture;
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));

	if (!words)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < capture->objects.count; i++) {
		struct content content;

		if (inference->rank[i] < RANK_SITE || inference->rank[i] == RANK_NONE ||
		    inference->hint_head[i] == NO_HINT || inference->renamed[i])
			continue;
		if (ask_hints(inference, i, capture->type[i]) != WORD_AGAINST) {
			if (is_text(inference, capture->type[i]) ||
			    find_text_hint(inference, i) == HEAP_NO_TYPE)
				continue;
			content_read(inference, i, words, &content);
			if (!content_is_text(inference, &content, capture->objects.size[i]))
				continue;
		}
		inference->renamed[i] = true;
		inference->rank[i] = RANK_NONE;
		capture->type[i] = HEAP_NO_TYPE;
		capture->elements[i] = 0;
		capture->evidence[i] = HEAP_EVIDENCE_NONE;
		++*dropped;
	}
	return NULL;
}
