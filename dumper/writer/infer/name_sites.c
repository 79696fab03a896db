// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Names for all blocks of a site. A site that is called with many sizes makes arrays, texts, or
 * headers with elements: all of its blocks together decide the type of the elements.
 */
#include "dumper/writer/infer/naming.h"
#include "dumper/writer/infer/sampler.h"
#include "dumper/writer/infer/sites/voting_sites.h"
#include "dumper/writer/infer/sizes/lone_headers.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"
#include "lib/base/prefetch.h"

#include <string.h>

enum {
	BALLOTS = 8,            // different names that are counted
	PREFETCH_DISTANCE = 16, // members
};

// Fits elements of a type into a block of a size.
static struct layout_claim fit_any(const struct inference *inference, heap_type_id type,
				   heap_object_id object)
{
	struct layout_claim claim = inference_fit(inference, type, object);

	return claim.fit == LAYOUT_NONE ? inference_fit_weakly(inference, type, 0, object) : claim;
}

// True if a slot says that the block is some other struct, or has one at its start.
static bool has_whole_hint(const struct inference *inference, heap_object_id object,
			   heap_type_id type)
{
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		if (hint->type != type && !hint->either && layouts_is_start(hint->interior) &&
		    (layouts_is_compound(&inference->layouts, hint->type) ||
		     hint_ask(inference, hint, type) == VERDICT_AGAINST))
			return true;
	}
	return hints_ask(inference, object, type) == VERDICT_AGAINST;
}

// True if all that reads as text are a few letters, and something else is behind their NUL, as in numbers and in strings
// of characters of several bytes.
static bool is_like_numbers(const struct content *content, uint64_t size)
{
	const char *bytes = (const char *)content->words;
	uint64_t end = size < content->count * 8 ? size : content->count * 8;
	uint64_t length = strnlen(bytes, end);

	if (length >= sizeof(*content->words))
		return false;
	for (uint64_t i = length; i < end; i++) {
		if (bytes[i] != '\0')
			return true;
	}
	return false;
}

// True if a block may be one or several of a type, by its size, hints and content.
//
// @param must_prove  the content must speak for it: a text must read like one
static bool may_repeat(const struct inference *inference, const struct content *content,
		       heap_type_id type, bool must_prove)
{
	const struct capture *capture = inference->capture;
	heap_object_id object = content->object;
	uint64_t size = inference_size(inference, object);
	struct layout_claim claim = fit_any(inference, type, object);

	if (claim.fit == LAYOUT_NONE || claim.fit == LAYOUT_SLACK ||
	    (claim.elements > 1 && layouts_is_compound(&inference->layouts, type) &&
	     single_objects_have(&inference->single_objects, capture, object)) ||
	    has_whole_hint(inference, object, type))
		return false;
	if (layouts_is_character(&inference->layouts, type))
		return capture->snapshot.edge_first[object] ==
			       capture->snapshot.edge_first[object + 1] &&
		       (!must_prove || (content_is_text(inference, content, size) &&
					!is_like_numbers(content, size)));
	return content_score(inference, content, type, claim.elements) >= must_prove;
}

bool naming_may_repeat(const struct inference *inference, heap_object_id object, heap_type_id type,
		       uint64_t *words)
{
	struct content content;

	content_read(inference, object, words, &content);
	return may_repeat(inference, &content, type, false);
}

uint64_t naming_elements(const struct inference *inference, heap_object_id object,
			 heap_type_id type)
{
	return fit_any(inference, type, object).elements;
}

// True for what is a text, whoever has asked for it. A number may look like one that is shorter than a word.
static bool is_plain_text(const struct inference *inference, const struct content *content)
{
	return content->count > 0 && !memchr(content->words, '\0', sizeof(*content->words)) &&
	       content_is_text(inference, content, inference_size(inference, content->object));
}

static bool is_free(const struct inference *inference, heap_object_id object)
{
	return inference->claims.rank[object] == RANK_NONE;
}

// Counts the blocks of a site without a claim.
static uint32_t count_free(const struct inference *inference, const struct site_summary *site,
			   bool is_counted)
{
	const struct kinds *kinds = &inference->kinds;
	const struct kind *first = &kinds->kinds[site->first];
	uint32_t result = 0;

	for (uint32_t i = 0; is_counted && i < site->sizes; i++)
		result += first[i].free;
	for (uint32_t i = 0; !is_counted && i < site->objects; i++)
		result += is_free(inference, kinds->members[first->first + i]);
	return result;
}

static void sample_kind(const struct inference *inference, const struct kind *kind,
			struct sampler *sampler, heap_object_id *samples, uint32_t *count)
{
	const heap_object_id *members = inference->kinds.members + kind->first;

	for (uint32_t i = 0; i < kind->count && *count < NAMING_SAMPLES; i++) {
		if (i + PREFETCH_DISTANCE < kind->count)
			heap_prefetch(&inference->claims.rank[members[i + PREFETCH_DISTANCE]]);
		if (is_free(inference, members[i]) && sampler_takes(sampler))
			samples[(*count)++] = members[i];
	}
}

// Likewise of a kind of which no block has a claim.
static void sample_free(const struct inference *inference, const struct kind *kind,
			struct sampler *sampler, heap_object_id *samples, uint32_t *count)
{
	const heap_object_id *members = inference->kinds.members + kind->first;

	for (; sampler->next < sampler->seen + kind->count && *count < NAMING_SAMPLES;
	     sampler_advance(sampler))
		samples[(*count)++] = members[sampler->next - sampler->seen];
	sampler->seen += kind->count;
}

static void sample_site(const struct inference *inference, const struct site_summary *site,
			bool is_counted, heap_object_id *samples, uint32_t *count)
{
	const struct kind *kinds = &inference->kinds.kinds[site->first];
	uint32_t unnamed = count_free(inference, site, is_counted);
	struct sampler sampler = sampler_of(unnamed / NAMING_SAMPLES + 1);

	*count = 0;
	for (uint32_t i = 0; unnamed > 0 && i < site->sizes; i++) {
		progress_step();
		if (is_counted && kinds[i].free == kinds[i].count)
			sample_free(inference, &kinds[i], &sampler, samples, count);
		else if (!is_counted || kinds[i].free > 0)
			sample_kind(inference, &kinds[i], &sampler, samples, count);
	}
}

// Counts the samples that may be one or several of a type.
static bool samples_agree(const struct inference *inference, const heap_object_id *samples,
			  uint32_t count, heap_type_id type, bool must_prove, uint64_t *words)
{
	uint32_t good = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct content content;

		progress_step();
		content_read(inference, samples[i], words, &content);
		good += may_repeat(inference, &content, type, must_prove);
	}
	return good > 0 && good * UINT64_C(1000) >= count * (uint64_t)NAMING_PER_MILLE;
}

// True if nearly all samples of a site have something else behind what would be the first element of an array: the variable that
// gets them points to a header. The last elements of a few arrays may have old bytes.
static bool are_headers(const struct inference *inference, const heap_object_id *samples,
			uint32_t count, heap_type_id type, uint64_t *words)
{
	uint32_t headers = 0;

	if (count < NAMING_VOTERS || !layouts_is_compound(&inference->layouts, type))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct layout_claim claim;
		struct content content;

		progress_step();
		content_read(inference, samples[i], words, &content);
		claim = fit_any(inference, type, samples[i]);
		headers += lone_headers_may_be(inference, &content, &claim);
	}
	return headers * UINT64_C(1000) >= count * (uint64_t)NAMING_PER_MILLE;
}

struct ballot {
	heap_type_id type;
	uint32_t votes;
};

static void prefetch_vote(const struct inference *inference, const struct kind *kind,
			  uint32_t number, bool all_vote)
{
	heap_object_id object;

	if (number >= kind->count)
		return;
	object = inference->kinds.members[kind->first + number];
	heap_prefetch(&inference->capture->names.of[object]);
	if (!all_vote)
		heap_prefetch(&inference->claims.rank[object]);
}

// Counts the votes of the blocks of a kind. Those that have another prefix than the blocks that are voted for take part,
// but for nothing that these may be: what it is behind its prefix.
//
// @param all_vote  all of them have a claim
static uint32_t count_votes(const struct inference *inference, const struct kind *kind,
			    bool all_vote, uint32_t prefix, struct ballot *ballots)
{
	const heap_object_id *members = inference->kinds.members + kind->first;
	uint32_t voters = 0;

	for (uint32_t i = 0; i < kind->count; i++) {
		heap_object_id object = members[i];

		progress_step();
		prefetch_vote(inference, kind, i + PREFETCH_DISTANCE, all_vote);
		if (!all_vote && is_free(inference, object))
			continue;
		voters++;
		if (inference_prefix(inference, object) != prefix)
			continue;

		heap_type_id type = inference_type(inference, object);

		for (int j = 0; j < BALLOTS; j++) {
			if (ballots[j].votes == 0)
				ballots[j].type = type;
			if (ballots[j].type == type) {
				ballots[j].votes++;
				break;
			}
		}
	}
	return voters;
}

// The element type of nearly all named blocks of the site. @param prefix  of the blocks that are voted for
static heap_type_id elect_element(const struct inference *inference,
				  const struct site_summary *site, bool is_counted, uint32_t prefix)
{
	const struct kind *kinds = &inference->kinds.kinds[site->first];
	struct ballot ballots[BALLOTS] = { { HEAP_NO_TYPE, 0 } };
	uint32_t voters = 0;

	for (uint32_t i = 0; i < site->sizes; i++) {
		if (!is_counted || kinds[i].free < kinds[i].count)
			voters += count_votes(inference, &kinds[i],
					      is_counted && kinds[i].free == 0, prefix, ballots);
	}
	for (int j = 0; j < BALLOTS; j++) {
		if (ballots[j].votes >= NAMING_VOTERS &&
		    ballots[j].votes * UINT64_C(1000) >= voters * (uint64_t)NAMING_PER_MILLE)
			return ballots[j].type;
	}
	return HEAP_NO_TYPE;
}

// The element type named by the code: the only one that fits in the innermost function that has any.
static heap_type_id find_meant_element(const struct inference *inference,
				       const struct site_summary *site,
				       const heap_object_id *samples, uint32_t count,
				       uint64_t *words)
{
	for (uint32_t depth = 0; depth < SITE_TYPE_DEPTHS; depth++) {
		heap_type_id found = HEAP_NO_TYPE;

		for (uint32_t i = 0; i < site->site_types->count; i++) {
			const struct site_type *site_type = &site->site_types->list[i];
			bool text = layouts_is_character(&inference->layouts, site_type->type);
			bool flexible = layouts_is_flexible(&inference->layouts, site_type->type);

			// Any function has pointers: for arrays only the one that gets the block
			// counts.
			if (site_type->depth != depth || site_type->type == found ||
			    !(site_type->is_result || text || flexible) ||
			    storage_headers_are_own(inference, samples[0], site_type->type) ||
			    !samples_agree(inference, samples, count, site_type->type,
					   !site_type->is_result, words))
				continue;
			if (site_type->is_result &&
			    are_headers(inference, samples, count, site_type->type, words))
				continue;
			if (site_type->is_result)
				return site_type->type;
			if (found != HEAP_NO_TYPE)
				return HEAP_NO_TYPE;
			found = site_type->type;
		}
		if (found != HEAP_NO_TYPE)
			return found;
	}
	return HEAP_NO_TYPE;
}

// The character type, if the code has no pointers to another type that fits the blocks. A variable may have the result
// of another call: unless it gets what a function returns that the block is passed to, blocks must read as text.
static heap_type_id find_meant_bytes(const struct inference *inference,
				     const struct site_summary *site, const heap_object_id *samples,
				     uint32_t count, uint64_t *words)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t i = 0; i < site->site_types->count; i++) {
		const struct site_type *site_type = &site->site_types->list[i];
		bool is_character = layouts_is_character(&inference->layouts, site_type->type);

		if (!samples_agree(inference, samples, count, site_type->type,
				   is_character && !site_type->is_passed, words))
			continue;
		if (!is_character)
			return HEAP_NO_TYPE;
		if (found == HEAP_NO_TYPE)
			found = site_type->type;
	}
	return found;
}

// The type that the code of a site gives its blocks.
struct site_claim {
	heap_type_id type;
	enum rank rank;
	bool is_character;
	uint32_t prefix; // of the blocks that are voted for
	struct voting_sites voters;
};

static void site_claim_deinit(struct site_claim *claim)
{
	voting_sites_deinit(&claim->voters);
}

// True if a block may have the type of its site's blocks. Its own site votes for it, or it is a text.
static bool may_have(const struct inference *inference, const struct site_claim *claim,
		     heap_object_id object, bool is_of_structs, uint64_t *words)
{
	bool is_voter = voting_sites_have(&claim->voters, inference, object);
	struct content content;

	if (inference->claims.rank[object] != RANK_NONE || !(is_voter || claim->is_character) ||
	    (claim->rank == RANK_VOTE && inference_prefix(inference, object) != claim->prefix))
		return false;
	content_read(inference, object, words, &content);
	return may_repeat(inference, &content, claim->type, is_of_structs) &&
	       (is_voter || is_plain_text(inference, &content));
}

HEAP_MUST_CHECK
static struct heap_error *claim_kind(struct inference *inference, const struct site_claim *claim,
				     const struct kind *kind, uint64_t *words, uint64_t *claimed)
{
	bool is_of_structs = claim->is_character && claim->rank == RANK_SITE &&
			     naming_is_of_structs(inference, kind);

	for (uint32_t i = kind->first; i < kind->first + kind->count && !progress_is_late(); i++) {
		heap_object_id object = inference->kinds.members[i];

		progress_step();
		if (!may_have(inference, claim, object, is_of_structs, words))
			continue;
		HEAP_TRY(naming_claim_member(
			inference, object,
			&(struct candidate){
				.type = claim->type,
				.elements = naming_elements(inference, object, claim->type) },
			claim->rank, claimed));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *claim_site(struct inference *inference, const struct site_summary *site,
				     heap_type_id type, enum rank rank, uint32_t prefix,
				     uint64_t *words, uint64_t *claimed)
{
	const struct kind *kinds = &inference->kinds.kinds[site->first];
	CLEANUP(site_claim_deinit)
	struct site_claim claim = {
		type, rank, layouts_is_character(&inference->layouts, type), prefix, { NULL }
	};

	if (rank == RANK_VOTE)
		HEAP_TRY(voting_sites_find(inference, site, kinds->first, site->objects, type,
					   &claim.voters));
	for (uint32_t i = 0; i < site->sizes; i++)
		HEAP_TRY(claim_kind(inference, &claim, &kinds[i], words, claimed));
	return NULL;
}

HEAP_MUST_CHECK
struct heap_error *name_site(struct inference *inference, const struct site_summary *site,
			     bool is_counted, uint64_t *words, uint64_t *claimed)
{
	heap_object_id samples[NAMING_SAMPLES];
	uint32_t count, prefix;
	heap_type_id type;

	sample_site(inference, site, is_counted, samples, &count);
	if (count == 0)
		return NULL;
	prefix = inference_prefix(inference, samples[0]);
	type = find_meant_element(inference, site, samples, count, words);
	if (type != HEAP_NO_TYPE)
		return claim_site(inference, site, type, RANK_SITE, prefix, words, claimed);
	type = elect_element(inference, site, is_counted, prefix);
	if (type != HEAP_NO_TYPE && samples_agree(inference, samples, count, type, false, words))
		return claim_site(inference, site, type, RANK_VOTE, prefix, words, claimed);
	type = find_meant_bytes(inference, site, samples, count, words);
	if (type != HEAP_NO_TYPE)
		return claim_site(inference, site, type, RANK_SITE, prefix, words, claimed);
	return name_callers(inference, site, words, claimed);
}
