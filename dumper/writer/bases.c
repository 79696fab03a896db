// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/bases.h"

#include "lib/cleanup.h"

#include <stdlib.h>

enum {
	MIN_POINTED = 8, // blocks to which pointers to a base lead
};

// --- which structs are bases -------------------------------------------------

// A type's first number, by which types that cannot begin alike are told apart quickly.
static uint64_t key_of(const struct heap_types *types, heap_type_id type)
{
	struct header_members members = { .count = 0 };

	headers_gather(types, type, &members);
	if (members.count == 0)
		return 0;
	return (uint64_t)members.list[0].offset << 16 | (uint64_t)members.list[0].size << 8 |
	       members.list[0].bits;
}

// Takes a struct for a base if others begin with it.
static void consider(struct inference *inference, heap_type_id type)
{
	const struct heap_types *types = inference->layouts.types;
	struct bases *bases = &inference->bases;
	struct header_members members = { .count = 0 };
	uint32_t found = 0;

	headers_gather(types, type, &members);
	if (members.count == 0 || bases->count == MAX_BASES || bases->of[type])
		return;
	bases->of[type] = (uint8_t)(bases->count + 1);
	for (heap_type_id i = 1; i < types->count; i++) {
		if (bases->of[i] || bases->keys[i] != bases->keys[type] ||
		    !headers_begin(types, i, &members))
			continue;
		bases->of[i] = (uint8_t)(bases->count + 1);
		found++;
	}
	if (found >= HEADER_EXTENSIONS) {
		bases->types[bases->count++] = type;
		return;
	}
	for (heap_type_id i = 1; i < types->count; i++) {
		if (bases->of[i] == bases->count + 1)
			bases->of[i] = 0;
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
	for (heap_type_id i = 1; i < types->count; i++)
		bases->keys[i] = key_of(types, i);
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
		for (enum trust trust = 0; trust < TRUSTS; trust++)
			types->types[at]->counts[trust] = 0;
		types->count++;
	}
	*samples = types->types[at];
	return NULL;
}

struct heap_error *bases_sample(const struct inference *inference, struct base_types *result)
{
	struct heap_error *error = NULL;

	for (uint32_t i = 0; i < MAX_BASES; i++)
		result[i].count = 0;
	for (heap_object_id i = 0; !error && i < inference->capture->objects.count; i++) {
		heap_type_id type = inference->capture->type[i];
		uint32_t base = bases_of_type(inference, type);
		struct base_samples *samples;
		enum trust trust;

		if (!base || !inference_is_named(inference, i))
			continue;
		error = find_samples(&result[base - 1], type, &samples);
		if (error || !samples)
			continue;
		trust = trust_in(inference, i);
		if (samples->counts[trust] < BASE_SAMPLES)
			headers_read(inference, i,
				     &samples->headers[trust][samples->counts[trust]]);
		samples->counts[trust]++;
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
	free(bases->pointed);
	free(bases->of);
}
