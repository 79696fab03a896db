// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/derived_structs.h"

#include "dumper/writer/infer/inference.h"

// @return the struct that begins with a base, or HEAP_NO_TYPE
static heap_type_id find_derived(const struct inference *inference, heap_object_id object,
				 heap_type_id base)
{
	const struct layouts *layouts = &inference->layouts;
	const struct site_types *types = inference_site_types(inference, object);
	uint64_t size = inference_size(inference, object);

	for (uint32_t i = 0; i < types->count; i++) {
		heap_type_id type = types->list[i].type;

		if ((types->list[i].is_result || types->list[i].is_passed) && type != base &&
		    layouts_is_compound(layouts, type) && layouts_size(layouts, type) <= size &&
		    layouts_has(layouts, type, base, 0))
			return type;
	}
	return HEAP_NO_TYPE;
}

struct layout_claim derived_structs_extend(const struct inference *inference, heap_object_id object,
					   const struct layout_claim *claim, enum layout_fit fit)
{
	heap_type_id type = find_derived(inference, object, claim->type);

	return type == HEAP_NO_TYPE ? *claim : (struct layout_claim){ fit, type, 1 };
}
