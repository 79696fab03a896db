// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/arrays/ring_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	WORD = 8,
	LINK = 2 * WORD, // bytes of a head: two pointers
	MIN_RINGS = 4,   // of an array; the other heads are zero, not in use yet
};

// True for a struct of two pointers to the links of a list, and nothing else.
static bool is_head(const struct inference *inference, heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	const struct heap_slots *slots = heap_slot_table_get(&layouts->slots, type);

	return slots && slots->count == 2 && layouts_size(layouts, type) == LINK &&
	       slots->list[0].pointee == slots->list[1].pointee &&
	       slots->list[0].pointee != HEAP_NO_TYPE &&
	       layouts_is_link(layouts, slots->list[0].pointee) &&
	       layouts_has(layouts, type, slots->list[0].pointee, 0);
}

enum head {
	HEAD_NONE,
	HEAD_UNUSED,
	HEAD_RING,
};

// The link behind a head leads back to it by its first pointer, and the one before by its second, or the other way round.
static enum head read_head(const struct inference *inference, uint64_t address)
{
	uint64_t links[2], back[2] = { 0, 0 };

	progress_step();
	pages_read(inference->pages, address, links, sizeof(links));
	if (links[0] == 0 && links[1] == 0)
		return HEAD_UNUSED;
	pages_read(inference->pages, links[0] + WORD, &back[0], sizeof(back[0]));
	pages_read(inference->pages, links[1], &back[1], sizeof(back[1]));
	return back[0] == address && back[1] == address ? HEAD_RING : HEAD_NONE;
}

// The number of heads that a block consists of, up to what the program has rounded up; 0 if it does not.
static uint64_t count_heads(const struct inference *inference, heap_object_id object)
{
	bool is_rounded = inference->capture->objects.flags[object] & ARENA_ROUNDED;
	uint64_t size = inference_size(inference, object), rings = 0, heads = 0;

	for (; (heads + 1) * LINK <= size; heads++) {
		enum head head =
			read_head(inference, inference_address(inference, object) + heads * LINK);

		if (head == HEAD_NONE && !(is_rounded && heads * LINK > size / 2))
			return 0;
		if (head == HEAD_NONE)
			break;
		rings += head == HEAD_RING;
	}
	return rings >= MIN_RINGS ? heads : 0;
}

// The type of the heads to which typed slots say that a block begins with one.
static heap_type_id find_head(const struct inference *inference, heap_object_id object)
{
	heap_type_id found = HEAP_NO_TYPE;

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->interior != 0 || hint->either || !is_head(inference, hint->type))
			continue;
		// The list's items lead to the link in the head.
		if (found == HEAP_NO_TYPE || layouts_has(&inference->layouts, hint->type, found, 0))
			found = hint->type;
	}
	return found;
}

// Rings lead by both of their pointers, so that a block with fewer pointers need not be read: the items of lists, of which
// there may be millions, begin with such a pair, too.
static bool has_pointers(const struct inference *inference, heap_object_id object)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	return snapshot->edge_first[object + 1] - snapshot->edge_first[object] >= 2 * MIN_RINGS;
}

// Claims a block that a hint takes for a head.
HEAP_MUST_CHECK
static struct heap_error *claim_block(struct inference *inference, heap_object_id object,
				      uint64_t *claimed)
{
	heap_type_id type = find_head(inference, object);
	uint64_t heads = type == HEAP_NO_TYPE ? 0 : count_heads(inference, object);

	if (heads == 0)
		return NULL;
	++*claimed;
	return claims_add(&inference->claims, RANK_PASSED_FLEXIBLE,
			  &(struct claim){ object, type, heads, HEAP_EVIDENCE_POINTER, false });
}

struct heap_error *ring_arrays_claim(struct inference *inference, uint64_t *claimed)
{
	const struct hints *hints = &inference->hints;
	heap_type_id other =
		HEAP_NO_TYPE; // no head, as most hints that follow each other are of one type

	for (uint32_t *at = &inference->ring_hints_seen; *at < hints->count; ++*at) {
		const struct hint *hint = &hints->list[*at];

		if (hint->type == other || hint->interior != 0 || hint->either)
			continue;
		progress_step();
		if (!is_head(inference, hint->type))
			other = hint->type;
		else if (inference->claims.rank[hint->object] >= RANK_EMBEDDED &&
			 has_pointers(inference, hint->object))
			HEAP_TRY(claim_block(inference, hint->object, claimed));
	}
	return NULL;
}
