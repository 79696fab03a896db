// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tags: the number in a common header that tells what a block is.
 *
 * Interpreters, compilers and servers make objects of many types by one function, begin all of
 * them with the same members, and write into one of these which type it is. Which member that
 * is, nobody says. But it shows: among the site's blocks whose types are sure, hardly any value
 * of it is found in two types. What is then known of some blocks with a value holds for all of
 * them, and a type whose blocks have another value is none that they may be.
 *
 * A value's types are weighed by how much of a type has the value, not by how many blocks of
 * the type there are: else any member would do where nearly all sure blocks are of one type.
 */
#include "dumper/writer/headers.h"

#include "lib/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	TYPES = 32,      // of a site, that are told apart by one
	VALUES = 128,    // of a member, if it is a tag
	MIN_OBJECTS = 3, // of a type
	MIN_VOTES = 8,   // for what a value means, where no type is sure
	SAMPLES = 256,   // of a type
	PER_MILLE = 950, // of a type's blocks, that must have values of its own
	MOST = 800,      // per mille of the types, that must be told apart
};

// --- the sure blocks of a site -----------------------------------------------

// How much the name of a block is worth to learn from.
enum trust {
	TRUST_SURE,
	TRUST_POINTER, // a slot points to it, of a holder that is not sure
	TRUST_NAMED,
	TRUSTS,
};

static enum trust trust_in(const struct inference *inference, heap_object_id object)
{
	if (inference->is_sure[object])
		return TRUST_SURE;
	return inference->rank[object] <= RANK_PASSED_FLEXIBLE ? TRUST_POINTER : TRUST_NAMED;
}

// Some of a site's blocks whose types are sure, by type.
struct sure {
	heap_type_id types[TYPES];
	enum trust trust[TYPES];
	uint32_t counts[TYPES];
	struct header headers[TYPES][SAMPLES];
	uint32_t count;
};

// @param known  so many types are known by better blocks
static void add_sure(const struct inference *inference, heap_object_id object, uint32_t known,
		     enum trust trust, struct sure *sure)
{
	heap_type_id type = inference->capture->type[object];
	uint32_t at = 0;

	while (at < sure->count && sure->types[at] != type)
		at++;
	if (at == TYPES || at < known || !layouts_is_compound(&inference->layouts, type))
		return;
	if (at == sure->count) {
		sure->types[sure->count++] = type;
		sure->trust[at] = trust;
		sure->counts[at] = 0;
	}
	if (sure->counts[at] < SAMPLES)
		headers_read(inference, object, &sure->headers[at][sure->counts[at]++]);
}

// Drops the types of which there are too few.
static void drop_rare(struct sure *sure, uint32_t first, uint32_t least)
{
	uint32_t kept = first;

	for (uint32_t i = first; i < sure->count; i++) {
		if (sure->counts[i] < least)
			continue;
		sure->types[kept] = sure->types[i];
		sure->counts[kept] = sure->counts[i];
		sure->trust[kept] = sure->trust[i];
		if (kept != i)
			memcpy(sure->headers[kept], sure->headers[i], sizeof(sure->headers[i]));
		kept++;
	}
	sure->count = kept;
}

// Each type by the blocks whose names are worth most.
static void gather_sure(const struct inference *inference, const heap_object_id *blocks,
			uint32_t count, struct sure *sure)
{
	sure->count = 0;
	for (enum trust trust = TRUST_SURE; trust < TRUSTS; trust++) {
		uint32_t known = sure->count;

		for (uint32_t i = 0; i < count; i++) {
			if (inference_is_named(inference, blocks[i]) &&
			    trust_in(inference, blocks[i]) == trust)
				add_sure(inference, blocks[i], known, trust, sure);
		}
		drop_rare(sure, known, trust == TRUST_SURE ? MIN_OBJECTS : MIN_VOTES);
	}
}

// --- how well a member tells types apart -------------------------------------

struct tally {
	uint64_t values[VALUES];
	uint32_t counts[VALUES][TYPES]; // blocks with this value, by type
	uint32_t count;
	uint32_t types; // that have the member
};

// @return false if there are too many values for a tag
static bool add_value(struct tally *tally, uint64_t value, uint32_t type)
{
	uint32_t at = 0;

	while (at < tally->count && tally->values[at] != value)
		at++;
	if (at == VALUES)
		return false;
	if (at == tally->count) {
		tally->values[tally->count++] = value;
		memset(tally->counts[at], 0, sizeof(tally->counts[at]));
	}
	tally->counts[at][type]++;
	return true;
}

static bool count_values(const struct inference *inference, const struct sure *sure,
			 const struct header_member *member, struct tally *tally)
{
	tally->count = tally->types = 0;
	for (uint32_t i = 0; i < sure->count; i++) {
		if (!headers_type_has(inference->layouts.types, sure->types[i], member))
			continue;
		tally->types++;
		for (uint32_t j = 0; j < sure->counts[i]; j++) {
			if (!add_value(tally, headers_value(member, &sure->headers[i][j]), i))
				return false;
		}
	}
	return true;
}

// The type to which a value belongs, or TYPES if it is found in several.
static uint32_t owner_of(const struct sure *sure, const struct tally *tally, uint32_t value)
{
	double sum = 0, most = 0;
	uint32_t owner = TYPES;

	for (uint32_t i = 0; i < sure->count; i++) {
		double share = (double)tally->counts[value][i] / sure->counts[i];

		sum += share;
		if (share > most) {
			most = share;
			owner = i;
		}
	}
	return most * 1000 >= sum * PER_MILLE ? owner : TYPES;
}

// How many types a member tells apart; 0 if it is no tag.
static uint32_t count_told(const struct sure *sure, const struct tally *tally)
{
	uint32_t told = 0;

	for (uint32_t i = 0; i < sure->count; i++) {
		uint32_t own = 0, all = 0;

		for (uint32_t value = 0; value < tally->count; value++) {
			all += tally->counts[value][i];
			if (owner_of(sure, tally, value) == i)
				own += tally->counts[value][i];
		}
		told += all > 0 && own * UINT64_C(1000) >= all * (uint64_t)PER_MILLE;
	}
	return told >= 2 && told * 1000 >= tally->types * MOST ? told : 0;
}

// --- tags --------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *keep_tag(const struct inference *inference,
				   const struct header_member *member, const struct sure *sure,
				   const struct tally *tally, struct tag *tag)
{
	uint32_t types = inference->layouts.types->count;
	struct tag kept = { .member = *member,
			    .values = calloc(tally->count + 1, sizeof(*kept.values)),
			    .has_member = calloc((size_t)types + 1, sizeof(*kept.has_member)) };

	if (!kept.values || !kept.has_member) {
		free(kept.values);
		free(kept.has_member);
		return heap_error_out_of_memory();
	}
	for (uint32_t i = 0; i < tally->count; i++) {
		uint32_t owner = owner_of(sure, tally, i);

		if (owner != TYPES)
			kept.values[kept.count++] =
				(struct tag_value){ tally->values[i], sure->types[owner],
						    sure->trust[owner] != TRUST_SURE };
	}
	for (heap_type_id i = 0; i < types; i++)
		kept.has_member[i] = headers_type_has(inference->layouts.types, i, member);
	free(tag->values);
	free(tag->has_member);
	*tag = kept;
	return NULL;
}

// Finds the member that tells most types of a site apart.
HEAP_MUST_CHECK
static struct heap_error *learn(struct inference *inference, const struct sure *sure,
				struct tally *tally, struct tag *tag)
{
	struct header_members members = { .count = 0 };
	uint32_t best = 0;
	struct heap_error *error = NULL;

	for (uint32_t i = 0; i < sure->count; i++)
		headers_gather(inference->layouts.types, sure->types[i], &members);
	for (uint32_t i = 0; !error && i < members.count; i++) {
		uint32_t told;

		if (!count_values(inference, sure, &members.list[i], tally))
			continue;
		told = count_told(sure, tally);
		if (told <= best)
			continue;
		best = told;
		error = keep_tag(inference, &members.list[i], sure, tally, tag);
	}
	return error;
}

// The kinds of one site that have one tag: [first, first + count).
struct tagged {
	const struct kind *kinds;
	uint32_t count;
	const heap_object_id *members; // [blocks]
	uint64_t blocks;
};

static struct tagged next_tagged(const struct inference *inference, uint32_t first, uint32_t end)
{
	const struct kind *kinds = inference->kinds.kinds;
	struct tagged tagged = {
		.kinds = &kinds[first],
		.members = inference->kinds.members + kinds[first].first,
	};

	while (first + tagged.count < end && kinds[first + tagged.count].tag == kinds[first].tag)
		tagged.blocks += tagged.kinds[tagged.count++].count;
	return tagged;
}

// Whether nearly all blocks with one tag are of sizes that a type may have.
static bool fits_all(const struct inference *inference, const struct tagged *tagged,
		     heap_type_id type)
{
	uint64_t fitting = 0;

	for (uint32_t i = 0; i < tagged->count; i++) {
		if (layouts_fit(&inference->layouts, type, tagged->kinds[i].size).fit !=
		    LAYOUT_NONE)
			fitting += tagged->kinds[i].count;
	}
	return fitting * 1000 >= tagged->blocks * PER_MILLE;
}

// The type that nearly all blocks with one tag have, of those that have a name: sure or not.
static heap_type_id elect(const struct inference *inference, const struct tagged *tagged)
{
	const heap_object_id *members = tagged->members;
	const heap_type_id *types = inference->capture->type;
	heap_type_id elected = HEAP_NO_TYPE;
	uint64_t voters = 0, votes = 0, lead = 0;

	// The only one that can have a majority (Boyer and Moore, MJRTY, 1981).
	for (uint64_t i = 0; i < tagged->blocks; i++) {
		if (!inference_is_named(inference, members[i]))
			continue;
		if (lead == 0)
			elected = types[members[i]];
		lead = types[members[i]] == elected ? lead + 1 : lead - 1;
	}
	for (uint64_t i = 0; i < tagged->blocks; i++) {
		bool named = inference_is_named(inference, members[i]);

		voters += named;
		votes += named && types[members[i]] == elected;
	}
	return votes >= MIN_VOTES && votes * 1000 >= voters * PER_MILLE ? elected : HEAP_NO_TYPE;
}

static struct tag_value *find_value(const struct tag *tag, uint64_t value)
{
	for (uint32_t i = 0; i < tag->count; i++) {
		if (tag->values[i].value == value)
			return &tag->values[i];
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_value_of(struct tag *tag, uint64_t value, heap_type_id type)
{
	void *more = realloc(tag->values, (tag->count + 1) * sizeof(*tag->values));

	if (!more)
		return heap_error_out_of_memory();
	tag->values = more;
	tag->values[tag->count++] = (struct tag_value){ value, type, true };
	return NULL;
}

// What a value means must be possible for all blocks that have it. Where no block with a value
// has a name that is worth much, those that have any vote.
HEAP_MUST_CHECK
static struct heap_error *revise(const struct inference *inference, struct tag *tag,
				 const struct tagged *tagged)
{
	struct tag_value *value = find_value(tag, tagged->kinds->tag);
	heap_type_id type;

	if (value && !fits_all(inference, tagged, value->type)) {
		*value = tag->values[--tag->count];
		value = NULL;
	}
	type = value ? HEAP_NO_TYPE : elect(inference, tagged);
	if (type == HEAP_NO_TYPE || !fits_all(inference, tagged, type))
		return NULL;
	return add_value_of(tag, tagged->kinds->tag, type);
}

// Whether a block begins with the member that is its site's tag, as far as is known.
static bool is_tagged(const struct inference *inference, const struct tag *tag,
		      heap_object_id object)
{
	if (inference_is_named(inference, object))
		return tag->has_member[inference->capture->type[object]];
	for (uint32_t at = inference->hint_head[object]; at != NO_HINT;
	     at = inference->hints[at].next) {
		if (layouts_is_start(inference->hints[at].interior) &&
		    tag->has_member[inference->hints[at].type])
			return true;
	}
	return false;
}

uint64_t tags_of(const struct inference *inference, heap_object_id object)
{
	const struct tags *tags = &inference->tags;
	const struct tag *tag;
	struct header header;

	if (!tags->tags)
		return NO_TAG;
	tag = &tags->tags[inference->capture->sites.maker[object]];
	if (!tag->has_member || !is_tagged(inference, tag, object))
		return NO_TAG;
	headers_read(inference, object, &header);
	return headers_value(&tag->member, &header);
}

struct heap_error *tags_claim(struct inference *inference, heap_object_id object)
{
	const struct capture *capture = inference->capture;
	uint64_t own = inference->rank[object] <= RANK_TAG ? NO_TAG : tags_of(inference, object);
	const struct tag_value *value;
	struct layout_claim claim;

	if (own == NO_TAG)
		return NULL;
	value = find_value(&inference->tags.tags[capture->sites.maker[object]], own);
	if (!value)
		return NULL;
	claim = layouts_fit(&inference->layouts, value->type, capture->objects.size[object]);
	if (claim.fit == LAYOUT_NONE || hints_ask(inference, object, value->type) == WORD_AGAINST)
		return NULL;
	return inference_claim(
		inference, value->is_elected ? RANK_TAG_LIKELY : RANK_TAG,
		&(struct claim){ object, claim.type, claim.elements,
				 value->is_elected ? HEAP_EVIDENCE_VOTE : HEAP_EVIDENCE_EMBEDDING,
				 !value->is_elected });
}

// The blocks that tags name which have just been learned. Later ones are heard of by hints.
HEAP_MUST_CHECK
static struct heap_error *claim_all(struct inference *inference)
{
	struct heap_error *error = NULL;

	for (heap_object_id i = 0; !error && i < inference->capture->objects.count; i++) {
		if (inference->hint_head[i] != NO_HINT)
			error = tags_claim(inference, i);
	}
	return error;
}

static uint32_t end_of_site(const struct kinds *kinds, uint32_t first)
{
	uint32_t end = first;

	while (end < kinds->count && kinds->kinds[end].site == kinds->kinds[first].site)
		end++;
	return end;
}

// Finds the tag of one site, whose kinds are [first, end).
HEAP_MUST_CHECK
static struct heap_error *learn_site(struct inference *inference, uint32_t first, uint32_t end,
				     struct sure *sure, struct tally *tally)
{
	const struct kind *kinds = inference->kinds.kinds;
	uint32_t objects = 0;

	for (uint32_t i = first; i < end; i++)
		objects += kinds[i].count;
	gather_sure(inference, &inference->kinds.members[kinds[first].first], objects, sure);
	return sure->count < 2
		       ? NULL
		       : learn(inference, sure, tally, &inference->tags.tags[kinds[first].site]);
}

HEAP_MUST_CHECK
static struct heap_error *learn_all(struct inference *inference)
{
	CLEANUP_FREE struct sure *sure = malloc(sizeof(*sure));
	CLEANUP_FREE struct tally *tally = malloc(sizeof(*tally));
	struct heap_error *error = sure && tally ? NULL : heap_error_out_of_memory();

	for (uint32_t first = 0, end; !error && first < inference->kinds.count; first = end) {
		end = end_of_site(&inference->kinds, first);
		error = learn_site(inference, first, end, sure, tally);
	}
	return error;
}

// The kinds must be sorted by tag.
HEAP_MUST_CHECK
static struct heap_error *revise_all(struct inference *inference)
{
	const struct kinds *kinds = &inference->kinds;
	struct heap_error *error = NULL;

	for (uint32_t first = 0; !error && first < kinds->count;) {
		struct tagged tagged = next_tagged(inference, first, end_of_site(kinds, first));

		if (tagged.kinds->tag != NO_TAG)
			error = revise(inference, &inference->tags.tags[tagged.kinds->site],
				       &tagged);
		first += tagged.count;
	}
	return error;
}

static uint64_t count_all(const struct tags *tags)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < tags->sites; i++)
		count += tags->tags[i].count;
	return count;
}

struct heap_error *tags_learn(struct inference *inference, uint64_t *learned)
{
	struct tags *tags = &inference->tags;
	uint64_t known;
	struct heap_error *error;

	if (!tags->tags) {
		tags->tags = calloc((size_t)inference->kinds.sites + 1, sizeof(*tags->tags));
		tags->sites = inference->kinds.sites;
	}
	if (!tags->tags)
		return heap_error_out_of_memory();
	known = count_all(tags);
	error = learn_all(inference);
	if (!error)
		error = kinds_sort(inference);
	if (!error)
		error = revise_all(inference);
	if (error || count_all(tags) <= known)
		return error;
	*learned += count_all(tags) - known;
	return claim_all(inference);
}

bool tags_exclude(const struct inference *inference, const struct kind *kind, heap_type_id type)
{
	const struct tag *tag;
	bool is_told = false;

	if (kind->tag == NO_TAG)
		return false;
	tag = &inference->tags.tags[kind->site];
	for (uint32_t i = 0; i < tag->count; i++) {
		if (tag->values[i].value == kind->tag)
			return tag->values[i].type != type;
		is_told |= tag->values[i].type == type;
	}
	return is_told;
}

void tags_deinit(struct tags *tags)
{
	for (uint32_t i = 0; tags->tags && i < tags->sites; i++) {
		free(tags->tags[i].values);
		free(tags->tags[i].has_member);
	}
	free(tags->tags);
}
