// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Discriminators: the number in a common prefix that tells the type of a block.
 *
 * Nothing in the debug information says which number that is. But the blocks show it: among those
 * whose types are certain, hardly any value of the number occurs in two types. Then evidence for
 * some blocks with a value holds for all blocks with it, and blocks with that value cannot be of a
 * type whose own blocks have another.
 *
 * A value's types are weighed by the share of each type's blocks that have the value, not by the
 * number of those blocks. Otherwise any number would do where nearly all certain blocks are of one
 * type.
 */
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	TAG_BYTES =
		4, // of a tag, at most, unless it is an address: the isa of an object, with flags in it
	BASE_SHIFT = 56, // of kinds' discriminators, above the value
	VALUES = 128,    // of a number, if it is a tag
	MIN_SURE = 3,    // blocks of a type
	MIN_VOTES = 8,   // blocks of a type that are not sure, and for a value that no sure one has
	PER_MILLE = 950, // of a type's blocks, that must have values of its own
	FEW = 64,        // hints on less than one in so many objects are applied one by one
	MOST = 800,      // per mille of the types, that must be told apart
	MANY_VALUES = 3, // known of a type, which may have others, too
	FEW_VALUES = 2,  // of a type, which need not come again
	LARGE = 1 << 16, // values from which on a number may be a hash
	REPEATED = 8,    // times that large values of a type occur, on average, if they are many
};

static uint64_t tag_of_value(uint32_t base, uint64_t value)
{
	return (uint64_t)base << BASE_SHIFT | (value & ((UINT64_C(1) << BASE_SHIFT) - 1));
}

static int compare_values(const void *left, const void *right)
{
	const struct tag_value *a = left, *b = right;

	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static struct tag_value *find_value(const struct discriminators *discriminators, uint64_t tag)
{
	const struct tag_value key = { .tag = tag };

	return discriminators->count == 0
		       ? NULL
		       : bsearch(&key, discriminators->values, discriminators->count,
				 sizeof(*discriminators->values), compare_values);
}

// Adds a value at the end; sort_values() then makes it found.
HEAP_MUST_CHECK
static struct heap_error *add_value(struct discriminators *discriminators,
				    const struct tag_value *value)
{
	HEAP_TRY(heap_reserve(discriminators->values, discriminators->capacity,
			      (size_t)discriminators->count + 1));
	discriminators->values[discriminators->count++] = *value;
	return NULL;
}

static void sort_values(struct discriminators *discriminators)
{
	if (discriminators->count > 1)
		qsort(discriminators->values, discriminators->count,
		      sizeof(*discriminators->values), compare_values);
}

// --- how well a number tells types apart -------------------------------------

// The blocks of one base that are worth most, by type.
struct known {
	const struct prefix_samples *types[PREFIX_TYPES];
	enum trust trust[PREFIX_TYPES];
	uint32_t counts[PREFIX_TYPES]; // of samples
	uint32_t count;
};

static void choose(const struct prefix_types *samples, struct known *known)
{
	known->count = 0;
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct prefix_samples *type = samples->types[i];
		enum trust trust = TRUST_SURE;

		while (trust < TRUSTS &&
		       type->counts[trust] < (trust == TRUST_SURE ? MIN_SURE : MIN_VOTES))
			trust++;
		if (trust == TRUSTS)
			continue;
		known->types[known->count] = type;
		known->trust[known->count] = trust;
		known->counts[known->count++] = type->kept[trust];
	}
}

struct tally {
	uint64_t values[VALUES];
	uint32_t counts[VALUES][PREFIX_TYPES]; // blocks with this value, by type
	uint32_t count;
};

// @return false if there are too many values for a tag
static bool tally_value(struct tally *tally, uint64_t value, uint32_t type)
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

static bool tally_values(const struct known *known, const struct header_member *member,
			 struct tally *tally)
{
	tally->count = 0;
	for (uint32_t i = 0; i < known->count; i++) {
		const struct header *headers = known->types[i]->headers[known->trust[i]];

		for (uint32_t j = 0; j < known->counts[i]; j++) {
			if (!tally_value(tally, headers_value(member, &headers[j]), i))
				return false;
		}
	}
	return true;
}

// True if so many blocks of a type are enough to say what a value means. Where names are not sure,
// a few of them are wrong. A value that is rare is left to votes.
static bool is_enough(enum trust trust, uint32_t count)
{
	return count >= (trust == TRUST_SURE ? 1 : MIN_VOTES);
}

// The type to which a value belongs, or PREFIX_TYPES if it is found in several.
static uint32_t owner_of(const struct known *known, const struct tally *tally, uint32_t value)
{
	double sum = 0, most = 0;
	uint32_t owner = PREFIX_TYPES;

	for (uint32_t i = 0; i < known->count; i++) {
		double share = (double)tally->counts[value][i] / known->counts[i];

		sum += share;
		if (share > most) {
			most = share;
			owner = i;
		}
	}
	return most * 1000 >= sum * PER_MILLE ? owner : PREFIX_TYPES;
}

// How many types a number tells apart; 0 if it is no tag.
static uint32_t count_discriminated(const struct known *known, const struct tally *tally)
{
	uint32_t told = 0;

	for (uint32_t i = 0; i < known->count; i++) {
		uint32_t own = 0;

		for (uint32_t value = 0; value < tally->count; value++) {
			if (owner_of(known, tally, value) == i)
				own += tally->counts[value][i];
		}
		told += own * UINT64_C(1000) >= known->counts[i] * (uint64_t)PER_MILLE;
	}
	return told >= 2 && told * 1000 >= known->count * MOST ? told : 0;
}

// --- learning ----------------------------------------------------------------

static void drop_values(struct discriminators *discriminators, uint32_t base)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < discriminators->count; i++) {
		if (discriminators->values[i].tag >> BASE_SHIFT != base)
			discriminators->values[kept++] = discriminators->values[i];
	}
	discriminators->count = kept;
}

static bool is_same_place(const struct header_member *one, const struct header_member *other)
{
	return one->offset == other->offset && one->size == other->size &&
	       one->shift == other->shift && one->bits == other->bits;
}

HEAP_MUST_CHECK
static struct heap_error *keep_tag(struct discriminators *discriminators, uint32_t base,
				   const struct header_member *member, const struct known *known,
				   const struct tally *tally)
{
	drop_values(discriminators, base);
	discriminators->is_renewed[base - 1] |=
		!discriminators->has_member[base - 1] ||
		!is_same_place(&discriminators->members[base - 1], member);
	discriminators->members[base - 1] = *member;
	discriminators->has_member[base - 1] = true;
	for (uint32_t i = 0; i < tally->count; i++) {
		uint32_t owner = owner_of(known, tally, i);

		if (owner != PREFIX_TYPES && (member->size <= TAG_BYTES || tally->values[i] != 0) &&
		    is_enough(known->trust[owner], tally->counts[i][owner]))
			HEAP_TRY(add_value(
				discriminators,
				&(struct tag_value){ tag_of_value(base, tally->values[i]),
						     known->types[owner]->type,
						     known->trust[owner] != TRUST_SURE }));
	}
	sort_values(discriminators);
	return NULL;
}

// True if all values are addresses, maybe with flags in their low bits, or 0.
static bool are_addresses(const struct inference *inference, const struct tally *tally)
{
	for (uint32_t i = 0; i < tally->count; i++) {
		progress_step();
		if (tally->values[i] != 0 &&
		    !image_find(&inference->capture->image, tally->values[i]))
			return false;
	}
	return true;
}

// True if a type's values hardly ever come again, as those of a length or a hash do. Many large ones have to come again more
// often: few may be what a type is marked by, or flags.
static bool is_varied(const struct known *known, const struct tally *tally, uint32_t type)
{
	uint32_t values = 0, large = 0, of_large = 0;

	for (uint32_t i = 0; i < tally->count; i++) {
		uint32_t count = tally->counts[i][type];

		values += count > 0;
		if (tally->values[i] >= LARGE) {
			large += count > 0;
			of_large += count;
		}
	}
	return (values > FEW_VALUES && values * 2 > known->counts[type]) ||
	       (large > MANY_VALUES && large * REPEATED > of_large);
}

// True if a number is no tag, by its values.
static bool is_else(const struct inference *inference, const struct known *known,
		    const struct header_member *member, const struct tally *tally)
{
	if (member->size > TAG_BYTES)
		return !are_addresses(inference, tally);
	for (uint32_t i = 0; i < known->count; i++) {
		if (is_varied(known, tally, i))
			return true;
	}
	return false;
}

// Finds the number that tells most types of a base apart.
HEAP_MUST_CHECK
static struct heap_error *learn_prefix(struct inference *inference, uint32_t base,
				       const struct prefix_types *samples, struct tally *tally)
{
	struct header_members members = { .count = 0 };
	struct known known;
	uint32_t best = 0;

	choose(samples, &known);
	headers_gather(inference->layouts.types, inference->common_prefixes.types[base - 1],
		       &members);
	for (uint32_t i = 0; known.count >= 2 && i < members.count; i++) {
		const struct header_member *member = &members.list[i];
		uint32_t told;

		if (!tally_values(&known, member, tally) ||
		    is_else(inference, &known, member, tally))
			continue;
		told = count_discriminated(&known, tally);
		if (told <= best)
			continue;
		best = told;
		HEAP_TRY(keep_tag(&inference->discriminators, base, member, &known, tally));
	}
	return NULL;
}

// --- second thoughts, and votes ----------------------------------------------

// The votes on one tag.
struct ballot {
	uint64_t tag;
	struct majority majority;
	heap_type_id type;
	uint64_t blocks, fitting;
	uint64_t voters, votes;
};

// The only type that can have a majority.
static void nominate(const struct inference *inference, const struct kind *kind,
		     struct ballot *ballot)
{
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = inference->kinds.members[i];

		if (claims_are_good(&inference->claims, object))
			majority_add(&ballot->majority, inference_type(inference, object));
	}
	ballot->type = (heap_type_id)ballot->majority.value;
}

static void vote(const struct inference *inference, const struct kind *kind, struct ballot *ballot)
{
	if (layouts_fit(&inference->layouts, ballot->type, kind->size, kinds_slack(inference, kind))
		    .fit != LAYOUT_NONE)
		ballot->fitting += kind->count;
	ballot->blocks += kind->count;
	progress_steps(kind->count);
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = inference->kinds.members[i];

		if (!claims_are_good(&inference->claims, object))
			continue;
		ballot->voters++;
		ballot->votes += inference_type(inference, object) == ballot->type;
	}
}

// The kinds that have a tag, by tag.
struct tagged {
	uint64_t tag;
	uint32_t kind;
};

static int compare_tagged(const void *left, const void *right)
{
	const struct tagged *a = left, *b = right;

	if (a->tag != b->tag)
		return a->tag < b->tag ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

HEAP_MUST_CHECK
static struct heap_error *sort_tagged(const struct kinds *kinds, struct tagged **result,
				      uint32_t *count)
{
	struct tagged *list = malloc(((size_t)kinds->count + 1) * sizeof(*list));

	*count = 0;
	*result = list;
	if (!list)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < kinds->count; i++) {
		if (kinds->kinds[i].tag != NO_TAG && !pointer_tags_made(kinds->kinds[i].tag))
			list[(*count)++] = (struct tagged){ kinds->kinds[i].tag, i };
	}
	progress_steps(kinds->count);
	qsort(list, *count, sizeof(*list), compare_tagged);
	return NULL;
}

// The types of the blocks of one tag. @param value  its known meaning; NULL: none
static struct ballot hold_election(const struct inference *inference, const struct tagged *tagged,
				   uint32_t count, const struct tag_value *value)
{
	const struct kind *kinds = inference->kinds.kinds;
	struct ballot ballot = { .tag = tagged->tag };

	if (value)
		ballot.type = value->type;
	for (uint32_t i = 0; !value && i < count; i++)
		nominate(inference, &kinds[tagged[i].kind], &ballot);
	for (uint32_t i = 0; i < count; i++)
		vote(inference, &kinds[tagged[i].kind], &ballot);
	return ballot;
}

// Drops a value that most blocks with its tag cannot mean, or adds one that they elect.
HEAP_MUST_CHECK
static struct heap_error *revise_value(struct inference *inference, const struct tagged *tagged,
				       uint32_t count, struct tag_value *value)
{
	struct ballot ballot = hold_election(inference, tagged, count, value);
	bool fits = ballot.fitting * 1000 >= ballot.blocks * PER_MILLE;

	if (value && !fits)
		value->type = HEAP_NO_TYPE;
	if (value || !fits || ballot.votes < MIN_VOTES ||
	    ballot.votes * 1000 < ballot.voters * PER_MILLE)
		return NULL;
	return add_value(&inference->discriminators,
			 &(struct tag_value){ ballot.tag, ballot.type, true });
}

static void drop_untyped(struct discriminators *discriminators)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < discriminators->count; i++) {
		if (discriminators->values[i].type != HEAP_NO_TYPE)
			discriminators->values[kept++] = discriminators->values[i];
	}
	discriminators->count = kept;
}

// Notes which types have a value.
HEAP_MUST_CHECK
static struct heap_error *count_values(struct inference *inference)
{
	struct discriminators *discriminators = &inference->discriminators;
	uint32_t types = inference->layouts.types->count;

	if (!discriminators->values_of)
		discriminators->values_of = malloc(types * sizeof(*discriminators->values_of));
	if (!discriminators->values_of)
		return heap_error_out_of_memory();
	memset(discriminators->values_of, 0, types * sizeof(*discriminators->values_of));
	for (uint32_t i = 0; i < discriminators->count; i++) {
		uint8_t *known = &discriminators->values_of[discriminators->values[i].type];

		*known += *known < MANY_VALUES;
	}
	return NULL;
}

// The type of a value must be possible for all blocks that have the value. Where no block with a
// value has a reliable name, those with any name vote.
HEAP_MUST_CHECK
static struct heap_error *revise(struct inference *inference)
{
	struct discriminators *discriminators = &inference->discriminators;
	CLEANUP_FREE struct tagged *tagged = NULL;
	uint32_t count, known = discriminators->count, at = 0;

	HEAP_TRY(sort_tagged(&inference->kinds, &tagged, &count));
	// Both are sorted by tag; new values come behind the known ones.
	for (uint32_t first = 0, end; first < count; first = end) {
		for (end = first; end < count && tagged[end].tag == tagged[first].tag; end++)
			;
		while (at < known && discriminators->values[at].tag < tagged[first].tag)
			at++;
		HEAP_TRY(revise_value(inference, tagged + first, end - first,
				      at < known && discriminators->values[at].tag ==
							      tagged[first].tag
					      ? &discriminators->values[at]
					      : NULL));
	}
	drop_untyped(discriminators);
	sort_values(discriminators);
	return count_values(inference);
}

// --- what blocks are by their tags -------------------------------------------

uint32_t discriminators_prefix(const struct inference *inference, heap_object_id object)
{
	uint32_t base = common_prefixes_of(inference, object);

	return base && inference->discriminators.has_member[base - 1] ? base : 0;
}

uint64_t discriminators_read(const struct inference *inference, heap_object_id object,
			     uint32_t base)
{
	struct header header;

	inference_read_header(inference, object, &header);
	return tag_of_value(base,
			    headers_value(&inference->discriminators.members[base - 1], &header));
}

// True if most of an object's contents speak against a type. Pointers of a union may lead to what has no such tag.
static bool is_refuted(const struct inference *inference, heap_object_id object,
		       const struct layout_claim *claim)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	content_read(inference, object, words, &content);
	return content_score(inference, &content, claim->type, claim->elements) < 0;
}

// Claims that an object that is not better known is what its tag says.
HEAP_MUST_CHECK
static struct heap_error *claim_tagged(struct inference *inference, heap_object_id object)
{
	uint32_t base = inference->claims.rank[object] <= RANK_DISCRIMINATOR
				? 0
				: discriminators_prefix(inference, object);
	const struct tag_value *value =
		base ? find_value(&inference->discriminators,
				  discriminators_read(inference, object, base))
		     : NULL;
	struct layout_claim claim;

	if (!value)
		return NULL;
	claim = inference_fit_with_rest(inference, value->type, object);
	if (claim.fit == LAYOUT_NONE ||
	    hints_ask(inference, object, value->type) == VERDICT_AGAINST ||
	    (value->is_elected && is_refuted(inference, object, &claim)))
		return NULL;
	return claims_add(
		&inference->claims,
		value->is_elected ? RANK_DISCRIMINATOR_LIKELY : RANK_DISCRIMINATOR,
		&(struct claim){ object, claim.type, claim.elements,
				 value->is_elected ? HEAP_EVIDENCE_VOTE : HEAP_EVIDENCE_EMBEDDING,
				 !value->is_elected });
}

HEAP_MUST_CHECK
static struct heap_error *put_off(struct inference *inference, heap_object_id object)
{
	struct discriminators *discriminators = &inference->discriminators;

	if (inference->news[object] & NEWS_LATE)
		return NULL;
	HEAP_TRY(heap_reserve(discriminators->late, discriminators->late_capacity,
			      (size_t)discriminators->late_count + 1));
	discriminators->late[discriminators->late_count++] = object;
	inference->news[object] |= NEWS_LATE;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *apply_object(struct inference *inference, heap_object_id object)
{
	progress_step();
	return hints_are_many(inference, object) ? put_off(inference, object)
						 : claim_tagged(inference, object);
}

bool discriminators_wait(const struct inference *inference)
{
	const struct discriminators *discriminators = &inference->discriminators;

	return discriminators->count > 0 && discriminators->hints_applied < inference->hints.count;
}

struct heap_error *discriminators_apply(struct inference *inference)
{
	uint32_t objects = inference->capture->objects.count;
	uint32_t first = inference->discriminators.hints_applied, end = inference->hints.count;

	inference->discriminators.hints_applied = end;
	if ((end - first) * (uint64_t)FEW < objects) {
		for (uint32_t i = first; i < end && !progress_is_late(); i++) {
			if (i != NO_HINT && layouts_is_start(inference->hints.list[i].interior))
				HEAP_TRY(apply_object(inference, inference->hints.list[i].object));
		}
		return NULL;
	}
	// Many are visited by address: memory is read once, and in order.
	for (heap_object_id i = 0; i < objects && !progress_is_late(); i++) {
		progress_step();
		if (hints_have(&inference->hints, i) && hints_first(&inference->hints, i) >= first)
			HEAP_TRY(apply_object(inference, i));
	}
	return NULL;
}

struct heap_error *discriminators_apply_late(struct inference *inference)
{
	struct discriminators *discriminators = &inference->discriminators;

	for (uint32_t i = 0; i < discriminators->late_count; i++) {
		inference->news[discriminators->late[i]] &= (uint8_t)~NEWS_LATE;
		HEAP_TRY(claim_tagged(inference, discriminators->late[i]));
	}
	discriminators->late_count = 0;
	return NULL;
}

struct heap_error *discriminators_learn(struct inference *inference,
					const struct prefix_types *samples, uint64_t *learned)
{
	CLEANUP_FREE struct tally *tally = malloc(sizeof(*tally));
	uint32_t known = inference->discriminators.count;

	if (!tally)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < inference->common_prefixes.count; i++)
		HEAP_TRY(learn_prefix(inference, i + 1, &samples[i], tally));
	if (inference->common_prefixes.count > 0)
		HEAP_TRY(kinds_sort(inference));
	HEAP_TRY(revise(inference));
	if (inference->discriminators.count <= known)
		return NULL;
	*learned += inference->discriminators.count - known;
	inference->discriminators.hints_applied = 0; // blocks that had no tag may have one
	return NULL;
}

bool discriminators_exclude(const struct inference *inference, const struct kind *kind,
			    heap_type_id type)
{
	const struct discriminators *discriminators = &inference->discriminators;
	const struct tag_value *value;

	if (kind->tag == NO_TAG)
		return false;
	if (pointer_tags_made(kind->tag))
		return pointer_tags_exclude(inference, kind, type);
	value = find_value(discriminators, kind->tag);
	if (value)
		return value->type != type;
	// A value that is not known yet may be another one of a type that has several.
	return discriminators->values_of && discriminators->values_of[type] > 0 &&
	       discriminators->values_of[type] < MANY_VALUES;
}

void discriminators_deinit(struct discriminators *discriminators)
{
	free(discriminators->values);
	free(discriminators->values_of);
	free(discriminators->late);
}
