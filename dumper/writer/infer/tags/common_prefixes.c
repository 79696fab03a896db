// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/inference.h"

#include "lib/base/hash.h"
#include "dumper/writer/base/progress.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

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
struct prefix_member {
	uint64_t hash;
	heap_type_id type;
};

static uint64_t hash_of(const struct header_member *member)
{
	uint64_t hash = (uint64_t)member->offset << 24 | (uint64_t)member->size << 16 |
			(uint64_t)member->shift << 8 | member->bits;

	return heap_hash_fnv(hash, member->name, strlen(member->name));
}

static int compare_members(const void *left, const void *right)
{
	const struct prefix_member *a = left, *b = right;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

HEAP_MUST_CHECK
static struct heap_error *note_members(struct common_prefixes *prefixes, heap_type_id type,
				       const struct header_members *members)
{
	HEAP_TRY(heap_reserve(prefixes->members, prefixes->member_capacity,
			      (size_t)prefixes->member_count + members->count));
	for (uint32_t i = 0; i < members->count; i++)
		prefixes->members[prefixes->member_count++] =
			(struct prefix_member){ hash_of(&members->list[i]), type };
	return NULL;
}

// The first of the noted members that does not come before a key.
static size_t find_member(const struct common_prefixes *prefixes, const struct prefix_member *key)
{
	return heap_partition_point(i, 0, prefixes->member_count,
				    compare_members(&prefixes->members[i], key) < 0);
}

// The types that have the rarest of some members: all others lack it.
static size_t find_rarest(const struct common_prefixes *prefixes,
			  const struct header_members *members, size_t *count)
{
	size_t best = 0;

	*count = SIZE_MAX;
	for (uint32_t i = 0; i < members->count; i++) {
		uint64_t hash = hash_of(&members->list[i]);
		size_t first = find_member(prefixes, &(struct prefix_member){ hash, 0 });
		size_t end = find_member(prefixes, &(struct prefix_member){ hash, UINT32_MAX });

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
	struct common_prefixes *prefixes = &inference->common_prefixes;
	struct header_members members = { .count = 0 };
	uint8_t number = (uint8_t)(prefixes->count + 1);
	size_t count;
	uint32_t found = 0;

	headers_gather(types, type, &members);
	if (members.count == 0 || prefixes->count == MAX_COMMON_PREFIXES || prefixes->of[type])
		return;

	const struct prefix_member *others =
		prefixes->members + find_rarest(prefixes, &members, &count);

	prefixes->of[type] = number;
	progress_steps((uint32_t)count);
	for (size_t i = 0; i < count; i++) {
		heap_type_id other = others[i].type;

		if (prefixes->of[other] || prefixes->keys[other] != prefixes->keys[type] ||
		    !headers_begin(types, other, &members))
			continue;
		prefixes->of[other] = number;
		found++;
	}
	if (found >= HEADER_EXTENSIONS) {
		prefixes->types[prefixes->count++] = type;
		return;
	}
	prefixes->of[type] = 0;
	for (size_t i = 0; i < count; i++) {
		if (prefixes->of[others[i].type] == number)
			prefixes->of[others[i].type] = 0;
	}
}

HEAP_MUST_CHECK
static struct heap_error *prepare(struct inference *inference)
{
	const struct heap_types *types = inference->layouts.types;
	struct common_prefixes *prefixes = &inference->common_prefixes;

	if (prefixes->of)
		return NULL;
	prefixes->keys = calloc((size_t)types->count + 1, sizeof(*prefixes->keys));
	prefixes->pointed = calloc((size_t)types->count + 1, sizeof(*prefixes->pointed));
	prefixes->of = calloc((size_t)types->count + 1, sizeof(*prefixes->of));
	if (!prefixes->keys || !prefixes->pointed || !prefixes->of)
		return heap_error_out_of_memory();
	for (heap_type_id i = 1; i < types->count; i++) {
		struct header_members members = { .count = 0 };
		struct heap_error *error;

		if (!inference->layouts.facts[i].is_candidate)
			continue;
		headers_gather(types, i, &members);
		prefixes->keys[i] = key_of(&members);
		error = note_members(prefixes, i, &members);
		if (error)
			return error;
	}
	progress_steps(types->count);
	if (prefixes->member_count > 1)
		qsort(prefixes->members, prefixes->member_count, sizeof(*prefixes->members),
		      compare_members);
	return NULL;
}

struct heap_error *common_prefixes_find(struct inference *inference)
{
	struct common_prefixes *prefixes = &inference->common_prefixes;

	HEAP_TRY(prepare(inference));
	for (; prefixes->hints_seen < inference->hints.count; prefixes->hints_seen++) {
		const struct hint *hint = &inference->hints.list[prefixes->hints_seen];

		if (prefixes->hints_seen == NO_HINT || !layouts_is_start(hint->interior) ||
		    !layouts_is_compound(&inference->layouts, hint->type))
			continue;
		if (++prefixes->pointed[hint->type] == MIN_POINTED)
			consider(inference, hint->type);
	}
	return NULL;
}

uint32_t common_prefixes_of(const struct inference *inference, heap_object_id object)
{
	uint32_t found = 0;

	if (claims_are_good(&inference->claims, object))
		return common_prefixes_of_type(&inference->common_prefixes,
					       inference_type(inference, object));
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT && !found;
	     at = inference->hints.list[at].next) {
		progress_step();
		if (layouts_is_start(inference->hints.list[at].interior))
			found = common_prefixes_of_type(&inference->common_prefixes,
							inference->hints.list[at].type);
	}
	return found;
}

// --- some blocks of each type ------------------------------------------------

static enum trust trust_in(const struct inference *inference, heap_object_id object)
{
	if (names_is_sure(&inference->capture->names, object))
		return TRUST_SURE;
	return inference->claims.rank[object] <= RANK_PASSED_FLEXIBLE ? TRUST_POINTER : TRUST_NAMED;
}

// @param samples  gets those of the type; NULL: there are too many types
HEAP_MUST_CHECK
static struct heap_error *find_samples(struct prefix_types *types, heap_type_id type,
				       struct prefix_samples **samples)
{
	uint32_t at = 0;

	while (at < types->count && types->types[at]->type != type)
		at++;
	*samples = NULL;
	if (at == PREFIX_TYPES)
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
static void keep_sample(const struct inference *inference, struct prefix_samples *samples,
			enum trust trust, heap_object_id object)
{
	struct header *headers = samples->headers[trust];
	uint32_t *kept = &samples->kept[trust];

	if (samples->counts[trust]++ % samples->steps[trust] != 0)
		return;
	inference_read_header(inference, object, &headers[(*kept)++]);
	if (*kept < PREFIX_SAMPLES)
		return;
	for (uint32_t i = 0; i < PREFIX_SAMPLES / 2; i++)
		headers[i] = headers[2 * i];
	*kept = PREFIX_SAMPLES / 2;
	samples->steps[trust] *= 2;
}

struct heap_error *common_prefixes_sample(const struct inference *inference,
					  struct prefix_types *result)
{
	for (uint32_t i = 0; i < MAX_COMMON_PREFIXES; i++)
		result[i].count = 0;
	if (inference->common_prefixes.count == 0)
		return NULL;
	progress_steps(inference->capture->objects.count);
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		heap_type_id type = inference_type(inference, i);
		uint32_t base = common_prefixes_of_type(&inference->common_prefixes, type);
		struct prefix_samples *samples;

		if (!base || !claims_are_good(&inference->claims, i))
			continue;
		HEAP_TRY(find_samples(&result[base - 1], type, &samples));
		if (samples)
			keep_sample(inference, samples, trust_in(inference, i), i);
	}
	return NULL;
}

void common_prefixes_release_samples(struct prefix_types *samples)
{
	for (uint32_t i = 0; i < MAX_COMMON_PREFIXES; i++) {
		for (uint32_t j = 0; j < samples[i].count; j++)
			free(samples[i].types[j]);
		samples[i].count = 0;
	}
}

void common_prefixes_deinit(struct common_prefixes *prefixes)
{
	free(prefixes->keys);
	free(prefixes->members);
	free(prefixes->pointed);
	free(prefixes->of);
}
