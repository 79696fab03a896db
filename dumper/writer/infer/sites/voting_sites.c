// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/voting_sites.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/bits.h"

#include <stdlib.h>

// True if all blocks are of one site.
static bool is_one_site(const struct inference *inference, const heap_object_id *members,
			uint32_t count)
{
	uint32_t i = 1;

	while (i < count &&
	       inference_site(inference, members[i]) == inference_site(inference, members[0]))
		i++;
	progress_steps(i);
	return i >= count;
}

// True if the code at a site is known to have pointers to a type, and may make blocks of it by itself.
static bool may_make(const struct site_summary *maker, heap_type_id type)
{
	for (uint32_t i = 0; i < maker->site_types->count; i++) {
		if (maker->site_types->list[i].type == type)
			return true;
	}
	return false;
}

struct heap_error *voting_sites_find(const struct inference *inference,
				     const struct site_summary *maker, uint32_t first,
				     uint32_t count, heap_type_id type, struct voting_sites *result)
{
	const heap_object_id *members = inference->kinds.members + first;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	*result = (struct voting_sites){ NULL };
	if (may_make(maker, type) || is_one_site(inference, members, count))
		return NULL;
	result->bits = calloc((size_t)snapshot->site_count / 8 + 1, 1);
	if (!result->bits)
		return heap_error_out_of_memory();
	for (uint32_t i = 0; i < count; i++) {
		progress_step();
		if (inference_type(inference, members[i]) == type &&
		    inference_site(inference, members[i]) < snapshot->site_count)
			heap_bit_set(result->bits, inference_site(inference, members[i]));
	}
	return NULL;
}

void voting_sites_deinit(struct voting_sites *sites)
{
	free(sites->bits);
}

bool voting_sites_have(const struct voting_sites *sites, const struct inference *inference,
		       heap_object_id object)
{
	heap_site_id site = inference_site(inference, object);

	return !sites->bits ||
	       (site < inference->capture->snapshot.site_count && heap_bit_get(sites->bits, site));
}
