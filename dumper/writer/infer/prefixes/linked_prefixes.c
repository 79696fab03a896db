// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/prefixes/linked_prefixes.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MIN_LINKED = 32,              // blocks whose prefix begins with a link
	MIN_MUTUAL = 4,               // or with a link elsewhere in it, to a block that leads back
	MIN_LEAD = 20,                // times as many must be linked to such as to others
	LINKS = BLOCK_PREFIX_MAX / 8, // words of a prefix
};

// The blocks with a prefix of one length, by what one of its words is.
struct linked {
	uint32_t known;   // links to blocks with that prefix
	uint32_t others;  // to blocks that have none
	uint32_t unknown; // to blocks of which nothing is known
	uint32_t ends;    // anything else: lists end somewhere
};

heap_object_id linked_prefixes_next(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = snapshot->edge_first[object];

	return edge < snapshot->edge_first[object + 1] && snapshot->edge_slot[edge] == 0 &&
			       snapshot->edge_interior[edge] == 0
		       ? snapshot->edge_target[edge]
		       : HEAP_NO_OBJECT;
}

heap_object_id linked_prefixes_follow(const struct inference *inference, heap_object_id object,
				      uint32_t offset)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = heap_edge_at(snapshot, object, offset);

	return edge != UINT32_MAX && snapshot->edge_interior[edge] == 0 &&
			       snapshot->edge_target[edge] != object
		       ? snapshot->edge_target[edge]
		       : HEAP_NO_OBJECT;
}

bool linked_prefixes_lead_back(const struct inference *inference, heap_object_id object,
			       heap_object_id target, uint32_t bytes)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint32_t i = snapshot->edge_first[object];
	     i < snapshot->edge_first[object + 1] && snapshot->edge_slot[i] * UINT64_C(8) < bytes;
	     i++) {
		if (snapshot->edge_target[i] == target && snapshot->edge_interior[i] == 0)
			return true;
	}
	return false;
}

static bool is_known_otherwise(const struct inference *inference, heap_object_id object)
{
	return inference->claims.name_rank[object] < RANK_SITE ||
	       pools_have(&inference->pools, object);
}

static void count_link(const struct inference *inference, heap_object_id object, uint32_t bytes,
		       uint32_t offset, struct linked *linked)
{
	heap_object_id target = linked_prefixes_follow(inference, object, offset);

	if (target == HEAP_NO_OBJECT)
		linked->ends++;
	else if (inference_prefix(inference, target) == bytes &&
		 (offset == 0 || linked_prefixes_lead_back(inference, target, object, bytes)))
		linked->known++;
	else if (inference_prefix(inference, target) > 0 ||
		 (is_known_otherwise(inference, target) && !pools_have(&inference->pools, target)))
		linked->others++;
	else if (offset > 0 && linked_prefixes_lead_back(inference, target, object, bytes))
		linked->known++;
	else
		linked->unknown++;
}

// @param all  [BLOCK_PREFIX_MAX + 1] is filled
static void count(const struct inference *inference, struct linked (*all)[LINKS])
{
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		uint32_t bytes = inference_prefix(inference, i);

		progress_step();
		for (uint32_t offset = 0; offset < bytes; offset += 8)
			count_link(inference, i, bytes, offset, &all[bytes][offset / 8]);
	}
}

// Bytes of the prefix that a block shares with those that it is linked to. What begins with a storage header may be linked
// to other structs that begin alike.
static uint32_t shared_prefix(const struct inference *inference, heap_object_id object)
{
	return storage_headers_have(&inference->storage_headers, object)
		       ? 0
		       : inference_prefix(inference, object);
}

static bool is_list(const struct linked *linked, uint32_t offset)
{
	return linked->known >= (offset > 0 ? MIN_MUTUAL : MIN_LINKED) &&
	       linked->known >= MIN_LEAD * (uint64_t)linked->others &&
	       linked->known + linked->unknown >= linked->ends;
}

// True if no typed slot leads to a place in the prefix but one to characters, as the list's head may have.
static bool may_have(const struct inference *inference, heap_object_id object, uint32_t bytes)
{
	if (inference_prefix(inference, object) > 0 || is_known_otherwise(inference, object) ||
	    objects_size(&inference->capture->objects, object) <= bytes)
		return false;
	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		uint64_t interior = layouts_is_start(hint->interior) ? 0 : hint->interior;

		progress_step();
		if (interior < bytes && !hint->either &&
		    !layouts_is_character(&inference->layouts, hint->type))
			return false;
	}
	return true;
}

HEAP_MUST_CHECK
static struct heap_error *set(struct inference *inference, heap_object_id object, uint32_t bytes,
			      uint64_t *found)
{
	if (inference_type(inference, object) != HEAP_NO_TYPE)
		inference_unname(inference, object);
	++*found;
	return block_prefixes_set(inference, object, bytes);
}

// Those behind a block in its list, by the links at an offset.
HEAP_MUST_CHECK
static struct heap_error *spread_on(struct inference *inference, heap_object_id object,
				    uint32_t bytes, uint32_t offset, uint64_t *found)
{
	for (;;) {
		heap_object_id next = linked_prefixes_follow(inference, object, offset);

		progress_step();
		if (next == HEAP_NO_OBJECT || !may_have(inference, next, bytes) ||
		    (offset > 0 && !linked_prefixes_lead_back(inference, next, object, bytes)))
			return NULL;
		HEAP_TRY(set(inference, next, bytes, found));
		object = next;
	}
}

/*
 * Those before it. Each block is passed once: all on the way to one that has been passed get what that has.
 *
 * @param passed  [objects] zeros at first
 */
HEAP_MUST_CHECK
static struct heap_error *spread_back(struct inference *inference, heap_object_id object,
				      struct linked (*all)[LINKS], bool *passed, uint64_t *found)
{
	heap_object_id end = object;
	uint32_t bytes;

	while (end != HEAP_NO_OBJECT && inference_prefix(inference, end) == 0 && !passed[end] &&
	       !is_known_otherwise(inference, end)) {
		progress_step();
		passed[end] = true;
		end = linked_prefixes_next(inference, end);
	}
	bytes = end != HEAP_NO_OBJECT ? shared_prefix(inference, end) : 0;
	if (bytes == 0 || !is_list(&all[bytes][0], 0))
		return NULL;
	for (; object != end; object = linked_prefixes_next(inference, object)) {
		progress_step();
		if (may_have(inference, object, bytes))
			HEAP_TRY(set(inference, object, bytes, found));
	}
	return NULL;
}

// Those behind all blocks with a prefix.
HEAP_MUST_CHECK
static struct heap_error *spread_all_on(struct inference *inference, struct linked (*all)[LINKS],
					uint64_t *found)
{
	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		uint32_t bytes = shared_prefix(inference, i);

		for (uint32_t offset = 0; offset < bytes; offset += 8) {
			if (is_list(&all[bytes][offset / 8], offset))
				HEAP_TRY(spread_on(inference, i, bytes, offset, found));
		}
	}
	return NULL;
}

struct heap_error *linked_prefixes_spread(struct inference *inference, uint64_t *found)
{
	const heap_object_id objects = inference->capture->objects.count;
	struct linked all[BLOCK_PREFIX_MAX + 1][LINKS] = { 0 };
	CLEANUP_FREE bool *passed = NULL;
	uint64_t before = *found;
	bool any = false;

	if (inference->block_prefixes.count == inference->linked_prefixes)
		return NULL;
	count(inference, all);
	for (uint32_t i = 0; i <= BLOCK_PREFIX_MAX; i++)
		for (uint32_t j = 0; j < LINKS; j++)
			any = any || is_list(&all[i][j], j * 8);
	inference->linked_prefixes = inference->block_prefixes.count;
	passed = any ? calloc((size_t)objects + 1, sizeof(*passed)) : NULL;
	if (!any)
		return NULL;
	if (!passed)
		return heap_error_out_of_memory();
	HEAP_TRY(spread_all_on(inference, all, found));
	for (heap_object_id i = 0; i < objects; i++) {
		if (inference_prefix(inference, i) == 0)
			HEAP_TRY(spread_back(inference, i, all, passed, found));
	}
	inference->linked_prefixes = inference->block_prefixes.count;
	return *found > before ? kinds_sort(inference) : NULL;
}
