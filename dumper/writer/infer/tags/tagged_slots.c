// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/tags/tagged_slots.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inference.h"
#include "lib/base/bits.h"
#include "lib/base/cleanup.h"
#include "lib/base/hash_table.h"

#include <stdlib.h>

enum {
	SAMPLE_WORDS = 8, // of bits: slots that are looked at for a kind of pages
	MIN_LOOKED = 16,  // slots of a kind
	TAGGED = 60,      // per cent of them; free slots are the others
};

// The pages of one kind of blocks.
struct slot_kind {
	heap_type_id
		example; // has the tag where the structs in these pages have it; HEAP_NO_TYPE: these are no pages
	uint64_t seen[SAMPLE_WORDS]; // slots that were looked at, by their hashes
	uint32_t looked, tagged;
};

struct search {
	struct inference *inference;
	struct slot_kind *kinds; // [kinds]
	uint8_t *is_candidate;   // a bit for each object
	uint64_t *pages;
};

static void release(struct search *search)
{
	free(search->kinds);
	free(search->is_candidate);
}

// --- which blocks may be pages ----------------------------------------------------------------

// True if a block is not known to be something else: an array of tagged structs is one.
static bool may_be_page(const struct inference *inference, heap_object_id object)
{
	const struct layouts *layouts = &inference->layouts;
	heap_type_id type = inference_type(inference, object);

	return objects_size(&inference->capture->objects, object) >= LAYOUT_LEAST_PAGE &&
	       inference_prefix(inference, object) == 0 &&
	       (type == HEAP_NO_TYPE ||
		(layouts_is_flexible(layouts, type) &&
		 !enum_tags_have(&inference->enum_tags,
				 layouts_strip(layouts, layouts->facts[type].element))));
}

// Finds the kinds of blocks that pointers to tagged structs lead into.
static bool find_kinds(struct search *search)
{
	const struct inference *inference = search->inference;
	bool is_found = false;

	for (uint32_t i = 1; i < inference->hints.count; i++) {
		const struct hint *hint = &inference->hints.list[i];
		heap_type_id type = layouts_strip(&inference->layouts, hint->type);
		struct slot_kind *kind;

		progress_step();
		if (!enum_tags_have(&inference->enum_tags, type))
			continue;
		kind = &search->kinds[kinds_of(inference, hint->object)];
		if (!may_be_page(inference, hint->object) ||
		    (kind->example != HEAP_NO_TYPE && kind->example <= type))
			continue;
		kind->example = type;
		is_found = true;
	}
	return is_found;
}

static void find_candidates(struct search *search)
{
	const struct inference *inference = search->inference;

	for (heap_object_id i = 0; i < inference->capture->objects.count; i++) {
		progress_step();
		if (search->kinds[kinds_of(inference, i)].example != HEAP_NO_TYPE &&
		    may_be_page(inference, i))
			heap_bit_set(search->is_candidate, i);
	}
}

// --- what their slots hold --------------------------------------------------------------------

static bool is_zero(const struct content *content)
{
	for (size_t i = 0; i < content->count; i++) {
		if (content->words[i] != 0)
			return false;
	}
	return true;
}

// The struct whose tag a slot begins with, if its contents do not contradict. Zeros say nothing.
static heap_type_id read_slot(const struct inference *inference, heap_type_id example,
			      heap_object_id object, uint64_t offset)
{
	uint64_t words[CONTENT_WORDS + 1];
	struct content content;
	heap_type_id type;

	if (offset % 8 != 0)
		return HEAP_NO_TYPE;
	type = enum_tags_read_as(inference, example, inference_address(inference, object) + offset);
	if (type == HEAP_NO_TYPE || layouts_is_flexible(&inference->layouts, type) ||
	    !content_read_value(inference, object, offset, type, words, &content))
		return HEAP_NO_TYPE;
	return !is_zero(&content) && content_score(inference, &content, type, 1) >= 0
		       ? type
		       : HEAP_NO_TYPE;
}

// Looks at the slots that pointers lead to, each once.
static void look(struct search *search)
{
	const struct heap_snapshot *snapshot = &search->inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->edge_count && !progress_is_late(); i++) {
		heap_object_id object = snapshot->edge_target[i];
		struct slot_kind *kind;
		uint64_t hash;

		progress_step();
		if (!heap_bit_get(search->is_candidate, object))
			continue;
		kind = &search->kinds[kinds_of(search->inference, object)];
		hash = heap_hash_pair(object, snapshot->edge_interior[i]) % (SAMPLE_WORDS * 64);
		if (kind->seen[hash / 64] >> hash % 64 & 1)
			continue;
		kind->seen[hash / 64] |= UINT64_C(1) << hash % 64;
		kind->looked++;
		kind->tagged += read_slot(search->inference, kind->example, object,
					  snapshot->edge_interior[i]) != HEAP_NO_TYPE;
	}
}

// --- cutting ----------------------------------------------------------------------------------

static bool is_told(const struct slot_kind *kind)
{
	return kind->example != HEAP_NO_TYPE && kind->looked >= MIN_LOOKED &&
	       kind->tagged * UINT64_C(100) >= kind->looked * (uint64_t)TAGGED;
}

// Makes a block a pool, which begins with the struct that it was taken for.
HEAP_MUST_CHECK
static struct heap_error *make_pool(struct search *search, heap_object_id object)
{
	struct inference *inference = search->inference;
	heap_type_id type = inference_type(inference, object);

	if (pools_have(&inference->pools, object) && type == HEAP_NO_TYPE)
		return NULL;
	++*search->pages;
	if (type != HEAP_NO_TYPE)
		HEAP_TRY(hints_add(inference, type, &(struct pointer){ .target = object }, false));
	return pools_doubt(inference, object);
}

HEAP_MUST_CHECK
static struct heap_error *cut(struct search *search)
{
	struct inference *inference = search->inference;
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	for (uint64_t i = 0; i < snapshot->edge_count && !progress_is_late(); i++) {
		heap_object_id object = snapshot->edge_target[i];
		struct pointer pointer = { .target = object,
					   .interior = snapshot->edge_interior[i] };
		heap_type_id example, type, known;

		progress_step();
		if (!heap_bit_get(search->is_candidate, object))
			continue;
		example = search->kinds[kinds_of(inference, object)].example;
		if (example == HEAP_NO_TYPE)
			continue;
		known = pools_type_at(&inference->pools, object, pointer.interior);
		type = known == HEAP_NO_TYPE || enum_tags_have(&inference->enum_tags, known)
			       ? read_slot(inference, example, object, pointer.interior)
			       : HEAP_NO_TYPE;
		if (type == HEAP_NO_TYPE || type == known)
			continue;
		HEAP_TRY(make_pool(search, object));
		HEAP_TRY(hints_add(inference, type, &pointer, false));
	}
	return NULL;
}

struct heap_error *tagged_slots_cut(struct inference *inference, uint64_t *pages)
{
	uint32_t objects = inference->capture->objects.count;
	uint32_t kinds = inference->kinds.count;
	CLEANUP(release)
	struct search search = { .inference = inference, .pages = pages };
	bool is_told_of_any = false;

	if (inference->enum_tags.places.count == 0)
		return NULL;
	search.kinds = calloc((size_t)kinds + 1, sizeof(*search.kinds));
	search.is_candidate = calloc((size_t)objects / 8 + 1, 1);
	if (!search.kinds || !search.is_candidate)
		return heap_error_out_of_memory();
	if (!find_kinds(&search))
		return NULL;
	find_candidates(&search);
	look(&search);
	for (uint32_t i = 0; i < kinds; i++) {
		if (is_told(&search.kinds[i]))
			is_told_of_any = true;
		else
			search.kinds[i].example = HEAP_NO_TYPE;
	}
	return is_told_of_any ? cut(&search) : NULL;
}
