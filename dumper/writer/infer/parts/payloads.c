// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/payloads.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/deep_content.h"
#include "dumper/writer/infer/inference.h"
#include "dumper/writer/infer/majority.h"
#include "dumper/writer/infer/void_pointers/self_lengths.h"
#include "lib/base/cleanup.h"
#include "lib/base/divisor.h"
#include "lib/base/search.h"

#include <stdlib.h>

enum {
	LARGEST_LINK = 64,
	LARGEST_PAYLOAD = 4096,
	ALIGNMENT = 8,    // sizes are rounded up to it
	MIN_MEASURED = 8, // payloads of a block that have their own lengths
	MEASURED = 90,    // per cent of these that must lead to the next link
};

struct search {
	struct inference *inference;
	struct deep_content deep;
	struct HEAP_ARRAY(uint64_t) places; // of the links in a block
	struct deep_values payloads;        // behind them
	struct self_lengths lengths;
	bool has_lengths; // they have been looked for
};

static void release(struct search *search)
{
	deep_content_deinit(&search->deep);
	heap_array_deinit(&search->places);
	heap_array_deinit(&search->payloads);
	heap_array_deinit(&search->lengths);
}

// Links at a steady stride in a block.
struct links {
	heap_object_id object;
	heap_type_id type;
	uint64_t start, stride;
	uint64_t payload; // where it begins behind the start of a link
	uint64_t count;
};

// True for a small struct that points to its own kind.
static bool is_link(const struct inference *inference, heap_type_id type)
{
	return layouts_size(&inference->layouts, type) <= LARGEST_LINK &&
	       layouts_own_pointer(&inference->layouts, type);
}

// The type of most links that hints on a block tell of, or HEAP_NO_TYPE.
static heap_type_id find_link_type(const struct inference *inference, heap_object_id object)
{
	struct majority found = { 0 };

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (!hint->either && (hint->type == found.value || is_link(inference, hint->type)))
			majority_add(&found, hint->type);
	}
	return (heap_type_id)found.value;
}

HEAP_MUST_CHECK
static struct heap_error *gather_links(struct search *search, heap_object_id object,
				       heap_type_id *type)
{
	struct inference *inference = search->inference;

	*type = find_link_type(inference, object);
	search->places.count = 0;
	for (uint32_t at = hints_first(&inference->hints, object);
	     *type != HEAP_NO_TYPE && at != NO_HINT; at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->type == *type && !hint->either)
			HEAP_TRY(heap_array_append(&search->places, hint->interior));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_links(struct search *search, heap_object_id object,
				     struct links *links)
{
	uint64_t size = inference_size(search->inference, object), stride = 0;
	const uint64_t *places;

	*links = (struct links){ .object = object };
	HEAP_TRY(gather_links(search, object, &links->type));
	if (links->type == HEAP_NO_TYPE || search->places.count < 2)
		return NULL;
	places = search->places.items;
	qsort(search->places.items, search->places.count, sizeof(*places), heap_order_u64);
	for (size_t i = 1; i < search->places.count; i++)
		stride = heap_greatest_divisor(places[i] - places[i - 1], stride);
	links->payload = layouts_size(&search->inference->layouts, links->type);
	if (stride % ALIGNMENT != 0 || stride <= links->payload ||
	    stride - links->payload > LARGEST_PAYLOAD || places[0] % ALIGNMENT != 0)
		return NULL;
	links->stride = stride;
	links->start = places[0] % stride;
	links->count = (size - links->start) / stride;
	return NULL;
}

// Lists the payloads that are in use.
HEAP_MUST_CHECK
static struct heap_error *list_payloads(struct search *search, const struct links *links)
{
	search->payloads.count = 0;
	for (uint64_t i = 0; i < links->count; i++) {
		const struct deep_value payload = {
			links->object,
			links->start + i * links->stride + links->payload,
			links->stride - links->payload,
			ALIGNMENT - 1,
		};

		progress_step();
		if (!deep_content_is_zero(&search->deep, &payload))
			HEAP_TRY(heap_array_append(&search->payloads, payload));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *name_payloads(struct search *search, heap_type_id type, uint64_t *found)
{
	uint32_t known = search->inference->hints.count;

	for (size_t i = 0; i < search->payloads.count; i++) {
		const struct deep_value *payload = &search->payloads.items[i];

		HEAP_TRY(hints_add(
			search->inference, type,
			&(struct pointer){ .target = payload->object, .interior = payload->start },
			false));
	}
	*found += search->inference->hints.count - known;
	return NULL;
}

// True if the lengths of nearly all payloads lead to the next link.
static bool lead_on(const struct search *search, const struct links *links,
		    const struct self_length *length)
{
	uint64_t start = inference_address(search->inference, links->object);
	const uint64_t *places = search->places.items;
	uint64_t leading = 0, all = search->places.count - 1;

	for (size_t i = 0; i < all; i++) {
		uint64_t payload = places[i] + links->payload;
		uint64_t own = self_lengths_read(search->inference, length, start + payload);
		uint64_t behind = places[i + 1] - payload;

		progress_step();
		leading += own <= behind && behind - own < ALIGNMENT;
	}
	return all >= MIN_MEASURED && leading * 100 >= all * MEASURED;
}

// Finds the payloads of links at no stride that have their own lengths.
HEAP_MUST_CHECK
static struct heap_error *measure_payloads(struct search *search, const struct links *links,
					   uint64_t *found)
{
	const struct self_length *length = NULL;
	uint32_t matching = 0;

	if (links->type == HEAP_NO_TYPE || search->places.count <= MIN_MEASURED)
		return NULL;
	if (!search->has_lengths)
		HEAP_TRY(self_lengths_find(search->inference, &search->lengths));
	search->has_lengths = true;
	for (size_t i = 0; i < search->lengths.count; i++) {
		if (!lead_on(search, links, &search->lengths.items[i]))
			continue;
		length = &search->lengths.items[i];
		matching++;
	}
	if (matching != 1)
		return NULL;
	search->payloads.count = 0;
	for (size_t i = 0; i < search->places.count; i++)
		HEAP_TRY(heap_array_append(&search->payloads,
					   ((struct deep_value){ .object = links->object,
								 .start = search->places.items[i] +
									  links->payload })));
	return name_payloads(search, length->type, found);
}

HEAP_MUST_CHECK
static struct heap_error *search_block(struct search *search, heap_object_id object,
				       uint64_t *found)
{
	struct links links;
	heap_type_id type = HEAP_NO_TYPE;

	HEAP_TRY(find_links(search, object, &links));
	if (links.count >= 2) {
		if (!search->deep.inference)
			HEAP_TRY(deep_content_init(&search->deep, search->inference));
		HEAP_TRY(list_payloads(search, &links));
		type = deep_content_choose(&search->deep, &search->payloads, true);
	}
	return type == HEAP_NO_TYPE ? measure_payloads(search, &links, found)
				    : name_payloads(search, type, found);
}

struct heap_error *payloads_find(struct inference *inference, uint64_t *found)
{
	CLEANUP(release) struct search search = { .inference = inference };

	const heap_object_id count = inference->capture->objects.count;
	const struct claims *claims = &inference->claims;

	for (heap_object_id i = claims_next(claims, RANK_NONE, 0, count);
	     i < count && !progress_is_late(); i = claims_next(claims, RANK_NONE, i + 1, count)) {
		progress_step();
		if (pools_have(&inference->pools, i) && inference_prefix(inference, i) == 0)
			HEAP_TRY(search_block(&search, i, found));
	}
	return NULL;
}

// Gives a part with its own length as many elements as are in it.
static void measure(const struct inference *inference, const struct self_lengths *lengths,
		    struct heap_part *part)
{
	const struct layout_facts *facts = &inference->layouts.facts[part->type];
	const struct objects *objects = &inference->capture->objects;
	uint64_t stride = layouts_size(&inference->layouts, facts->element);

	for (size_t i = 0; facts->fits_any && i < lengths->count; i++) {
		uint64_t own;

		if (lengths->items[i].type != part->type)
			continue;
		own = self_lengths_read(inference, &lengths->items[i],
					objects_address(objects, part->object) + part->offset);
		if (own > facts->start && own <= objects_size(objects, part->object) - part->offset)
			part->elements = 1 + (own - facts->start) / stride;
		return;
	}
}

struct heap_error *payloads_measure(struct inference *inference)
{
	struct heap_snapshot *snapshot = &inference->capture->snapshot;
	CLEANUP_ARRAY struct self_lengths lengths = { 0 };

	if (snapshot->part_count == 0)
		return NULL;
	HEAP_TRY(self_lengths_find(inference, &lengths));
	for (uint32_t i = 0; i < snapshot->part_count; i++) {
		progress_step();
		measure(inference, &lengths, &snapshot->parts[i]);
	}
	return NULL;
}
