// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/void_pointers/void_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	MIN_SIZES = 3,    // of arrays
	MIN_POINTERS = 8, // in the array that has most of them
	WORD = 8,
};

heap_type_id void_arrays_element(const struct inference *inference)
{
	const struct heap_types *types = inference->layouts.types;

	for (heap_type_id id = 1; id < types->count; id++) {
		const struct heap_type *type = &types->types[id];

		if (type->kind == HEAP_TYPE_POINTER && type->size == WORD &&
		    layouts_strip(&inference->layouts, type->target) == HEAP_NO_TYPE &&
		    layouts_strip(&inference->layouts, id) == id)
			return id;
	}
	return HEAP_NO_TYPE;
}

// Counts the pointers of an object that has nothing but these and zeros; 0: it has something else.
static uint32_t count_pointers(const struct inference *inference, heap_object_id object,
			       uint64_t *words)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint64_t size = inference_size(inference, object) - inference_slack(inference, object);
	uint32_t edge = heap_edge_from(snapshot, object, inference_prefix(inference, object));
	uint32_t end = snapshot->edge_first[object + 1], pointers = 0;
	struct content content;

	content_read(inference, object, words, &content);
	progress_step();
	for (size_t i = 0; i < content.count && (i + 1) * WORD <= size; i++) {
		uint64_t offset = inference_prefix(inference, object) + i * WORD;

		while (edge < end && snapshot->edge_slot[edge] * UINT64_C(8) < offset)
			edge++;
		if (words[i] == 0)
			continue;
		if ((edge == end || snapshot->edge_slot[edge] * UINT64_C(8) != offset) &&
		    !modules_find(&inference->capture->modules, words[i]))
			return 0;
		pointers++;
	}
	return pointers;
}

// Likewise of one that has no name, or is known to be an array of void pointers.
static uint32_t count_elements(const struct inference *inference, heap_type_id element,
			       heap_object_id object, uint64_t *words)
{
	return claims_lack(&inference->claims, object) ||
			       inference_type(inference, object) == element
		       ? count_pointers(inference, object, words)
		       : 0;
}

bool void_arrays_hold(const struct inference *inference, heap_object_id object, uint64_t *words)
{
	return claims_lack(&inference->claims, object) &&
	       count_pointers(inference, object, words) > 0;
}

void void_arrays_add(struct void_arrays *arrays, const struct inference *inference,
		     heap_object_id object)
{
	uint64_t size = inference_size(inference, object);
	uint32_t at = 0, last;

	while (at < arrays->count && arrays->list[at].size > size)
		at++;
	if (at == VOID_ARRAYS_SIZES || (at < arrays->count && arrays->list[at].size == size))
		return;
	last = arrays->count < VOID_ARRAYS_SIZES ? arrays->count++ : VOID_ARRAYS_SIZES - 1;
	for (; last > at; last--)
		arrays->list[last] = arrays->list[last - 1];
	arrays->list[at] = (struct void_array){ object, size };
}

bool void_arrays_find(const struct void_arrays *arrays, const struct inference *inference,
		      heap_type_id element, uint64_t *words)
{
	uint32_t held = 0, most = 0;

	for (uint32_t i = 0; arrays->count >= MIN_SIZES && i < arrays->count; i++) {
		uint32_t found = count_elements(inference, element, arrays->list[i].object, words);

		held += found > 0;
		most = found > most ? found : most;
	}
	return held >= MIN_SIZES && held * 2 >= arrays->count && most >= MIN_POINTERS;
}
