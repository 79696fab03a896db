// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/infer/texts/unaligned_texts.h"

#include "dumper/writer/base/progress.h"
#include "dumper/writer/infer/inner_edges.h"
#include "lib/base/cleanup.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALIGNMENT = 8,
	MAX_OFFSET = 32, // bytes before a text
	MIN_LETTERS = 3, // the last byte of a number may be a letter before a zero
};

// True if nothing is known of a block that a pointer leads into, at a place where only characters can be.
static bool is_candidate(const struct inference *inference, heap_object_id object,
			 uint64_t interior)
{
	return interior % ALIGNMENT != 0 && interior <= MAX_OFFSET &&
	       interior < objects_size(&inference->capture->objects, object) &&
	       inference->claims.rank[object] == RANK_NONE &&
	       !hints_have(&inference->hints, object) && inference_prefix(inference, object) == 0 &&
	       !pools_have(&inference->pools, object);
}

// Notes the blocks to whose start one leads, as a vector with pointers to the first of its elements and behind the last,
// where the rest of an old text may be.
static void note_starts(const struct heap_snapshot *snapshot, heap_object_id source, uint32_t *led)
{
	for (uint32_t i = snapshot->edge_first[source]; i < snapshot->edge_first[source + 1]; i++) {
		progress_step();
		if (snapshot->edge_interior[i] == 0)
			led[snapshot->edge_target[i]] = source + 1;
	}
}

// Hints at the texts that the pointers of a block lead to. One into the block itself leads to what is behind its
// header.
//
// @param led  [objects] gets the last block, counted from 1, that leads to the start of each
HEAP_MUST_CHECK
static struct heap_error *follow(struct inference *inference, heap_object_id source,
				 heap_type_id character, uint64_t *words, uint32_t *led)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;

	note_starts(snapshot, source, led);
	for (uint32_t i = snapshot->edge_first[source]; i < snapshot->edge_first[source + 1]; i++) {
		heap_object_id object = snapshot->edge_target[i];
		uint32_t interior = snapshot->edge_interior[i];

		progress_step();
		if (interior == 0 || object == source ||
		    !is_candidate(inference, object, interior) ||
		    !block_prefixes_end_before_text(inference, object, interior, words) ||
		    strnlen((const char *)words, MIN_LETTERS) < MIN_LETTERS ||
		    led[object] == source + 1)
			continue;
		HEAP_TRY(hints_add(inference, character,
				   &(struct pointer){ .target = object, .interior = interior },
				   false));
	}
	return NULL;
}

struct heap_error *unaligned_texts_hint(struct inference *inference)
{
	const struct heap_snapshot *snapshot = &inference->capture->snapshot;
	const heap_object_id count = inference->capture->objects.count;
	heap_type_id character = heap_types_find(inference->layouts.types, "char", 0);
	CLEANUP_FREE uint64_t *words = malloc((CONTENT_WORDS + 1) * sizeof(*words));
	CLEANUP_FREE uint32_t *led = calloc((size_t)count + 1, sizeof(*led));

	if (!words || !led)
		return heap_error_out_of_memory();
	// Where no sites are known, no kind of block tells if the bytes before a text are a struct's.
	if (character == HEAP_NO_TYPE || !inference_has_sites(inference))
		return NULL;
	for (heap_object_id i = inner_edges_next(snapshot, 0, count);
	     i < count && !progress_is_late(); i = inner_edges_next(snapshot, i + 1, count))
		HEAP_TRY(follow(inference, i, character, words, led));
	return NULL;
}
