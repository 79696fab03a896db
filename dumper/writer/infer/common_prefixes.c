// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/common_prefixes.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MIN_POINTED = 8, // blocks to which pointers to a base lead
};

// --- which structs are bases -------------------------------------------------

// A type's first number, by which types that cannot begin alike are told apart quickly.
static uint64_t key_of(const struct header_members *members)
{
	if (members->count == 0)
		return 0;
	return (uint64_t)members->list[0].offset << 16 | (uint64_t)members->list[0].size << 8 |
	       members->list[0].bits;
}

// A number in a type's header: what has the same name, place and size has the same hash.
struct base_member {
	uint64_t hash;
	heap_type_id type;
};

static uint64_t hash_of(const struct header_member *member)
{
	uint64_t hash = (uint64_t)member->offset << 24 | (uint64_t)member->size << 16 |
			(uint64_t)member->shift << 8 | member->bits;

	for (const char *at = member->name; *at; at++)
		hash = (hash ^ (uint8_t)*at) * UINT64_C(0x100000001b3);
	return hash;
}

static int compare_members(const void *left, const void *right)
{
	const struct base_member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

HEAP_MUST_CHECK
static struct heap_error *note_members(struct bases *bases, heap_type_id type,
				       const struct header_members *members)
{
	if (bases->member_capacity - bases->member_count < members->count) {
		size_t capacity = bases->member_capacity * 2 + HEADER_MEMBERS;
		void *larger = realloc(bases->members, capacity * sizeof(*bases->members));

		if (!larger)
			return heap_error_out_of_memory();
		bases->members = larger;
		bases->member_capacity = capacity;
	}
	for (uint32_t i = 0; i < members->count; i++)
		bases->members[bases->member_count++] =
			(struct base_member){ hash_of(&members->list[i]), type };
	return NULL;
}

// The first of the noted members that does not come before a key.
static size_t find_member(const struct bases *bases, const struct base_member *key)
{
	size_t low = 0, high = bases->member_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_members(&bases->members[middle], key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

// The types that have the rarest of some members: all others lack it.
static size_t find_rarest(const struct bases *bases, const struct header_members *members,
			  size_t *count)
{
	size_t best = 0;

	*count = SIZE_MAX;
	for (uint32_t i = 0; i < members->count; i++) {
		uint64_t hash = hash_of(&members->list[i]);
		size_t first = find_member(bases, &(struct base_member){ hash, 0 });
		size_t end = find_member(bases, &(struct base_member){ hash, UINT32_MAX });

		if (end - first < *count) {
			*count = end - first;
			best = first;
		}
	}
	return best;
}

// Takes a struct for a base if others begin with it.
static void consider(struct inference *inference, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	struct bases *bases = &inference->bases;
	struct header_members members = { .count = 0 };
	uint8_t number = (uint8_t)(bases->count + 1);
	size_t count;
	uint32_t found = 0;

	headers_gather(types, type, &members);
	if (members.count == 0 || bases->count == MAX_BASES || bases->of[type])
		return;

	const struct base_member *others = bases->members + find_rarest(bases, &members, &count);

	bases->of[type] = number;
	progress_steps((uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		heap_type_id other = others[i].type;

		if (bases->of[other] || bases->keys[other] != bases->keys[type] ||
		    !headers_begin(types, other, &members))
			continue;
		bases->of[other] = number;
		found++;
	}
	if (found >= HEADER_EXTENSIONS) {
		bases->types[bases->count++] = type;
		return;
	}
	bases->of[type] = 0;
	for (size_t i = 0; i < count; i++) {
		if (bases->of[others[i].type] == number)
			bases->of[others[i].type] = 0;
	}
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct inference *inference)
{
	const struct heap_types *types = inference->layouts.types;
	struct bases *bases = &inference->bases;

	if (bases->of)
		return NULL;
	bases->keys = calloc((size_t)types->count + 1, sizeof(*bases->keys));
	bases->pointed = calloc((size_t)types->count + 1, sizeof(*bases->pointed));
	bases->of = calloc((size_t)types->count + 1, sizeof(*bases->of));
	if (!bases->keys || !bases->pointed || !bases->of)
		return heap_error_out_of_memory();
	for (heap_type_id i = 1; i < types->count; i++) {
		struct header_members members = { .count = 0 };
		struct heap_error *error;

		headers_gather(types, i, &members);
		bases->keys[i] = key_of(&members);
		error = note_members(bases, i, &members);
		if (error)
			return error;
	}
	progress_steps(types->count);
	if (bases->member_count > 1)
		qsort(bases->members, bases->member_count, sizeof(*bases->members),
		      compare_members);
	return NULL;
}

struct heap_error *bases_find(struct inference *inference)
{
	struct bases *bases = &inference->bases;
	struct heap_error *error = prepare(inference);

	for (; !error && bases->hints_seen < inference->hint_count; bases->hints_seen++) {
		const struct hint *hint = &inference->hints[bases->hints_seen];

		if (bases->hints_seen == NO_HINT || !layouts_is_start(hint->interior) ||
		    !layouts_is_compound(&inference->layouts, hint->type))
			continue;
		if (++bases->pointed[hint->type] == MIN_POINTED)
			consider(inference, hint->type);
	}
	return error;
}

uint32_t bases_of(const struct inference *inference, heap_object_id object)
{
	uint32_t found = 0;

	if (inference_is_named(inference, object))
		return bases_of_type(inference, inference->capture->type[object]);
	for (uint32_t at = inference->hint_head[object]; at != NO_HINT && !found;
	     at = inference->hints[at].next) {
		progress_step();
		if (layouts_is_start(inference->hints[at].interior))
			found = bases_of_type(inference, inference->hints[at].type);
	}
	return found;
}

// --- some blocks of each type ------------------------------------------------

static enum trust trust_in(const struct inference *inference, heap_object_id object)
{
	if (inference->is_sure[object])
		return TRUST_SURE;
	return inference->rank[object] <= RANK_PASSED_FLEXIBLE ? TRUST_POINTER : TRUST_NAMED;
}

// @param samples  gets those of the type; NULL: there are too many types
HEAP_MUST_CHECK
static struct heap_error *find_samples(struct base_types *types, heap_type_id type,
				       struct base_samples **samples)
{
	uint32_t at = 0;

	while (at < types->count && types->types[at]->type != type)
		at++;
	*samples = NULL;
	if (at == BASE_TYPES)
		return NULL;
	if (at == types->count) {
		types->types[at] = malloc(sizeof(*types->types[at]));
		if (!types->types[at])
			return heap_error_out_of_memory();
		types->types[at]->type = type;
		for (enum trust trust = 0; trust < TRUSTS; trust++) {
			types->types[at]->counts[trust] = types->types[at]->kept[trust] = 0;
			types->types[at]->steps[trust] = 1;
		}
		types->count++;
	}
	*samples = types->types[at];
	return NULL;
}

// Keeps a block as a sample if it is one in so many. When there is no room, half of the samples go.
static void keep_sample(const struct inference *inference, struct base_samples *samples,
			enum trust trust, heap_object_id object)
{
	struct header *headers = samples->headers[trust];
	uint32_t *kept = &samples->kept[trust];

	if (samples->counts[trust]++ % samples->steps[trust] != 0)
		return;
	headers_read(inference, object, &headers[(*kept)++]);
	if (*kept < BASE_SAMPLES)
		return;
	for (uint32_t i = 0; i < BASE_SAMPLES / 2; i++)
		headers[i] = headers[2 * i];
	*kept = BASE_SAMPLES / 2;
	samples->steps[trust] *= 2;
}

struct heap_error *bases_sample(const struct inference *inference, struct base_types *result)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; i < MAX_BASES; i++)
		result[i].count = 0;
	if (inference->bases.count == 0)
		return NULL;
	progress_steps(inference->capture->objects.count);
	for (heap_object_id i = 0; !error && i < inference->capture->objects.count; i++) {
		heap_type_id type = inference->capture->type[i];
		uint32_t base = bases_of_type(inference, type);
		struct base_samples *samples;

		if (!base || !inference_is_named(inference, i))
			continue;
		error = find_samples(&result[base - 1], type, &samples);
		if (!error && samples)
			keep_sample(inference, samples, trust_in(inference, i), i);
	}
	return error;
}

void bases_release_samples(struct base_types *samples)
{
	for (uint32_t i = 0; i < MAX_BASES; i++) {
		for (uint32_t j = 0; j < samples[i].count; j++)
			free(samples[i].types[j]);
		samples[i].count = 0;
	}
}

void bases_deinit(struct bases *bases)
{
	free(bases->keys);
	free(bases->members);
	free(bases->pointed);
	free(bases->of);
}
