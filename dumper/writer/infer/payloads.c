// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/payloads.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/search.h"

#include <stdlib.h>
#include <string.h>

enum {
	LARGEST_LINK = 64,
	LARGEST_PAYLOAD = 4096,
	ALIGNMENT = 8,    // sizes are rounded up to it
	SAMPLES = 32,     // payloads of a block
	MOST_AHEAD = 16,  // points for what one pointer leads to
	AGREES = 4,       // points, if that has the pointee's name; else as many against
	MIN_SCORE = 16,   // of all samples
	MARGIN = 2,       // times that of any other type
	CONTRADICTED = 8, // one of so many samples may be
};

// A struct by its size.
struct sized {
	uint64_t size;
	heap_type_id type;
};

struct search {
	struct inference *inference;
	struct HEAP_ARRAY(struct sized) types; // by size, type
	struct HEAP_ARRAY(uint64_t) places;    // of the links in a block
	uint64_t *words, *ahead;               // [CONTENT_WORDS + 1]
};

static void release(struct search *search)
{
	heap_array_deinit(&search->types);
	heap_array_deinit(&search->places);
	free(search->words);
	free(search->ahead);
}

static int compare_sized(const void *left, const void *right)
{
	const struct sized *a = left, *b = right;

	if (a->size != b->size)
		return a->size < b->size ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

HEAP_MUST_CHECK
static struct heap_error *list_types(struct search *search)
{
	const struct layouts *layouts = &search->inference->layouts;

	for (heap_type_id id = 1; id < layouts->types->count; id++) {
		const struct layout_facts *facts = &layouts->facts[id];

		if (facts->is_candidate && facts->stripped == id && !facts->is_flexible &&
		    layouts_is_compound(layouts, id) && facts->size <= LARGEST_PAYLOAD)
			HEAP_TRY(heap_array_append(&search->types,
						   ((struct sized){ facts->size, id })));
	}
	if (search->types.count > 0)
		qsort(search->types.items, search->types.count, sizeof(*search->types.items),
		      compare_sized);
	return NULL;
}

// --- links ------------------------------------------------------------------------------------

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

// --- scores -----------------------------------------------------------------------------------

static bool is_zero(const struct content *content)
{
	for (size_t i = 0; i < content->count; i++) {
		if (content->words[i] != 0)
			return false;
	}
	return true;
}

static int limit(int score, int most)
{
	return score > most ? most : score < -most ? -most : score;
}

// Scores what a pointer of a payload leads to.
static int pointee_score(const struct search *search, const struct content *content,
			 const struct heap_slot *slot)
{
	const struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t edge = heap_edge_at(snapshot, content->object, content->start + slot->offset);
	struct content ahead;
	struct layout_claim claim;
	heap_object_id target;

	if (edge == UINT32_MAX || snapshot->edge_interior[edge] != 0 ||
	    !layouts_is_compound(&inference->layouts, slot->pointee))
		return 0;
	target = snapshot->edge_target[edge];
	if (inference->claims.name_rank[target] != RANK_NONE)
		return inference_has(inference, target, slot->pointee, 0) ? AGREES : -AGREES;
	claim = inference_fit(inference, slot->pointee, target);
	if (claim.fit == LAYOUT_NONE)
		return 0;
	content_read(inference, target, search->ahead, &ahead);
	return limit(content_score(inference, &ahead, claim.type, claim.elements), MOST_AHEAD);
}

static int payload_score(const struct search *search, const struct content *content,
			 heap_type_id type)
{
	const struct heap_slots *slots =
		heap_slot_table_get(&search->inference->layouts.slots, type);
	int score = content_score(search->inference, content, type, 1);

	for (uint32_t i = 0; slots && score >= 0 && i < slots->count; i++)
		score += pointee_score(search, content, &slots->list[i]);
	return score;
}

// Scores all payloads of a block, or a sample. @return below 0 if too many contradict
static int64_t score_type(const struct search *search, const struct links *links, heap_type_id type)
{
	uint64_t step = links->count / SAMPLES + 1, size = links->stride - links->payload;
	uint32_t samples = 0, against = 0;
	int64_t sum = 0;

	for (uint64_t i = 0; i < links->count; i += step) {
		struct content content;
		int score;

		progress_step();
		content_read_part(search->inference, links->object,
				  links->start + i * links->stride + links->payload, size,
				  search->words, &content);
		if (is_zero(&content))
			continue;
		score = payload_score(search, &content, type);
		samples++;
		against += score < 0;
		sum += score;
	}
	return against * (uint64_t)CONTRADICTED > samples ? -1 : sum;
}

// The type of payloads, if one agrees with their contents far better than all others.
static heap_type_id choose(const struct search *search, const struct links *links)
{
	uint64_t size = links->stride - links->payload;
	const struct sized *types = search->types.items;
	size_t at =
		heap_partition_point(i, 0, search->types.count, types[i].size + ALIGNMENT <= size);
	int64_t best = 0, second = 0;
	heap_type_id found = HEAP_NO_TYPE;

	for (; at < search->types.count && types[at].size <= size; at++) {
		int64_t score = score_type(search, links, types[at].type);

		second = score > best ? best : score > second ? score : second;
		if (score <= best)
			continue;
		best = score;
		found = types[at].type;
	}
	return best >= MIN_SCORE && best >= second * MARGIN ? found : HEAP_NO_TYPE;
}

// --- naming -----------------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *name_payloads(struct search *search, const struct links *links,
					heap_type_id type, uint64_t *found)
{
	uint32_t known = search->inference->hints.count;

	for (uint64_t i = 0; i < links->count; i++) {
		uint64_t start = links->start + i * links->stride + links->payload;
		struct content content;

		content_read_part(search->inference, links->object, start,
				  links->stride - links->payload, search->words, &content);
		if (!is_zero(&content))
			HEAP_TRY(hints_add(
				search->inference, type,
				&(struct pointer){ .target = links->object, .interior = start },
				false));
	}
	*found += search->inference->hints.count - known;
	return NULL;
}

struct heap_error *payloads_find(struct inference *inference, uint64_t *found)
{
	CLEANUP(release)
	struct search search = {
		.inference = inference,
		.words = malloc((CONTENT_WORDS + 1) * sizeof(*search.words)),
		.ahead = malloc((CONTENT_WORDS + 1) * sizeof(*search.ahead)),
	};

	if (!search.words || !search.ahead)
		return heap_error_out_of_memory();
	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		struct links links;
		heap_type_id type;

		progress_step();
		if (!pools_have(&inference->pools, i) || inference->claims.rank[i] != RANK_NONE ||
		    inference_prefix(inference, i) > 0)
			continue;
		HEAP_TRY(find_links(&search, i, &links));
		if (links.count < 2)
			continue;
		if (search.types.count == 0)
			HEAP_TRY(list_types(&search));
		type = choose(&search, &links);
		if (type != HEAP_NO_TYPE)
			HEAP_TRY(name_payloads(&search, &links, type, found));
	}
	return NULL;
}
