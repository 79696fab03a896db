// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/explained_pointers.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"

struct explained_pointers explained_pointers_find(const struct inference *inference,
						  heap_object_id object, heap_type_id type)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const struct heap_slots *slots = heap_slot_table_get(&inference->layouts.slots, type);
	uint32_t first = snapshot->edge_first[object], end = snapshot->edge_first[object + 1];
	uint64_t stride = layouts_size(&inference->layouts, type);
	uint64_t prefix = inference_prefix(inference, object);
	struct explained_pointers result = { 0 };

	for (uint32_t i = first; i < end && i < first + EXPLAINED_ASKED; i++) {
		uint64_t offset = snapshot->edge_slot[i] * UINT64_C(8);
		uint32_t slot;

		progress_step();
		result.asked++;
		result.count += slots && stride > 0 && offset >= prefix &&
				heap_slots_at(slots, (offset - prefix) % stride, &slot) > slot;
	}
	return result;
}
