// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Names for blocks, kind by kind. Each candidate is checked against the hints and contents of a
 * sample of the kind's unnamed blocks, and accepted if hardly any of them contradicts. Among
 * several candidates, the code's variables count first, then the siblings' vote, then the parts.
 * Some kinds are mixed, where a program makes nodes of several types by one function; their blocks
 * are named one by one.
 */
#include "dumper/writer/infer/naming.h"
#include "dumper/writer/infer/sampler.h"
#include "dumper/writer/infer/sizes/smaller_structs.h"
#include "dumper/writer/infer/sites/voting_sites.h"

#include "lib/base/pieces.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash.h"
#include "lib/base/prefetch.h"
#include "lib/base/search.h"
#include "dumper/writer/base/progress.h"

enum {
	PREFETCH_DISTANCE = 8,    // members; twice that for the first of two lookups
	MANY_SIZES = 3,           // a site with as many sizes does not allocate single structs
	REFUTING = 8,             // samples whose contents contradict what the code says of them
	CONTRADICTED_SAMPLES = 4, // at least, for their contents to contradict what any variable is
	CONTRADICTED_SHARE = 95,  // per cent of them
	PIECE = 8192,             // members
	KNOWN_HINTS = 64,         // that are known to tell of no type, a power of 2
};

// The blocks of a kind without a name, with and without hints.
struct unnamed {
	uint32_t counts[2];
};

static struct unnamed count_unnamed(const struct kind *kind)
{
	return (struct unnamed){ { kind->count - kind->good - kind->hinted, kind->hinted } };
}

// Counts the votes of the blocks that have a name.
static void add_votes(const struct inference *inference, const struct kind *kind,
		      struct candidates *candidates)
{
	const struct capture *capture = inference->capture;

	for (uint32_t i = 0; i < kind->count; i++) {
		heap_object_id object = kinds_member(inference, kind, i);

		progress_step();
		// Pools have no type.
		if (!claims_are_good(&inference->claims, object) ||
		    names_type(&capture->names, object) == HEAP_NO_TYPE)
			continue;

		struct candidate *candidate = candidates_add(
			candidates,
			(struct layout_claim){ LAYOUT_EXACT, names_type(&capture->names, object),
					       names_of(&capture->names, object)->elements });

		candidates->voters++;
		if (candidate)
			candidate->votes++;
	}
}

// True if a block of a size is the header of a flexible type and whole elements. Any size may be that of a header
// with something behind it.
static bool has_whole_elements(const struct inference *inference, heap_type_id type,
			       const struct kind *kind)
{
	const struct layouts *layouts = &inference->layouts;
	const struct layout_facts *facts = &layouts->facts[type];
	uint64_t stride = layouts_size(layouts, layouts_strip(layouts, facts->element));

	return stride > 0 && kind->size >= facts->start &&
	       (kind->size - facts->start) % stride <= kinds_slack(inference, kind);
}

// True if a variable of the code may point to the blocks of a kind, by their size.
static bool may_point_to_kind(const struct inference *inference, const struct kind *kind,
			      const struct site_summary *site, const struct site_type *site_type,
			      enum layout_fit fit)
{
	if (fit == LAYOUT_NONE || site_type->is_result)
		return fit != LAYOUT_NONE;
	if (fit == LAYOUT_EXACT)
		return site->sizes < MANY_SIZES;
	return fit != LAYOUT_FLEXIBLE || has_whole_elements(inference, site_type->type, kind);
}

// Adds the types of the code's variables that a block of that size can have.
static void add_site_types(const struct inference *inference, const struct kind *kind,
			   const struct site_summary *site, struct candidates *candidates)
{
	const struct layouts *layouts = &inference->layouts;
	const struct site_types *site_types = site->site_types;

	for (uint32_t i = 0; i < site_types->count; i++) {
		const struct site_type *site_type = &site_types->list[i];
		struct layout_claim claim = layouts_fit(layouts, site_type->type, kind->size,
							kinds_slack(inference, kind));

		if (claim.fit == LAYOUT_NONE && site_type->is_result)
			claim = smaller_structs_fit(layouts, site_type->type, kind->size,
						    kinds_slack(inference, kind));
		if (!may_point_to_kind(inference, kind, site, site_type, claim.fit))
			continue;

		struct candidate *candidate = candidates_add(candidates, claim);

		if (!candidate)
			continue;
		candidate->is_result |= site_type->is_result;
		if (site_type->depth < candidate->depth)
			candidate->depth = site_type->depth;
	}
}

// Likewise of a kind all of whose blocks have no name, and hints, or none.
static uint32_t sample_all(const struct inference *inference, const struct kind *kind,
			   struct sampler sampler, heap_object_id *samples)
{
	const heap_object_id *members = inference->kinds.members + kind->first;
	uint32_t count = 0;

	for (; sampler.next < kind->count && count < NAMING_SAMPLES / 2; sampler_advance(&sampler))
		samples[count++] = members[sampler.next];
	return count;
}

// A member of a kind in which none has a good name: ranks, a cache miss each, need not be read.
static heap_object_id hinted_member(const struct inference *inference, const struct kind *kind,
				    uint32_t number)
{
	const heap_object_id *members = inference->kinds.members + kind->first;

	if (number + 2 * PREFETCH_DISTANCE < kind->count)
		hints_prefetch(&inference->hints, members[number + 2 * PREFETCH_DISTANCE]);
	return members[number];
}

// One of each so many blocks without a name. Those with hints and those without may be of different
// types: some of both.
static uint32_t sample(const struct inference *inference, const struct kind *kind,
		       const struct unnamed *unnamed, heap_object_id *samples)
{
	struct sampler samplers[2] = { sampler_of(unnamed->counts[0] / (NAMING_SAMPLES / 2) + 1),
				       sampler_of(unnamed->counts[1] / (NAMING_SAMPLES / 2) + 1) };
	uint32_t left[2] = { NAMING_SAMPLES / 2, NAMING_SAMPLES / 2 };
	bool has_named = unnamed->counts[0] + unnamed->counts[1] < kind->count;
	uint32_t count = 0;

	if (unnamed->counts[0] == kind->count || unnamed->counts[1] == kind->count)
		return sample_all(inference, kind, samplers[unnamed->counts[1] > 0], samples);
	for (uint32_t i = kind->named; i < kind->count && left[0] + left[1] > 0; i++) {
		heap_object_id object = has_named ? kinds_member(inference, kind, i)
						  : hinted_member(inference, kind, i);
		bool hinted = hints_have(&inference->hints, object);

		if ((has_named && claims_are_good(&inference->claims, object)) ||
		    left[hinted] == 0 || !sampler_takes(&samplers[hinted]))
			continue;
		left[hinted]--;
		samples[count++] = object;
	}
	return count;
}

HEAP_MUST_CHECK
struct heap_error *naming_claim_member(struct inference *inference, heap_object_id object,
				       const struct candidate *candidate, enum rank rank,
				       uint64_t *claimed)
{
	static const uint8_t evidence[] = {
		[RANK_EMBEDDED] = HEAP_EVIDENCE_EMBEDDING,
		[RANK_SITE] = HEAP_EVIDENCE_SITE,
		[RANK_VOTE] = HEAP_EVIDENCE_VOTE,
	};

	// Code that cuts up its blocks handles headers, of which no block is an array.
	if (candidate->elements > 1 && free_lists_have(&inference->free_lists, candidate->type))
		return NULL;
	++*claimed;
	return claims_add(&inference->claims, rank,
			  &(struct claim){ object,
					   hints_find_copy(inference, object, candidate->type),
					   candidate->elements, evidence[rank], false });
}

static bool agrees(const struct inference *inference, heap_object_id object,
		   const struct candidate *candidate, uint64_t *words)
{
	struct content content;

	content_read(inference, object, words, &content);
	return candidate_score(inference, &content, candidate) >= 0;
}

// True if one value of a type has the address of code where it has a pointer to a function, from an offset on.
static bool has_callback(const struct inference *inference, const struct content *content,
			 heap_type_id type, uint64_t from)
{
	const struct heap_types *types = inference->layouts.types;
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);

	for (uint32_t i = 0;
	     slots && i < slots->count && slots->list[i].offset / 8 < content->count; i++) {
		const struct heap_slot *slot = &slots->list[i];

		progress_step();
		if (slot->offset >= from && slot->pointee != HEAP_NO_TYPE &&
		    types->types[slot->pointee].kind == HEAP_TYPE_FUNCTION &&
		    image_is_code(&inference->capture->image, content->words[slot->offset / 8]))
			return true;
	}
	return false;
}

// True if a type with the hinted parts agrees with a block's content as well as another one does, by its
// score. A callback behind the end of the one speaks for the other, as in a closure that begins with that of any language.
static bool is_rival(const struct inference *inference, const struct content *content,
		     heap_type_id type, uint64_t elements, const struct candidate *other, int score)
{
	return type != other->type && hints_ask(inference, content->object, type) == VERDICT_FOR &&
	       content_score(inference, content, type, elements) >= score &&
	       !(elements == 1 && other->elements == 1 &&
		 has_callback(inference, content, other->type,
			      layouts_size(&inference->layouts, type)));
}

// True if a type has pointers, and not to its own kind alone, as the nodes of lists and trees do: those are
// parts of blocks, and no arrays are made of them. Points and colours are in arrays, too.
static bool may_be_element(const struct layouts *layouts, heap_type_id type)
{
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);

	if (layouts_has_fractions_alone(layouts, type))
		return true;
	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee != type)
			return true;
	}
	return false;
}

// True if the words behind the first element of an array cannot be a second one, as a number where that has a pointer.
static bool contradicts_second(const struct inference *inference, const struct content *content,
			       heap_type_id element, uint64_t stride)
{
	struct content second = *content;

	if (stride % 8 != 0 || stride / 8 >= content->count)
		return false;
	second.words += stride / 8;
	second.count -= stride / 8;
	second.start += stride;
	return content_contradicts(inference, &second, element);
}

// True if the block may as well be an array of the hinted type. One pointer more that fits is no proof against.
static bool is_rival_array(const struct inference *inference, const struct content *content,
			   heap_type_id element, uint64_t size, const struct candidate *other,
			   int score)
{
	const uint64_t slack = inference_slack(inference, content->object);
	const struct layouts *layouts = &inference->layouts;
	uint64_t stride = layouts_size(layouts, element);

	if (!layouts_is_compound(layouts, element) || !may_be_element(layouts, element) ||
	    size % stride > slack ||
	    (size / stride > 1 && contradicts_second(inference, content, element, stride)))
		return false;
	return is_rival(inference, content, element, size / stride, other,
			size / stride > 1 ? score - 1 : score);
}

// True if there is a rival of the sizes that a block of @p size may have been requested with.
static bool has_rival(const struct inference *inference, const struct content *content,
		      const struct hint *hint, uint64_t size, const struct candidate *other,
		      int score)
{
	uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;
	const struct layout_wholes wholes =
		layouts_exact_wholes(&inference->layouts, hint->type, interior, size,
				     inference_slack(inference, content->object));

	if (interior == 0 && is_rival_array(inference, content, hint->type, size, other, score))
		return true;
	for (const struct layout_part *at = wholes.at; at < wholes.end; at++) {
		if (is_rival(inference, content, at->whole, 1, other, score))
			return true;
	}
	return false;
}

// True if a block may as well be an array of the type that a pointer to its start has. Any size may be that of a
// header with elements, and that pointer may be the one to the array.
static bool is_array_of_hinted(const struct inference *inference, heap_object_id object,
			       const struct candidate *header, uint64_t *words)
{
	uint64_t size = inference_size(inference, object);
	struct content content;
	int score;

	content_read(inference, object, words, &content);
	score = candidate_score(inference, &content, header);
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		uint64_t stride = layouts_size(&inference->layouts, hint->type);

		if (layouts_is_start(hint->interior) && !hint->either &&
		    layouts_is_compound(&inference->layouts, hint->type) &&
		    may_be_element(&inference->layouts, hint->type) && size % stride == 0 &&
		    is_rival(inference, &content, hint->type, size / stride, header, score))
			return true;
	}
	return false;
}

// True if all that speaks for a type is the link of a list with which it begins. Programs cast structs with pointers
// of their own to such a link, and free blocks have one, so that the rest of the content must prove the type: by pointers
// to what is known, or a callback.
static bool is_link_alone(const struct inference *inference, const struct content *content,
			  const struct candidate *candidate, int score)
{
	for (uint32_t at = hints_first(&inference->hints, content->object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint_ask(inference, hint, candidate->type) == VERDICT_FOR &&
		    (!layouts_is_start(hint->interior) ||
		     !layouts_is_link(&inference->layouts, hint->type) ||
		     has_callback(inference, content, candidate->type, 0) ||
		     content_score(inference, content, hint->type, 1) < score))
			return false;
	}
	return true;
}

// True if a block has words that one value of a type cannot have, but for enums that the program may never have set.
static bool contradicts(const struct inference *inference, const struct content *content,
			heap_type_id type)
{
	return content_contradicts(inference, content, type) &&
	       content_score_unset(inference, content, type) < 0;
}

// True if nearly all samples have words that one value of a type cannot have.
static bool is_contradicted(const struct inference *inference, heap_type_id type,
			    const heap_object_id *samples, uint32_t count, uint64_t *words)
{
	uint32_t contradicted = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct content content;

		content_read(inference, samples[i], words, &content);
		contradicted += contradicts(inference, &content, type);
		if ((i + 1 - contradicted) * 100 > count * (100 - CONTRADICTED_SHARE))
			return false;
	}
	return count >= CONTRADICTED_SAMPLES;
}

// True if a block and nearly all others without a name of its site and size have words that one value of a type cannot
// have. A single block may have old bytes where the program has not set a member yet.
static bool is_refuted_by_all(const struct inference *inference, const struct content *content,
			      heap_type_id type)
{
	const struct kind *kind = &inference->kinds.kinds[kinds_of(inference, content->object)];
	uint64_t open = kind->count - kind->named, words[CONTENT_WORDS + 1];
	uint32_t count = open < NAMING_SAMPLES ? (uint32_t)open : NAMING_SAMPLES;
	heap_object_id samples[NAMING_SAMPLES];

	if (!inference_knows_site(inference, kind->site) || !contradicts(inference, content, type))
		return false;
	for (uint32_t i = 0; i < count; i++)
		samples[i] =
			kinds_member(inference, kind, kind->named + (uint32_t)(open * i / count));
	progress_steps(count);
	return is_contradicted(inference, type, samples, count, words);
}

// True if a block may be what its hints say is the only type of its size. Where sizes are not exact,
// several types may have them, so the content must favour this one, also over those of a block that has a rest
// behind it.
static bool may_be_whole(const struct inference *inference, heap_object_id object,
			 const struct candidate *candidate, uint64_t *words)
{
	uint64_t size = inference_size(inference, object);
	uint64_t rest = inference_rest(inference, object);
	struct content content;
	int score;

	if (inference_slack(inference, object) == 0 && candidate->fit == LAYOUT_FLEXIBLE)
		return !is_array_of_hinted(inference, object, candidate, words);
	content_read(inference, object, words, &content);
	if (inference_slack(inference, object) == 0)
		return !candidate_may_be_array(inference, &content, candidate) &&
		       (candidate->fit != LAYOUT_EXACT || candidate->elements != 1 ||
			!is_refuted_by_all(inference, &content, candidate->type));
	score = candidate_score(inference, &content, candidate);
	if (score < 0 || is_link_alone(inference, &content, candidate, score))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		if (has_rival(inference, &content, hint, size, candidate, score) ||
		    (rest > 0 &&
		     has_rival(inference, &content, hint, size - rest, candidate, score)))
			return false;
	}
	return true;
}

// True if a site makes arrays of many sizes, with the type hinted at the start of an object for an element.
// If a struct begins with such an element, and has the size of several, that is chance.
static bool is_of_arrays(const struct inference *inference, const struct site_summary *site,
			 heap_object_id object)
{
	const struct kind *kinds = &inference->kinds.kinds[site->first];

	if (site->sizes < MANY_SIZES || !inference_knows_site(inference, site->site))
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		uint64_t stride = layouts_size(&inference->layouts, hint->type);
		uint32_t i = 0;

		progress_step();
		if (!layouts_is_start(hint->interior) || hint->either ||
		    !layouts_is_compound(&inference->layouts, hint->type))
			continue;
		while (i < site->sizes && kinds[i].size % stride == 0)
			i++;
		if (i == site->sizes)
			return true;
	}
	return false;
}

// True if no type of a block's size has the parts that its hints tell of.
static bool is_unexplained(const struct inference *inference, heap_object_id object)
{
	struct candidates candidates;

	candidates_init(&candidates);
	candidates_add_hinted(inference, object, &candidates);
	return candidates.count == 0;
}

// True if a block may have the name of its kind although no hint speaks for it.
static bool may_have(const struct inference *inference, const struct kind *kind,
		     heap_object_id object, const struct candidate *candidate, enum rank rank,
		     enum verdict word, uint64_t *words)
{
	if (rank == RANK_EMBEDDED)
		return false;
	if (word == VERDICT_AGAINST)
		return rank == RANK_VOTE && candidate->votes * UINT64_C(2) >= kind->count &&
		       is_unexplained(inference, object) &&
		       agrees(inference, object, candidate, words);
	return candidate->is_result || agrees(inference, object, candidate, words);
}

// True if only pointers in unions, of which another member may hold, tell that a block is of a type, and its
// content does not.
static bool is_one_of_several(const struct inference *inference, heap_object_id object,
			      const struct candidate *candidate, uint64_t *words)
{
	struct content content;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!hint->either && hint_ask(inference, hint, candidate->type) == VERDICT_FOR)
			return false;
	}
	content_read(inference, object, words, &content);
	return candidate_score(inference, &content, candidate) <= 0;
}

// Names the blocks of a kind without a name; by parts, only those with hints of these parts.
HEAP_MUST_CHECK
static struct heap_error *claim_kind(struct inference *inference, const struct kind *kind,
				     const struct site_summary *site,
				     const struct candidate *candidate, enum rank rank,
				     uint64_t *words, uint64_t *claimed)
{
	CLEANUP(voting_sites_deinit) struct voting_sites voters = { NULL };

	if (rank == RANK_VOTE)
		HEAP_TRY(voting_sites_find(inference, site, kind->first, kind->count,
					   candidate->type, &voters));
	for (uint32_t i = kind->named; i < kind->count; i++) {
		heap_object_id object = kinds_member(inference, kind, i);

		progress_step();
		if (progress_is_late())
			break;
		if (claims_are_good(&inference->claims, object) ||
		    (rank == RANK_EMBEDDED && is_of_arrays(inference, site, object)))
			continue;

		enum verdict word = candidate_ask(inference, object, candidate);

		if (word == VERDICT_FOR && !may_be_whole(inference, object, candidate, words))
			continue;
		if (word == VERDICT_FOR && !is_one_of_several(inference, object, candidate, words))
			HEAP_TRY(naming_claim_member(inference, object, candidate, RANK_EMBEDDED,
						     claimed));
		else if (voting_sites_have(&voters, inference, object) &&
			 may_have(inference, kind, object, candidate, rank, word, words))
			HEAP_TRY(naming_claim_member(inference, object, candidate, rank, claimed));
	}
	return NULL;
}

// The first kind of a site with one tag whose blocks have a size or more.
static uint32_t find_size(const struct kind *kinds, uint32_t count, uint64_t size)
{
	return heap_partition_point(i, 0, count, kinds[i].size < size);
}

// True if nearly all blocks of a site with one tag are of sizes that a type may have: its own,
// or any from that of a flexible one's header on.
static bool fits_all(const struct inference *inference, const struct site_summary *site,
		     heap_type_id type)
{
	const struct kind *kinds = &inference->kinds.kinds[site->first];
	const struct layout_facts *facts = &inference->layouts.facts[type];
	uint32_t own = find_size(kinds, site->sizes, facts->size);
	uint32_t larger =
		facts->fits_any ? find_size(kinds, site->sizes, facts->start) : site->sizes;
	uint64_t fitting = 0;

	progress_step();
	if (larger < site->sizes)
		fitting = kinds[0].first + site->objects - kinds[larger].first;
	for (; own < larger &&
	       kinds[own].size - facts->size <= layouts_slack(&inference->layouts, kinds[own].size);
	     own++)
		fitting += kinds[own].count;
	return fitting * 1000 >= site->objects * (uint64_t)NAMING_PER_MILLE;
}

// Drops the candidates that the blocks' tag rules out.
static void drop_excluded(const struct inference *inference, const struct kind *kind,
			  const struct site_summary *site, struct candidates *candidates)
{
	uint32_t kept = 0;

	if (kind->tag == NO_TAG)
		return;
	for (uint32_t i = 0; i < candidates->count; i++) {
		heap_type_id type = candidates->list[i].type;

		if (!discriminators_exclude(inference, kind, type) &&
		    fits_all(inference, site, type))
			candidates->list[kept++] = candidates->list[i];
	}
	candidates->count = kept;
}

// True if the contents of all samples contradict a type. A few may not be set yet, unless they are text; and
// behind the header of a flexible struct may be anything, packed.
static bool is_refuted(const struct inference *inference, const struct candidate *candidate,
		       const heap_object_id *samples, uint32_t count, uint64_t *words)
{
	bool are_texts = true;

	for (uint32_t i = 0; i < count; i++) {
		struct content content;

		content_read(inference, samples[i], words, &content);
		if (candidate_score(inference, &content, candidate) >= 0)
			return false;
		are_texts = are_texts && content_is_text(inference, &content,
							 inference_size(inference, samples[i]));
	}
	return count > 0 && (are_texts || (count >= REFUTING && candidate->fit == LAYOUT_EXACT));
}

// Drops the storage header in whose place blocks have a prefix: their code handles it, but what is behind is no other one.
static void drop_headers(const struct inference *inference, const heap_object_id *samples,
			 uint32_t count, struct candidates *candidates)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < candidates->count; i++) {
		bool is_own = false;

		for (uint32_t j = 0; j < count; j++)
			is_own |= storage_headers_are_own(inference, samples[j],
							  candidates->list[i].type);
		if (!is_own)
			candidates->list[kept++] = candidates->list[i];
	}
	candidates->count = kept;
}

// Drops the types of results that the contents refute. The variable that gets the result of a call
// does not get the block if a library's function allocates it for an object, and returns the
// object, as std::string::append() does.
static void drop_refuted(const struct inference *inference, const heap_object_id *samples,
			 uint32_t count, uint64_t *words, struct candidates *candidates)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (!candidate->is_result ||
		    !is_refuted(inference, candidate, samples, count, words))
			candidates->list[kept++] = *candidate;
	}
	candidates->count = kept;
}

// Drops the structs that the code has some variable of, and the contents contradict: where they agree, as pointers
// of an array do with those of a struct of its size, that is chance.
static void drop_contradicted(const struct inference *inference, const heap_object_id *samples,
			      uint32_t count, uint64_t *words, struct candidates *candidates)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < candidates->count; i++) {
		const struct candidate *candidate = &candidates->list[i];

		if (candidate->depth == UINT32_MAX || candidate->is_result ||
		    candidate->votes > 0 || candidate->fit != LAYOUT_EXACT ||
		    candidate->elements != 1 ||
		    !is_contradicted(inference, candidate->type, samples, count, words))
			candidates->list[kept++] = *candidate;
	}
	candidates->count = kept;
}

// True if a block is due for naming, and marks it as seen.
static bool is_news(struct inference *inference, heap_object_id object,
		    enum naming_evidence evidence, enum naming_pass pass)
{
	uint8_t all = inference->news[object], news = all & (1 << evidence);

	__atomic_store_n(&inference->news[object], (uint8_t)(all & ~news), __ATOMIC_RELAXED);
	return !(all & NEWS_NO_WHOLE) &&
	       (news || (pass == PASS_ALL && hints_have(&inference->hints, object)));
}

// Checks candidates against one block. Sure evidence does not depend on contents.
static void hold(const struct inference *inference, heap_object_id object,
		 enum naming_evidence evidence, uint64_t *words, struct candidates *candidates)
{
	struct content content;

	if (evidence == NAMING_SURE) {
		candidates_ask(inference, object, candidates);
		return;
	}
	content_read(inference, object, words, &content);
	candidates_hold(inference, &content, candidates);
}

// Prefetches what name_singly() reads of a member, which may be another thread's: whether it is news counts
// for the prefetch alone.
static void fetch(const struct inference *inference, const struct kind *kind, uint32_t number)
{
	const heap_object_id *members = inference->kinds.members + kind->first;
	heap_object_id object;

	if (number + 2 * PREFETCH_DISTANCE < kind->count)
		heap_prefetch_to_write(&inference->news[members[number + 2 * PREFETCH_DISTANCE]]);
	if (number + PREFETCH_DISTANCE >= kind->count)
		return;
	object = members[number + PREFETCH_DISTANCE];
	if (!(__atomic_load_n(&inference->news[object], __ATOMIC_RELAXED) & NEWS_NO_WHOLE) &&
	    hints_have(&inference->hints, object))
		heap_prefetch(&inference->hints.list[hints_first(&inference->hints, object)]);
}

// All that candidates_add_hinted() reads of a block with one hint.
struct lone_hint {
	uint64_t size;
	heap_type_id type;
	uint32_t interior;
	uint8_t flags; // of the block
	bool either, is_set;
};

// Hints that told of no type: where blocks have one hint each, most have one of a few.
struct futile_hints {
	struct lone_hint known[KNOWN_HINTS];
};

// Describes the hint of a block. @return false if the block has several, or none
static bool describe_hint(const struct inference *inference, heap_object_id object,
			  struct lone_hint *result)
{
	uint32_t at = hints_first(&inference->hints, object);
	const struct hint *hint = &inference->hints.list[at];

	if (at == NO_HINT || hint->next != NO_HINT)
		return false;
	*result = (struct lone_hint){
		inference_size(inference, object),         hint->type,   hint->interior,
		inference->capture->objects.flags[object], hint->either, true
	};
	return true;
}

static bool is_same_hint(const struct lone_hint *one, const struct lone_hint *other)
{
	return one->is_set == other->is_set && one->size == other->size &&
	       one->type == other->type && one->interior == other->interior &&
	       one->flags == other->flags && one->either == other->either;
}

// Adds the candidates of samples. Most have one hint, and the one before had the same.
static void add_hinted(const struct inference *inference, const heap_object_id *samples,
		       uint32_t count, struct candidates *candidates)
{
	struct lone_hint last = { .is_set = false }, hint;

	for (uint32_t i = 0; i < count; i++) {
		if (describe_hint(inference, samples[i], &hint)) {
			if (is_same_hint(&last, &hint))
				continue;
			last = hint;
		}
		candidates_add_hinted(inference, samples[i], candidates);
	}
}

// Gathers the types of a block's size that have the hinted parts.
static void gather_hinted(const struct inference *inference, heap_object_id object,
			  struct futile_hints *futile, struct candidates *candidates)
{
	struct lone_hint hint, *known = NULL;

	candidates_init(candidates);
	if (describe_hint(inference, object, &hint)) {
		uint64_t hash = heap_hash_pair(hint.type, hint.interior);

		known = &futile->known[heap_hash_mix(hash, hint.size) % KNOWN_HINTS];
		if (is_same_hint(known, &hint))
			return;
	}
	candidates_add_hinted(inference, object, candidates);
	if (known && candidates->count == 0 && !candidates->too_many)
		*known = hint;
}

// Finds the candidates for one block by its hints. @return false if there are none, or too many
static bool find_candidates(struct inference *inference, const struct kind *kind,
			    const struct site_summary *site, heap_object_id object,
			    struct futile_hints *futile, struct candidates *candidates)
{
	gather_hinted(inference, object, futile, candidates);
	if (candidates->count == 0)
		inference->news[object] |= NEWS_NO_WHOLE;
	drop_excluded(inference, kind, site, candidates);
	return candidates->count > 0 && !candidates->too_many;
}

// The blocks of a kind that are named one by one.
struct naming_singly {
	struct inference *inference;
	const struct kind *kind;
	const struct site_summary *site;
	enum naming_evidence evidence;
	uint64_t *words, *claimed;
};

// Members of a piece that have candidates.
struct members {
	struct HEAP_ARRAY(heap_object_id) found;
	struct futile_hints futile;
};

// Several threads visit pieces, and none changes data that another one reads.
HEAP_MUST_CHECK
static struct heap_error *find_members(void *context, size_t number, void *result)
{
	const struct naming_singly *naming = context;
	struct inference *inference = naming->inference;
	const struct kind *kind = naming->kind;
	uint32_t first = kind->named + (uint32_t)number * PIECE, left = kind->count - first;
	struct members *members = result;
	struct candidates candidates;

	members->found.count = 0;
	for (uint32_t i = first; i < first + (left < PIECE ? left : PIECE); i++) {
		heap_object_id object = kinds_member(inference, kind, i);

		progress_step();
		fetch(inference, kind, i);
		if (progress_is_late())
			break;
		if (!claims_are_good(&inference->claims, object) &&
		    is_news(inference, object, naming->evidence, naming->site->pass) &&
		    find_candidates(inference, kind, naming->site, object, &members->futile,
				    &candidates))
			HEAP_TRY(heap_array_append(&members->found, object));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_member(const struct naming_singly *naming, heap_object_id object,
				      struct futile_hints *futile)
{
	struct inference *inference = naming->inference;
	struct candidates candidates;
	const struct candidate *only;

	if (!find_candidates(inference, naming->kind, naming->site, object, futile, &candidates))
		return NULL;
	hold(inference, object, naming->evidence, naming->words, &candidates);
	if (is_of_arrays(inference, naming->site, object))
		return NULL;
	only = naming->evidence == NAMING_SURE ? candidates_only_whole(inference, &candidates)
					       : candidates_best_whole(inference, &candidates);
	return only && may_be_whole(inference, object, only, naming->words)
		       ? naming_claim_member(inference, object, only, RANK_EMBEDDED,
					     naming->claimed)
		       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_members(void *context, void *result)
{
	const struct naming_singly *naming = context;
	struct members *members = result;

	for (size_t i = 0; i < members->found.count && !progress_is_late(); i++)
		HEAP_TRY(name_member(naming, members->found.items[i], &members->futile));
	return NULL;
}

static void release_members(void *result)
{
	struct members *members = result;

	heap_array_deinit(&members->found);
}

struct heap_error *name_singly(struct inference *inference, const struct kind *kind,
			       const struct site_summary *site, enum naming_evidence evidence,
			       uint64_t *words, uint64_t *claimed)
{
	// Without hints, no block has candidates of its own; nor where the hinted parts are in no type of its size.
	if (kind->open == 0)
		return NULL;
	return heap_pieces_run(&(struct heap_piece_work){
		.count = ((size_t)kind->count - kind->named + PIECE - 1) / PIECE,
		.part_size = sizeof(struct members),
		.work = find_members,
		.join = name_members,
		.release = release_members,
		.context =
			&(struct naming_singly){ inference, kind, site, evidence, words, claimed },
	});
}

struct heap_error *name_block(struct inference *inference, const struct kind *kind,
			      const struct site_summary *site, enum naming_evidence evidence,
			      heap_object_id object, uint64_t *words, uint64_t *claimed)
{
	struct futile_hints futile = { 0 };

	if (claims_are_good(&inference->claims, object) ||
	    !is_news(inference, object, evidence, site->pass))
		return NULL;
	return name_member(
		&(struct naming_singly){ inference, kind, site, evidence, words, claimed }, object,
		&futile);
}

// Gathers candidates for the blocks of a kind without a name. @return true if there are any
static bool gather(const struct inference *inference, const struct kind *kind,
		   const struct site_summary *site, enum naming_evidence evidence, uint64_t *words,
		   struct candidates *candidates)
{
	heap_object_id samples[NAMING_SAMPLES];
	struct unnamed unnamed = count_unnamed(kind);
	uint32_t count = unnamed.counts[0] + unnamed.counts[1];

	if (count == 0)
		return false;
	if (count < kind->count)
		add_votes(inference, kind, candidates);
	count = sample(inference, kind, &unnamed, samples);
	add_site_types(inference, kind, site, candidates);
	add_hinted(inference, samples, count, candidates);
	if (candidates->too_many)
		candidates_drop_hinted(candidates);
	drop_excluded(inference, kind, site, candidates);
	drop_headers(inference, samples, count, candidates);
	if (evidence == NAMING_SURE)
		drop_refuted(inference, samples, count, words, candidates);
	else
		drop_contradicted(inference, samples, count, words, candidates);
	for (uint32_t i = 0; candidates->count > 0 && i < count; i++)
		hold(inference, samples[i], evidence, words, candidates);
	return candidates->count > 0;
}

// The type of all of a kind by evidence that leaves no choice. @param rank  of that evidence
static const struct candidate *find_surely(const struct inference *inference,
					   const struct candidates *candidates, enum rank *rank)
{
	const struct candidate *found = candidates_result(candidates);

	*rank = RANK_SITE;
	if (found)
		return found;
	*rank = RANK_EMBEDDED;
	return candidates_only_whole(inference, candidates);
}

// The likely type of all of a kind.
static const struct candidate *find_likely(const struct inference *inference,
					   const struct kind *kind,
					   const struct candidates *candidates, enum rank *rank)
{
	const struct candidate *found = candidates_meant(inference, candidates);

	*rank = RANK_SITE;
	if (found)
		return found;
	found = candidates_elected(candidates, kind->count);
	*rank = RANK_VOTE;
	if (found)
		return found;
	*rank = RANK_EMBEDDED;
	return candidates_best_whole(inference, candidates);
}

struct heap_error *name_kind(struct inference *inference, struct kind *kind,
			     const struct site_summary *site, enum naming_evidence evidence,
			     uint64_t *words, uint64_t *claimed)
{
	struct candidates candidates;
	const struct candidate *found;
	enum rank rank;

	candidates_init(&candidates);
	// A common size alone is no evidence.
	kind->is_mixed[evidence] = !inference_knows_site(inference, kind->site);
	if (kind->is_mixed[evidence])
		return name_singly(inference, kind, site, evidence, words, claimed);
	if (!gather(inference, kind, site, evidence, words, &candidates))
		return NULL;
	found = evidence == NAMING_SURE ? find_surely(inference, &candidates, &rank)
					: find_likely(inference, kind, &candidates, &rank);
	if (found)
		return claim_kind(inference, kind, site, found, rank, words, claimed);
	kind->is_mixed[evidence] = true;
	return name_singly(inference, kind, site, evidence, words, claimed);
}

// True if the names of a kind's blocks are those of the best evidence.
static bool are_sure(const struct inference *inference, const struct kind *kind)
{
	uint32_t left = kind->good;

	for (uint32_t i = 0; left > 0 && i < kind->count; i++) {
		heap_object_id object = kinds_member(inference, kind, i);

		progress_step();
		if (!claims_are_good(&inference->claims, object))
			continue;
		if (claims_rank(&inference->claims, object) > RANK_EXACT)
			return false;
		left--;
	}
	return true;
}

struct heap_error *name_by_few(struct inference *inference, const struct kind *kind,
			       const struct site_summary *site, uint64_t *words, uint64_t *claimed)
{
	struct candidates candidates;
	const struct candidate *found;

	candidates_init(&candidates);
	if (!inference_knows_site(inference, kind->site) || !are_sure(inference, kind) ||
	    !gather(inference, kind, site, NAMING_LIKELY, words, &candidates))
		return NULL;
	found = candidates_unanimous(inference, &candidates);
	return found ? claim_kind(inference, kind, site, found, RANK_VOTE, words, claimed) : NULL;
}
