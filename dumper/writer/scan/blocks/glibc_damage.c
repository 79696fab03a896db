// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_damage.h"

enum {
	// Chunks in a row that are no coincidence, and those before a fence, of which less has to do.
	LEAST_CHUNKS = 8,
	LEAST_CHUNKS_TO_FENCE = 2,
	STEP_COST = 64, // of a chunk that led nowhere, in bytes of memory: it may lie anywhere
};

// Chunks in bins are linked in rings.
static bool is_in_bin(struct glibc_walker *walker, uint64_t chunk)
{
	uint64_t next = glibc_peek(walker, chunk + 16), previous = glibc_peek(walker, chunk + 24);

	return glibc_peek(walker, next + 24) == chunk && glibc_peek(walker, previous + 16) == chunk;
}

// The header that would tell whether the last chunk is in use is overwritten, most likely by its owner.
HEAP_MUST_CHECK
static struct heap_error *add_last(struct glibc_walker *walker, const struct glibc_walk *walk)
{
	if (walk->last_size == 0 || image_is_lost(walker->image, walk->end + 8) ||
	    is_in_bin(walker, walk->last))
		return NULL;
	return blocks_add(walker->blocks, walk->last + 16, walk->last_size - 8);
}

// @param chunks  gets how many follow each other
static bool leads_on(struct glibc_walker *walker, const struct glibc_walk *walk, uint64_t at,
		     uint64_t arena, size_t *chunks)
{
	uint64_t before = 0;

	for (*chunks = 0; *chunks < LEAST_CHUNKS; ++*chunks) {
		uint64_t word, size;

		if (at == walk->top)
			return true;
		if (at >= walk->limit || !window_word(&walker->windows.far, at + 8, &word) ||
		    !glibc_agrees(walker, at, word & ~arena, before))
			return false;
		size = word & ~(uint64_t)GLIBC_FLAGS;
		if (size == GLIBC_FENCE)
			return *chunks >= LEAST_CHUNKS_TO_FENCE;
		if (size < GLIBC_MIN_CHUNK || size % 16 != 0 || size > walk->limit - at)
			return false;
		before = size;
		at += size;
	}
	return true;
}

static bool find_chunks(struct glibc_walker *walker, struct glibc_walk *walk, uint64_t arena)
{
	uint64_t until = walk->end; // where memory ends that may hold something
	size_t chunks;

	for (uint64_t at = walk->end + 16; at < walk->limit && walk->limit - at >= GLIBC_MIN_CHUNK;
	     at += 16) {
		if (at >= until) {
			at = image_skip_untouched(walker->image, at, walk->limit, &until);
			if (at == walk->limit)
				return false;
		}
		if (leads_on(walker, walk, at, arena, &chunks)) {
			walk->start = at;
			return true;
		}
		if (chunks > 0 && !glibc_take_vain(&walker->vain_chunks, chunks * STEP_COST))
			return false;
	}
	return false;
}

struct heap_error *glibc_pass_damage(struct glibc_walker *walker, struct glibc_walk *walk,
				     uint64_t arena, bool *goes_on)
{
	glibc_doubt_chunk(walker, walk->end);
	HEAP_TRY(add_last(walker, walk));
	*goes_on = find_chunks(walker, walk, arena);
	return blocks_end_run(walker->blocks);
}
