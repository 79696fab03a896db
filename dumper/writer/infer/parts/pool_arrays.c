// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/parts/pool_arrays.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

enum {
	MAX_ELEMENTS = 1 << 16,
};

bool pool_arrays_begin(const struct inference *inference, const struct hint *hint)
{
	return layouts_is_pointer(&inference->layouts, hint->type) && !hint->either &&
	       hint->interior % 8 == 0 &&
	       hint->interior < objects_size(&inference->capture->objects, hint->object) &&
	       pool_hints_is_free(inference, hint->object, hint->interior, hint->type);
}

bool pool_arrays_is(const struct inference *inference, const struct heap_part *part)
{
	return layouts_is_pointer(&inference->layouts, part->type);
}

// True if a place of a pool is a value of a type by its enum tag, or may be one by its contents.
static bool may_be_at(const struct inference *inference, heap_object_id object, uint64_t offset,
		      heap_type_id type)
{
	const struct layouts *layouts = &inference->layouts;
	uint64_t size = layouts_size(layouts, type);
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;

	if (offset % 8 != 0 || size == 0 ||
	    size > objects_size(&inference->capture->objects, object) - offset)
		return false;
	if (enum_tags_have(&inference->enum_tags, type))
		return enum_tags_read(inference, type,
				      objects_address(&inference->capture->objects, object) +
					      offset) != HEAP_NO_TYPE;
	content_read_part(inference, object, offset, size, words, &content);
	return content_score(inference, &content, type, 1) > 0 &&
	       !content_contradicts(inference, &content, type);
}

// True if a pointer may be an element of an array of pointers to a type.
static bool may_be_element(const struct inference *inference, uint32_t edge, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct layouts *layouts = &inference->layouts;
	heap_object_id target = snapshot->edge_target[edge];
	uint64_t interior = snapshot->edge_interior[edge];
	heap_type_id part = pools_type_at(&inference->pools, target, interior);

	if (part != HEAP_NO_TYPE)
		return layouts_has(layouts, part, pointee, 0) ||
		       enum_tags_is_beginning(inference, pointee, part);
	if (claims_are_good(&inference->claims, target) &&
	    inference_type(inference, target) != HEAP_NO_TYPE &&
	    inference_has(inference, target, pointee, interior))
		return true;
	return pools_have(&inference->pools, target) && layouts_is_compound(layouts, pointee) &&
	       may_be_at(inference, target, interior, pointee);
}

// True if a pointer leads to a block without a name that may be one value of a type.
static bool may_lead_to(const struct inference *inference, uint32_t edge, heap_type_id pointee)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_object_id target = snapshot->edge_target[edge];
	uint64_t words[CONTENT_WORDS + 1];
	struct layout_claim claim;
	struct content content;

	if (snapshot->edge_interior[edge] != 0 || !inference_is_open(inference, target))
		return false;
	claim = inference_fit(inference, pointee, target);
	content_read(inference, target, words, &content);
	return claim.fit == LAYOUT_EXACT && claim.elements == 1 &&
	       hints_ask(inference, target, claim.type) != VERDICT_AGAINST &&
	       !content_contradicts(inference, &content, claim.type);
}

// True if all words from one of an array on, up to where another part begins, may be its elements, though nothing is known
// of what they lead to.
static bool is_up_to(const struct inference *inference, const struct heap_part *array,
		     uint64_t elements, uint64_t end)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_type_id pointee = layouts_strip(&inference->layouts,
					     inference->layouts.types->types[array->type].target);
	uint64_t offset = array->offset + elements * 8;
	uint32_t edge = heap_edge_from(snapshot, array->object, offset);

	if (end % 8 != 0 || end >= objects_size(&inference->capture->objects, array->object) ||
	    !layouts_is_compound(&inference->layouts, pointee))
		return false;
	for (; offset < end && elements < MAX_ELEMENTS; offset += 8, elements++, edge++) {
		progress_step();
		if (edge == snapshot->edge_first[array->object + 1] ||
		    snapshot->edge_slot[edge] * UINT64_C(8) != offset ||
		    !(may_be_element(inference, edge, pointee) ||
		      may_lead_to(inference, edge, pointee)))
			return false;
	}
	return offset == end;
}

uint64_t pool_arrays_measure(const struct inference *inference, const struct heap_part *array,
			     uint64_t end)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	heap_type_id pointee = layouts_strip(&inference->layouts,
					     inference->layouts.types->types[array->type].target);
	uint32_t edge = heap_edge_from(snapshot, array->object, array->offset + 8);
	uint64_t elements = 1;

	while (elements < MAX_ELEMENTS && array->offset + (elements + 1) * 8 <= end &&
	       edge < snapshot->edge_first[array->object + 1] &&
	       snapshot->edge_slot[edge] * UINT64_C(8) == array->offset + elements * 8 &&
	       pools_type_at(&inference->pools, array->object, array->offset + elements * 8) ==
		       HEAP_NO_TYPE &&
	       may_be_element(inference, edge, pointee)) {
		progress_step();
		elements++;
		edge++;
	}
	return is_up_to(inference, array, elements, end) ? (end - array->offset) / 8 : elements;
}
