// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/uniform_pools.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/array.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

enum {
	WORD = 8,
	MIN_PARTS = 4,    // known ones
	MIN_ELEMENTS = 8, // that a block has room for
	LEAST_SIZE = 24,  // bytes of a part: allocators' units are 16
	STRAY = 16,       // of so many pointers in a block, one may stand where the type has none
};

// The parts of a pool.
struct uniform {
	heap_object_id object;
	heap_type_id type;
	uint32_t parts;
	bool is_mixed;
};

struct uniforms {
	struct HEAP_ARRAY(struct uniform) list;
	struct heap_hash_table by_object;
};

static void deinit(struct uniforms *uniforms)
{
	heap_array_deinit(&uniforms->list);
	heap_hash_table_deinit(&uniforms->by_object);
}

HEAP_MUST_CHECK
static struct heap_error *add_part(const struct inference *inference, struct uniforms *uniforms,
				   const struct heap_part *part)
{
	const struct uniform *list = uniforms->list.items;
	uint64_t hash = heap_hash_u64(part->object);
	uint64_t size = layouts_size(&inference->layouts, part->type);
	uint32_t found =
		heap_hash_find(&uniforms->by_object, hash, i, list[i].object == part->object);
	struct uniform *uniform;

	if (found == HEAP_HASH_NONE) {
		found = (uint32_t)uniforms->list.count;
		HEAP_TRY(heap_array_append(&uniforms->list,
					   (struct uniform){ part->object, part->type, 0, false }));
		HEAP_TRY(heap_hash_add(&uniforms->by_object, hash, found));
	}
	uniform = &uniforms->list.items[found];
	uniform->parts++;
	uniform->is_mixed |= size < LEAST_SIZE || part->elements != 1 ||
			     part->type != uniform->type || part->offset % size != 0;
	return NULL;
}

// The values of its parts' type that a pool has room for; 0 if it may not be an array of them.
static uint64_t count_elements(const struct inference *inference, const struct uniform *uniform)
{
	const struct objects *objects = &inference->capture->objects;
	uint64_t size = inference_size(inference, uniform->object);
	uint64_t stride = layouts_size(&inference->layouts, uniform->type);

	if (uniform->is_mixed || uniform->parts < MIN_PARTS || size < stride * MIN_ELEMENTS ||
	    size % stride > inference_slack(inference, uniform->object) ||
	    !claims_lack(&inference->claims, uniform->object) ||
	    inference_prefix(inference, uniform->object) > 0 ||
	    (objects->flags[uniform->object] & (ARENA_CHUNK | ARENA_ROUNDED)) ||
	    !layouts_is_compound(&inference->layouts, uniform->type) ||
	    layouts_is_flexible(&inference->layouts, uniform->type) ||
	    layouts_is_link(&inference->layouts, uniform->type) ||
	    free_lists_have(&inference->free_lists, uniform->type))
		return 0;
	return size / stride;
}

// True if some object is known to be an array of so many values of a type.
static bool has_sibling(const struct names *names, const uint32_t *of_names, heap_type_id type,
			uint64_t elements)
{
	for (uint32_t i = 1; i < names->count; i++) {
		const struct name *name = names_get(names, i);

		progress_step();
		if (name->type == type && name->elements == elements && of_names[i] > 0)
			return true;
	}
	return false;
}

// True if nearly all pointers of a block stand where an array of a type has pointers.
HEAP_MUST_CHECK
static struct heap_error *agrees(struct inference *inference, const struct uniform *uniform,
				 bool *result)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	uint32_t first = snapshot->edge_first[uniform->object],
		 end = snapshot->edge_first[uniform->object + 1], elsewhere = 0;
	const struct heap_repetition *repetition;

	HEAP_TRY(heap_repetitions_find(&inference->repetitions, uniform->type, &repetition));
	for (uint32_t i = first; i < end; i++) {
		uint32_t from, to;

		progress_step();
		elsewhere += !heap_repetition_slots_at(
			repetition, snapshot->edge_slot[i] * (uint64_t)WORD, &from, &to);
	}
	*result = elsewhere * (uint64_t)STRAY <= end - first;
	return NULL;
}

struct heap_error *uniform_pools_claim(struct inference *inference, uint64_t *claimed)
{
	const struct pools *pools = &inference->pools;
	const struct names *names = &inference->capture->names;
	CLEANUP(deinit) struct uniforms uniforms = { 0 };
	CLEANUP_FREE uint32_t *of_names = NULL;

	for (uint32_t i = 0; i < pools->count; i++) {
		progress_step();
		HEAP_TRY(add_part(inference, &uniforms, &pools->parts[i]));
	}
	for (size_t i = 0; i < uniforms.list.count && !progress_is_late(); i++) {
		const struct uniform *uniform = &uniforms.list.items[i];
		uint64_t elements = count_elements(inference, uniform);
		bool is_array = false;

		if (elements == 0)
			continue;
		if (!of_names)
			HEAP_TRY(names_count(names, inference->capture->objects.count, &of_names));
		if (has_sibling(names, of_names, uniform->type, elements))
			HEAP_TRY(agrees(inference, uniform, &is_array));
		if (!is_array)
			continue;
		++*claimed;
		HEAP_TRY(claims_add(&inference->claims, RANK_ARRAY,
				    &(struct claim){ uniform->object, uniform->type, elements,
						     HEAP_EVIDENCE_POINTER, false }));
	}
	return NULL;
}
