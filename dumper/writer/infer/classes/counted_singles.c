// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/classes/counted_singles.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/classes/counted.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>

enum {
	LEAST_ARRAYS = 3, // of several elements
};

// A block that has one element behind a number.
struct single {
	heap_object_id object;
	heap_type_id element;
	uint64_t number;
};

struct singles HEAP_ARRAY(struct single);

static heap_type_id array_of(const struct inference *inference, heap_type_id element)
{
	return element < inference->counted_types ? inference->counted[element] : HEAP_NO_TYPE;
}

// The element behind its number that a pointer leads to, if there is room for one alone.
static heap_type_id find_element(const struct inference *inference, heap_object_id object)
{
	uint64_t size = inference_size(inference, object);

	for (uint32_t at = hints_first(&inference->hints, object); at != NO_HINT;
	     at = inference->hints.list[at].next) {
		const struct hint *hint = &inference->hints.list[at];
		uint64_t bytes =
			COUNTED_START + heap_types_size(inference->layouts.types, hint->type);

		progress_step();
		if (hint->interior == COUNTED_START && !hint->either &&
		    array_of(inference, hint->type) != HEAP_NO_TYPE && bytes <= size &&
		    size - bytes <= inference_slack(inference, object))
			return hint->type;
	}
	return HEAP_NO_TYPE;
}

HEAP_MUST_CHECK
static struct heap_error *find_singles(const struct inference *inference, const uint32_t *counts,
				       struct singles *singles)
{
	for (heap_object_id i = 0; i < inference->capture->objects.count && !progress_is_late();
	     i++) {
		struct single single = { .object = i };

		progress_step();
		if (!hints_have(&inference->hints, i) || claims_are_good(&inference->claims, i))
			continue;
		single.element = find_element(inference, i);
		if (single.element == HEAP_NO_TYPE ||
		    counts[array_of(inference, single.element)] < LEAST_ARRAYS)
			continue;
		pages_read(inference->pages, inference_address(inference, i), &single.number,
			   sizeof(single.number));
		HEAP_TRY(heap_array_append(singles, single));
	}
	return NULL;
}

struct heap_error *counted_singles_claim(struct inference *inference, uint64_t *claimed)
{
	CLEANUP_ARRAY struct singles singles = { 0 };
	CLEANUP_FREE uint8_t *is_refuted = NULL;
	const uint32_t *counts;

	if (inference_has_sites(inference) || !inference->counted)
		return NULL;
	is_refuted = calloc((size_t)inference->counted_types + 1, sizeof(*is_refuted));
	if (!is_refuted)
		return heap_error_out_of_memory();
	HEAP_TRY(inference_count_types(inference, &counts));
	HEAP_TRY(find_singles(inference, counts, &singles));
	for (size_t i = 0; i < singles.count; i++)
		is_refuted[singles.items[i].element] |= singles.items[i].number != 1;
	for (size_t i = 0; i < singles.count; i++) {
		const struct single *single = &singles.items[i];

		if (is_refuted[single->element])
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_FLEXIBLE,
				    &(struct claim){ single->object,
						     array_of(inference, single->element), 2,
						     HEAP_EVIDENCE_POINTER, false }));
	}
	return NULL;
}
