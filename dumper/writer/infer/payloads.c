// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/payloads.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/deep_content.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LARGEST_LINK = 64,
	LARGEST_PAYLOAD = 4096,
	ALIGNMENT = 8, // sizes are rounded up to it
};

struct search {
	struct inference *inference;
	struct deep_content deep;
	struct HEAP_ARRAY(uint64_t) places; // of the links in a block
	struct deep_values payloads;        // behind them
};

static void release(struct search *search)
{
	deep_content_deinit(&search->deep);
	heap_array_deinit(&search->places);
	heap_array_deinit(&search->payloads);
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
	const struct heap_slots *slots =
		layouts_size(&inference->layouts, type) <= LARGEST_LINK
			? heap_slot_table_get(&inference->layouts.slots, type)
			: NULL;

	for (uint32_t i = 0; slots && i < slots->count; i++) {
		if (slots->list[i].pointee == type)
			return true;
	}
	return false;
}

static int compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b > 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

// The only type of link that hints on a block tell of; HEAP_NO_TYPE: there is none, or several.
HEAP_MUST_CHECK
static struct heap_error *gather_links(struct search *search, heap_object_id object,
				       heap_type_id *result)
{
	struct inference *inference = search->inference;

	*result = HEAP_NO_TYPE;
	search->places.count = 0;
	for (uint32_t at = inference->hints.head[object]; at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];

		progress_step();
		if (hint->either || hint->type == HEAP_NO_TYPE ||
		    (hint->type != *result && !is_link(inference, hint->type)))
			continue;
		if (*result != HEAP_NO_TYPE && *result != hint->type) {
			*result = HEAP_NO_TYPE;
			return NULL;
		}
		*result = hint->type;
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

	links->count = 0;
	HEAP_TRY(gather_links(search, object, &links->type));
	if (links->type == HEAP_NO_TYPE || search->places.count < 2)
		return NULL;
	places = search->places.items;
	qsort(search->places.items, search->places.count, sizeof(*places), compare_u64);
	for (size_t i = 1; i < search->places.count; i++)
		stride = common_divisor(places[i] - places[i - 1], stride);
	links->object = object;
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

HEAP_MUST_CHECK
static struct heap_error *search_block(struct search *search, heap_object_id object,
				       uint64_t *found)
{
	struct links links;
	heap_type_id type;

	HEAP_TRY(find_links(search, object, &links));
	if (links.count < 2)
		return NULL;
	if (!search->deep.inference)
		HEAP_TRY(deep_content_init(&search->deep, search->inference));
	HEAP_TRY(list_payloads(search, &links));
	type = deep_content_choose(&search->deep, &search->payloads);
	return type == HEAP_NO_TYPE ? NULL : name_payloads(search, type, found);
}

struct heap_error *payloads_find(struct inference *inference, uint64_t *found)
{
	CLEANUP(release) struct search search = { .inference = inference };

	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		progress_step();
		if (pools_have(&inference->pools, i) && inference->claims.rank[i] == RANK_NONE &&
		    inference_prefix(inference, i) == 0)
			HEAP_TRY(search_block(&search, i, found));
	}
	return NULL;
}
