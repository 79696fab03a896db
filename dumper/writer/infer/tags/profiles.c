// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Profiles: the values of a common prefix's scalar members in the blocks of one type.
 *
 * A pointer to a base supports all types that begin with it equally, and the blocks with a name may
 * all be of one type, the only one with pointers of its own type. Yet something in the common part
 * distinguishes the types. So a member with only a few values in the blocks that surely have a type
 * rules that type out for blocks with another value there.
 */
#include "dumper/writer/infer/inference.h"

#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"
#include "dumper/writer/base/progress.h"

#include <stdlib.h>

enum {
	VALUES = 4,      // of a number, that tell something
	MIN_BLOCKS = 32, // of a type
};

// The values of a number in the blocks of one type.
struct profile {
	heap_type_id type;
	struct header_member member;
	uint64_t values[VALUES];
	uint32_t count;
};

static bool holds(const struct profile *profile, uint64_t value)
{
	for (uint32_t i = 0; i < profile->count; i++) {
		if (profile->values[i] == value)
			return true;
	}
	return false;
}

// @return false if there are too many values
static bool make(const struct prefix_samples *samples, const struct header_member *member,
		 struct profile *profile)
{
	uint32_t count = samples->kept[TRUST_SURE];

	*profile = (struct profile){ .type = samples->type, .member = *member };
	for (uint32_t i = 0; i < count; i++) {
		uint64_t value = headers_value(member, &samples->headers[TRUST_SURE][i]);

		if (holds(profile, value))
			continue;
		if (profile->count == VALUES)
			return false;
		profile->values[profile->count++] = value;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *learn_type(const struct prefix_samples *samples,
				     const struct header_members *members,
				     struct profiles *profiles)
{
	HEAP_TRY(heap_reserve(profiles->list, profiles->capacity,
			      (size_t)profiles->count + members->count));
	for (uint32_t i = 0; i < members->count; i++)
		profiles->count +=
			make(samples, &members->list[i], &profiles->list[profiles->count]);
	return NULL;
}

static int compare_types(const void *left, const void *right)
{
	const struct profile *a = left, *b = right;

	return a->type < b->type ? -1 : a->type > b->type;
}

struct heap_error *profiles_learn(struct inference *inference, const struct prefix_types *samples)
{
	inference->profiles.count = 0;
	for (uint32_t i = 0; i < inference->common_prefixes.count; i++) {
		struct header_members members = { .count = 0 };

		headers_gather(inference->layouts.types, inference->common_prefixes.types[i],
			       &members);
		for (uint32_t j = 0; j < samples[i].count; j++) {
			if (samples[i].types[j]->counts[TRUST_SURE] >= MIN_BLOCKS)
				HEAP_TRY(learn_type(samples[i].types[j], &members,
						    &inference->profiles));
		}
	}
	if (inference->profiles.count > 1)
		qsort(inference->profiles.list, inference->profiles.count,
		      sizeof(*inference->profiles.list), compare_types);
	return NULL;
}

// The index of a type's first profile; the count of profiles if there is none.
static uint32_t find_first(const struct profiles *profiles, heap_type_id type)
{
	return heap_partition_point(i, 0, profiles->count, profiles->list[i].type < type);
}

bool profiles_exclude(const struct inference *inference, heap_object_id object, heap_type_id type)
{
	const struct profiles *profiles = &inference->profiles;
	struct header header;
	bool is_read = false;

	if (!common_prefixes_of_type(&inference->common_prefixes, type))
		return false;
	for (uint32_t i = find_first(profiles, type); i < profiles->count; i++) {
		const struct profile *profile = &profiles->list[i];

		if (profile->type != type)
			break;
		progress_step();
		if (!is_read)
			inference_read_header(inference, object, &header);
		is_read = true;
		if (!holds(profile, headers_value(&profile->member, &header)))
			return true;
	}
	return false;
}

void profiles_deinit(struct profiles *profiles)
{
	free(profiles->list);
}
