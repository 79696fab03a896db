// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/pool_hints.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

void pool_summaries_clear(struct pool_summaries *summaries)
{
	heap_array_deinit(&summaries->list);
	heap_hash_table_deinit(&summaries->by_object);
	*summaries = (struct pool_summaries){ 0 };
}

// The unions of C's locks contain bytes, too, beside the struct that a pointer to a lock points to.
bool pool_hints_is_free(const struct inference *inference, heap_object_id object, uint64_t offset,
			heap_type_id type)
{
	return inference_type(inference, object) == HEAP_NO_TYPE ||
	       (inference_is_raw(inference, object, offset) &&
		!inference_has(inference, object, type, offset));
}

bool pool_hints_is_part(const struct inference *inference, const struct hint *hint)
{
	return layouts_is_compound(&inference->layouts, hint->type) && !hint->either &&
	       hint->interior < objects_size(&inference->capture->objects, hint->object) &&
	       pool_hints_is_free(inference, hint->object, hint->interior & ~UINT32_C(7),
				  hint->type);
}

static void add_part(const struct inference *inference, const struct hint *hint,
		     struct pool_summary *summary)
{
	uint64_t stride = layouts_size(&inference->layouts, hint->type);
	uint32_t place = hint->interior & ~UINT32_C(7);

	if (summary->element == HEAP_NO_TYPE)
		summary->element = hint->type;
	summary->has_several |= summary->place != UINT32_MAX && summary->place != place;
	summary->place = place;
	summary->is_behind |= place > 0;
	summary->has_first |= hint->interior == 0;
	summary->is_mixed |=
		stride == 0 || summary->element != hint->type || hint->interior % stride != 0;
}

static bool is_of_itself(const struct inference *inference, const struct hint *hint)
{
	heap_type_id type = inference_type(inference, hint->object);

	return hint->type == type && !hint->either &&
	       layouts_is_flexible(&inference->layouts, type) &&
	       hint->interior >= inference->layouts.facts[type].start;
}

// Reads the hints that are newer than the summary.
static void update(const struct inference *inference, struct pool_summary *summary)
{
	const struct hints *hints = &inference->hints;
	uint32_t first = hints_first(hints, summary->object);

	for (uint32_t at = first; at != summary->newest && at != NO_HINT;
	     at = hints->list[at].next) {
		progress_step();
		if (pool_hints_is_part(inference, &hints->list[at]))
			add_part(inference, &hints->list[at], summary);
		summary->of_itself += is_of_itself(inference, &hints->list[at]);
	}
	summary->newest = first;
}

struct heap_error *pool_hints_summarize(const struct inference *inference,
					struct pool_summaries *summaries, heap_object_id object,
					struct pool_summary *result)
{
	const struct pool_summary *list = summaries->list.items;
	uint64_t hash = heap_hash_u64(object);
	uint32_t found = heap_hash_find(&summaries->by_object, hash, i, list[i].object == object);

	*result = (struct pool_summary){
		.object = object, .newest = NO_HINT, .place = UINT32_MAX, .element = HEAP_NO_TYPE
	};
	if (found != HEAP_HASH_NONE)
		*result = list[found];
	update(inference, result);
	if (found != HEAP_HASH_NONE) {
		summaries->list.items[found] = *result;
		return NULL;
	}
	if (!hints_are_many(inference, object))
		return NULL;
	HEAP_TRY(heap_array_append(&summaries->list, *result));
	return heap_hash_add(&summaries->by_object, hash, (uint32_t)summaries->list.count - 1);
}

bool pool_summary_is_array(const struct inference *inference, const struct pool_summary *summary)
{
	uint64_t size = inference_size(inference, summary->object);
	uint64_t stride = layouts_size(&inference->layouts, summary->element);

	return summary->has_first && !summary->is_mixed && size / stride > 1 &&
	       size % stride <= inference_slack(inference, summary->object);
}
