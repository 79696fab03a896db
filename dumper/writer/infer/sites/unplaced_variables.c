// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/sites/unplaced_variables.h"

#include "dumper/writer/base/progress.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	MANY = 8, // words that speak for a struct, to outweigh one that it cannot have: a member may not be set yet
};

// Notes the structs that some blocks of the frames are known to be.
static void note_explained(const struct inference *inference, uint8_t *explained)
{
	const struct unplaced *unplaced = &inference->capture->unplaced;

	for (size_t i = 0; i < unplaced->list.count; i++) {
		const struct unplaced_target *target = &unplaced->list.items[i];

		if (inference_type(inference, target->object) == target->type)
			heap_bit_set(explained, target->type);
	}
}

// True if a block may be one value of a struct by its size, and its contents speak for it.
static bool may_be(const struct inference *inference, const struct content *content,
		   heap_type_id type)
{
	struct layout_claim claim = inference_fit(inference, type, content->object);
	struct content_verdict verdict;

	if (claim.fit == LAYOUT_NONE || claim.elements != 1)
		return false;
	verdict = content_judge(inference, content, type);
	return verdict.score >= (verdict.contradicts ? MANY : 1);
}

// Notes the blocks to which others lead that have hints, but no name yet: these will tell more. In the end nothing waits.
static void note_awaited(const struct inference *inference, uint8_t *awaited)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const heap_object_id count = inference->capture->objects.count;

	if (inference->is_last)
		return;
	for (heap_object_id i = hints_next(&inference->hints, 0, count);
	     i < count && !progress_is_late(); i = hints_next(&inference->hints, i + 1, count)) {
		progress_step();
		if (!inference_is_open(inference, i))
			continue;
		for (uint32_t j = snapshot->edge_first[i]; j < snapshot->edge_first[i + 1]; j++)
			heap_bit_set(awaited, snapshot->edge_target[j]);
	}
}

// The only type of a block among its targets in the list from one on. @param end  gets the next block's first
static heap_type_id choose(const struct inference *inference, const uint8_t *explained,
			   const uint8_t *awaited, uint64_t *words, size_t first, size_t *end)
{
	const struct unplaced *unplaced = &inference->capture->unplaced;
	heap_object_id object = unplaced->list.items[first].object;
	bool is_open = inference_is_open(inference, object) &&
		       !hints_have(&inference->hints, object) && !heap_bit_get(awaited, object);
	bool is_clear = true;
	heap_type_id found = HEAP_NO_TYPE;
	struct content content;

	if (is_open)
		content_read(inference, object, words, &content);
	for (*end = first; *end < unplaced->list.count; ++*end) {
		heap_type_id type = unplaced->list.items[*end].type;

		if (unplaced->list.items[*end].object != object)
			break;
		if (!is_open || type == found || heap_bit_get(explained, type) ||
		    !may_be(inference, &content, type))
			continue;
		is_clear &= found == HEAP_NO_TYPE;
		found = type;
	}
	return is_clear ? found : HEAP_NO_TYPE;
}

struct heap_error *unplaced_variables_claim(struct inference *inference, uint64_t *claimed)
{
	const struct unplaced *unplaced = &inference->capture->unplaced;
	CLEANUP_FREE uint8_t *explained = NULL, *awaited = NULL;
	CLEANUP_FREE uint64_t *words = NULL;

	if (unplaced->list.count == 0)
		return NULL;
	explained = calloc(inference->layouts.types->count / 8 + 1, sizeof(*explained));
	awaited = calloc(inference->capture->objects.count / 8 + 1, sizeof(*awaited));
	words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	if (!explained || !awaited || !words)
		return heap_error_out_of_memory();
	note_explained(inference, explained);
	note_awaited(inference, awaited);
	for (size_t i = 0, end; i < unplaced->list.count && !progress_is_late(); i = end) {
		heap_type_id type = choose(inference, explained, awaited, words, i, &end);

		progress_step();
		if (type == HEAP_NO_TYPE)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_PASSED_EXACT,
				    &(struct claim){ unplaced->list.items[i].object, type, 1,
						     HEAP_EVIDENCE_POINTER, false }));
	}
	return NULL;
}
