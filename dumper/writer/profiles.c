// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Profiles: what the members that all types of a site share hold in the blocks of one type.
 *
 * Where a program makes objects of many types by one function, a pointer to what they have in
 * common speaks for all of these types alike, and the blocks that have a name may all be of one
 * type, since only that one is pointed to by its own. Yet something in the common part tells the
 * types apart. So a member that has but a few values in the blocks of a type whose names are
 * sure speaks against all other blocks that have another value there.
 */
#include "dumper/writer/headers.h"

#include "lib/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	COMMON_TYPES = 16, // of a site
	TYPES = 16,        // of a site, that have profiles
	VALUES = 4,        // of a member, that tell something
	MIN_BLOCKS = 32,   // of a type
	MAX_BLOCKS = 1024,
};

// What a member holds in the blocks of one type.
struct profile {
	heap_type_id type;
	struct header_member member;
	uint64_t values[VALUES];
	uint32_t count; // of values; one more than there is room for: too many
};

// What is pointed to in the blocks of a site that have no name.
struct common {
	heap_type_id types[COMMON_TYPES];
	uint32_t count;
};

static void add_common(const struct inference *inference, const struct hint *hint,
		       struct common *common)
{
	if (!layouts_is_start(hint->interior) ||
	    !layouts_is_compound(&inference->layouts, hint->type) || common->count == COMMON_TYPES)
		return;
	for (uint32_t i = 0; i < common->count; i++) {
		if (common->types[i] == hint->type)
			return;
	}
	common->types[common->count++] = hint->type;
}

static void gather_common(const struct inference *inference, const heap_object_id *members,
			  uint32_t count, struct header_members *result)
{
	struct common common = { .count = 0 };

	for (uint32_t i = 0; i < count; i++) {
		if (inference_is_named(inference, members[i]))
			continue;
		for (uint32_t at = inference->hint_head[members[i]]; at != NO_HINT;
		     at = inference->hints[at].next)
			add_common(inference, &inference->hints[at], &common);
	}
	result->count = 0;
	for (uint32_t i = 0; i < common.count; i++)
		headers_gather(inference->layouts.types, common.types[i], result);
}

static void see_value(struct profile *profile, uint64_t value)
{
	uint32_t at = 0;

	while (at < profile->count && at < VALUES && profile->values[at] != value)
		at++;
	if (at == VALUES)
		profile->count = VALUES + 1;
	else if (at == profile->count)
		profile->values[profile->count++] = value;
}

static bool holds(const struct profile *profile, uint64_t value)
{
	for (uint32_t i = 0; i < profile->count; i++) {
		if (profile->values[i] == value)
			return true;
	}
	return false;
}

// The blocks of a site whose types are sure, by type.
struct sightings {
	struct {
		heap_type_id type;
		uint32_t blocks;
		struct profile profiles[HEADER_MEMBERS];
		uint32_t count;
	} types[TYPES];
	uint32_t count;
};

static void add_type(const struct inference *inference, heap_type_id type,
		     const struct header_members *members, struct sightings *sightings)
{
	uint32_t at = sightings->count++;

	sightings->types[at].type = type;
	sightings->types[at].blocks = sightings->types[at].count = 0;
	for (uint32_t i = 0; i < members->count; i++) {
		if (headers_type_has(inference->layouts.types, type, &members->list[i]))
			sightings->types[at].profiles[sightings->types[at].count++] =
				(struct profile){ .type = type, .member = members->list[i] };
	}
}

static void see_block(const struct inference *inference, heap_object_id object,
		      const struct header_members *members, struct sightings *sightings)
{
	heap_type_id type = inference->capture->type[object];
	struct header header;
	uint32_t at = 0;

	while (at < sightings->count && sightings->types[at].type != type)
		at++;
	if (at == TYPES || !layouts_is_compound(&inference->layouts, type))
		return;
	if (at == sightings->count)
		add_type(inference, type, members, sightings);
	if (sightings->types[at].blocks++ >= MAX_BLOCKS)
		return;
	headers_read(inference, object, &header);
	for (uint32_t i = 0; i < sightings->types[at].count; i++) {
		struct profile *profile = &sightings->types[at].profiles[i];

		see_value(profile, headers_value(&profile->member, &header));
	}
}

// Keeps what tells something.
HEAP_MUST_CHECK
static struct heap_error *keep_telling(const struct sightings *sightings,
				       struct site_profiles *result)
{
	free(result->list);
	*result = (struct site_profiles){ 0 };
	for (uint32_t i = 0; i < sightings->count; i++) {
		if (sightings->types[i].blocks < MIN_BLOCKS)
			continue;
		for (uint32_t j = 0; j < sightings->types[i].count; j++) {
			const struct profile *profile = &sightings->types[i].profiles[j];
			struct profile *more;

			if (profile->count > VALUES)
				continue;
			more = realloc(result->list, (result->count + 1) * sizeof(*more));
			if (!more)
				return heap_error_out_of_memory();
			more[result->count++] = *profile;
			result->list = more;
		}
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *learn_site(const struct inference *inference,
				     const heap_object_id *blocks, uint32_t count,
				     struct sightings *sightings, struct site_profiles *result)
{
	struct header_members members;

	gather_common(inference, blocks, count, &members);
	sightings->count = 0;
	for (uint32_t i = 0; members.count > 0 && i < count; i++) {
		if (inference->is_sure[blocks[i]])
			see_block(inference, blocks[i], &members, sightings);
	}
	return keep_telling(sightings, result);
}

struct heap_error *profiles_learn(struct inference *inference)
{
	const struct kinds *kinds = &inference->kinds;
	struct profiles *profiles = &inference->profiles;
	CLEANUP_FREE struct sightings *sightings = malloc(sizeof(*sightings));
	struct heap_error *error = sightings ? NULL : heap_error_out_of_memory();

	if (!error && !profiles->sites) {
		profiles->sites = calloc((size_t)kinds->sites + 1, sizeof(*profiles->sites));
		profiles->count = kinds->sites;
		error = profiles->sites ? NULL : heap_error_out_of_memory();
	}
	for (uint32_t i = 0, end; !error && i < kinds->count; i = end) {
		heap_site_id site = kinds->kinds[i].site;
		uint32_t blocks = 0;

		for (end = i; end < kinds->count && kinds->kinds[end].site == site; end++)
			blocks += kinds->kinds[end].count;
		error = learn_site(inference, &kinds->members[kinds->kinds[i].first], blocks,
				   sightings, &profiles->sites[site]);
	}
	return error;
}

bool profiles_exclude(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct site_profiles *profiles;
	struct header header;
	bool is_read = false;

	if (!inference->profiles.sites)
		return false;
	profiles = &inference->profiles.sites[inference->capture->sites.maker[object]];
	for (uint32_t i = 0; i < profiles->count; i++) {
		const struct profile *profile = &profiles->list[i];

		if (profile->type != type)
			continue;
		if (!is_read)
			headers_read(inference, object, &header);
		is_read = true;
		if (!holds(profile, headers_value(&profile->member, &header)))
			return true;
	}
	return false;
}

void profiles_deinit(struct profiles *profiles)
{
	for (uint32_t i = 0; profiles->sites && i < profiles->count; i++)
		free(profiles->sites[i].list);
	free(profiles->sites);
}
