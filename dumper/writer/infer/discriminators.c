// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Tags: the number in a base that tells what a block is.
 *
 * Which of a base's numbers that is, nobody says. But it shows: among the blocks whose types are
 * sure, hardly any value of it is found in two types. What is then known of some blocks with a
 * value holds for all of them, and a type whose blocks have another value is none that they
 * may be.
 *
 * A value's types are weighed by how much of a type has the value, not by how many blocks of
 * the type there are: else any number would do where nearly all sure blocks are of one type.
 */
#include "dumper/writer/infer/common_prefixes.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	TAG_BYTES = 4,   // of a tag, at most
	BASE_SHIFT = 56, // of kinds' tags, above the value
	VALUES = 128,    // of a number, if it is a tag
	MIN_SURE = 3,    // blocks of a type
	MIN_VOTES = 8,   // blocks of a type that are not sure, and for a value that no sure one has
	PER_MILLE = 950, // of a type's blocks, that must have values of its own
	FEW = 64,        // hints on less than one in so many objects are looked at one by one
	MOST = 800,      // per mille of the types, that must be told apart
};

static uint64_t tag_of_value(uint32_t base, uint64_t value)
{
	return (uint64_t)base << BASE_SHIFT | value;
}

static int compare_values(const void *left, const void *right)
{
	const struct tag_value *a = left, *b = right;

	return a->tag < b->tag ? -1 : a->tag > b->tag;
}

static struct tag_value *find_value(const struct tags *tags, uint64_t tag)
{
	const struct tag_value key = { .tag = tag };

	return tags->count == 0 ? NULL
				: bsearch(&key, tags->values, tags->count, sizeof(*tags->values),
					  compare_values);
}

// Adds a value at the end; sort_values() then makes it found.
HEAP_MUST_CHECK
static struct heap_error *add_value(struct tags *tags, const struct tag_value *value)
{
	if (tags->count == tags->capacity) {
		uint32_t capacity = tags->capacity ? tags->capacity * 2 : 64;
		void *more = realloc(tags->values, capacity * sizeof(*tags->values));

		if (!more)
			return heap_error_out_of_memory();
		tags->values = more;
		tags->capacity = capacity;
	}
	tags->values[tags->count++] = *value;
	return NULL;
}

static void sort_values(struct tags *tags)
{
	if (tags->count > 1)
		qsort(tags->values, tags->count, sizeof(*tags->values), compare_values);
}

// --- how well a number tells types apart -------------------------------------

// The blocks of one base that are worth most, by type.
struct known {
	const struct base_samples *types[BASE_TYPES];
	enum trust trust[BASE_TYPES];
	uint32_t counts[BASE_TYPES]; // of samples
	uint32_t count;
};

static void choose(const struct base_types *samples, struct known *known)
{
	known->count = 0;
	for (uint32_t i = 0; i < samples->count; i++) {
		const struct base_samples *type = samples->types[i];
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
	uint32_t counts[VALUES][BASE_TYPES]; // blocks with this value, by type
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

// The type to which a value belongs, or BASE_TYPES if it is found in several.
static uint32_t owner_of(const struct known *known, const struct tally *tally, uint32_t value)
{
	double sum = 0, most = 0;
	uint32_t owner = BASE_TYPES;

	for (uint32_t i = 0; i < known->count; i++) {
		double share = (double)tally->counts[value][i] / known->counts[i];

		sum += share;
		if (share > most) {
			most = share;
			owner = i;
		}
	}
	return most * 1000 >= sum * PER_MILLE ? owner : BASE_TYPES;
}

// How many types a number tells apart; 0 if it is no tag.
static uint32_t count_told(const struct known *known, const struct tally *tally)
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

static void drop_values(struct tags *tags, uint32_t base)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tags->count; i++) {
		if (tags->values[i].tag >> BASE_SHIFT != base)
			tags->values[kept++] = tags->values[i];
	}
	tags->count = kept;
}

static bool is_same_place(const struct header_member *one, const struct header_member *other)
{
	return one->offset == other->offset && one->size == other->size &&
	       one->shift == other->shift && one->bits == other->bits;
}

HEAP_MUST_CHECK
static struct heap_error *keep_tag(struct tags *tags, uint32_t base,
				   const struct header_member *member, const struct known *known,
				   const struct tally *tally)
{
	struct heap_error *error = NULL;

	drop_values(tags, base);
	tags->is_renewed[base - 1] |=
		!tags->has_member[base - 1] || !is_same_place(&tags->members[base - 1], member);
	tags->members[base - 1] = *member;
	tags->has_member[base - 1] = true;
	for (uint32_t i = 0; !error && i < tally->count; i++) {
		uint32_t owner = owner_of(known, tally, i);

		if (owner != BASE_TYPES && is_enough(known->trust[owner], tally->counts[i][owner]))
			error = add_value(tags,
					  &(struct tag_value){ tag_of_value(base, tally->values[i]),
							       known->types[owner]->type,
							       known->trust[owner] != TRUST_SURE });
	}
	sort_values(tags);
	return error;
}

// Finds the number that tells most types of a base apart.
HEAP_MUST_CHECK
static struct heap_error *learn_base(struct inference *inference, uint32_t base,
				     const struct base_types *samples, struct tally *tally)
{
	struct header_members members = { .count = 0 };
	struct known known;
	uint32_t best = 0;
	struct heap_error *error = NULL;

	choose(samples, &known);
	headers_gather(inference->layouts.types, inference->bases.types[base - 1], &members);
	for (uint32_t i = 0; !error && known.count >= 2 && i < members.count; i++) {
		const struct header_member *member = &members.list[i];
		uint32_t told;

		if (member->size > TAG_BYTES || !tally_values(&known, member, tally))
			continue;
		told = count_told(&known, tally);
		if (told <= best)
			continue;
		best = told;
		error = keep_tag(&inference->tags, base, member, &known, tally);
	}
	return error;
}

// --- second thoughts, and votes ----------------------------------------------

// What is found out of one tag.
struct ballot {
	uint64_t tag;
	heap_type_id type;
	uint64_t blocks, fitting;
	uint64_t voters, votes, lead;
};

// The only type that can have a majority (Boyer and Moore, MJRTY, 1981).
static void nominate(const struct inference *inference, const struct kind *kind,
		     struct ballot *ballot)
{
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = inference->kinds.members[i];

		if (!inference_is_named(inference, object))
			continue;
		if (ballot->lead == 0)
			ballot->type = inference->capture->type[object];
		if (ballot->type == inference->capture->type[object])
			ballot->lead++;
		else
			ballot->lead--;
	}
}

static void vote(const struct inference *inference, const struct kind *kind, struct ballot *ballot)
{
	if (layouts_fit(&inference->layouts, ballot->type, kind->size).fit != LAYOUT_NONE)
		ballot->fitting += kind->count;
	ballot->blocks += kind->count;
	progress_steps(kind->count);
	for (uint32_t i = kind->first; i < kind->first + kind->count; i++) {
		heap_object_id object = inference->kinds.members[i];

		if (!inference_is_named(inference, object))
			continue;
		ballot->voters++;
		ballot->votes += inference->capture->type[object] == ballot->type;
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
		if (kinds->kinds[i].tag != NO_TAG)
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
	return add_value(&inference->tags, &(struct tag_value){ ballot.tag, ballot.type, true });
}

static void drop_untyped(struct tags *tags)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < tags->count; i++) {
		if (tags->values[i].type != HEAP_NO_TYPE)
			tags->values[kept++] = tags->values[i];
	}
	tags->count = kept;
}

// Notes which types have a value.
HEAP_MUST_CHECK
static struct heap_error *note_told(struct inference *inference)
{
	struct tags *tags = &inference->tags;
	uint32_t types = inference->layouts.types->count;

	if (!tags->is_told)
		tags->is_told = malloc(types * sizeof(*tags->is_told));
	if (!tags->is_told)
		return heap_error_out_of_memory();
	memset(tags->is_told, 0, types * sizeof(*tags->is_told));
	for (uint32_t i = 0; i < tags->count; i++)
		tags->is_told[tags->values[i].type] = true;
	return NULL;
}

// What a value means must be possible for all blocks that have it. Where no block with a value
// has a name that is worth much, those that have any vote.
HEAP_MUST_CHECK
static struct heap_error *revise(struct inference *inference)
{
	struct tags *tags = &inference->tags;
	CLEANUP_FREE struct tagged *tagged = NULL;
	uint32_t count, known = tags->count, at = 0;
	struct heap_error *error = sort_tagged(&inference->kinds, &tagged, &count);

	// Both are sorted by tag; what is added comes behind what was known.
	for (uint32_t first = 0, end; !error && first < count; first = end) {
		for (end = first; end < count && tagged[end].tag == tagged[first].tag; end++)
			;
		while (at < known && tags->values[at].tag < tagged[first].tag)
			at++;
		error = revise_value(inference, tagged + first, end - first,
				     at < known && tags->values[at].tag == tagged[first].tag
					     ? &tags->values[at]
					     : NULL);
	}
	drop_untyped(tags);
	sort_values(tags);
	return error ? error : note_told(inference);
}

// --- what blocks are by their tags -------------------------------------------

uint32_t tags_base(const struct inference *inference, heap_object_id object)
{
	uint32_t base = bases_of(inference, object);

	return base && inference->tags.has_member[base - 1] ? base : 0;
}

uint64_t tags_read(const struct inference *inference, heap_object_id object, uint32_t base)
{
	struct header header;

	headers_read(inference, object, &header);
	return tag_of_value(base, headers_value(&inference->tags.members[base - 1], &header));
}

// Claims that an object that is not better known is what its tag says.
HEAP_MUST_CHECK
static struct heap_error *claim_tagged(struct inference *inference, heap_object_id object)
{
	uint32_t base = inference->rank[object] <= RANK_TAG ? 0 : tags_base(inference, object);
	const struct tag_value *value =
		base ? find_value(&inference->tags, tags_read(inference, object, base)) : NULL;
	struct layout_claim claim;

	if (!value)
		return NULL;
	claim = layouts_fit(&inference->layouts, value->type,
			    objects_size(&inference->capture->objects, object));
	if (claim.fit == LAYOUT_NONE || hints_ask(inference, object, value->type) == WORD_AGAINST)
		return NULL;
	return inference_claim(
		inference, value->is_elected ? RANK_TAG_LIKELY : RANK_TAG,
		&(struct claim){ object, claim.type, claim.elements,
				 value->is_elected ? HEAP_EVIDENCE_VOTE : HEAP_EVIDENCE_EMBEDDING,
				 !value->is_elected });
}

HEAP_MUST_CHECK
static struct heap_error *put_off(struct inference *inference, heap_object_id object)
{
	struct tags *tags = &inference->tags;

	if (inference->news[object] & NEWS_LATE)
		return NULL;
	if (tags->late_count == tags->late_capacity) {
		uint32_t capacity = tags->late_capacity ? tags->late_capacity * 2 : 64;
		void *larger = realloc(tags->late, capacity * sizeof(*tags->late));

		if (!larger)
			return heap_error_out_of_memory();
		tags->late = larger;
		tags->late_capacity = capacity;
	}
	tags->late[tags->late_count++] = object;
	inference->news[object] |= NEWS_LATE;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *hear_object(struct inference *inference, heap_object_id object)
{
	progress_step();
	return hints_are_many(inference, object) ? put_off(inference, object)
						 : claim_tagged(inference, object);
}

struct heap_error *tags_hear(struct inference *inference)
{
	uint32_t objects = inference->capture->objects.count;
	uint32_t first = inference->tags.hints_heard, end = inference->hint_count;
	struct heap_error *error = NULL;

	inference->tags.hints_heard = end;
	if ((end - first) * (uint64_t)FEW < objects) {
		for (uint32_t i = first; !error && i < end && !progress_is_late(); i++) {
			if (i != NO_HINT && layouts_is_start(inference->hints[i].interior))
				error = hear_object(inference, inference->hints[i].object);
		}
		return error;
	}
	// Many are visited by address: memory is read once, and in order.
	for (heap_object_id i = 0; !error && i < objects && !progress_is_late(); i++) {
		progress_step();
		if (inference->hint_head[i] != NO_HINT && inference->hint_head[i] >= first)
			error = hear_object(inference, i);
	}
	return error;
}

struct heap_error *tags_hear_late(struct inference *inference)
{
	struct tags *tags = &inference->tags;
	struct heap_error *error = NULL;

	for (uint32_t i = 0; i < tags->late_count; i++) {
		inference->news[tags->late[i]] &= (uint8_t)~NEWS_LATE;
		if (!error)
			error = claim_tagged(inference, tags->late[i]);
	}
	tags->late_count = 0;
	return error;
}

struct heap_error *tags_learn(struct inference *inference, const struct base_types *samples,
			      uint64_t *learned)
{
	CLEANUP_FREE struct tally *tally = malloc(sizeof(*tally));
	uint32_t known = inference->tags.count;
	struct heap_error *error = tally ? NULL : heap_error_out_of_memory();

	for (uint32_t i = 0; !error && i < inference->bases.count; i++)
		error = learn_base(inference, i + 1, &samples[i], tally);
	if (!error && inference->bases.count > 0)
		error = kinds_sort(inference);
	if (!error)
		error = revise(inference);
	if (error || inference->tags.count <= known)
		return error;
	*learned += inference->tags.count - known;
	inference->tags.hints_heard = 0; // what had no tag may have one
	return NULL;
}

bool tags_exclude(const struct inference *inference, const struct kind *kind, heap_type_id type)
{
	const struct tags *tags = &inference->tags;
	const struct tag_value *value;

	if (kind->tag == NO_TAG)
		return false;
	value = find_value(tags, kind->tag);
	return value ? value->type != type : tags->is_told && tags->is_told[type];
}

void tags_deinit(struct tags *tags)
{
	free(tags->values);
	free(tags->is_told);
	free(tags->late);
}
