// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_chunks.h"

#include <inttypes.h>

HEAP_MUST_CHECK
static struct heap_error *end_walk(struct glibc_walker *walker, struct glibc_walk *walk,
				   uint64_t at, uint64_t before, uint64_t size, uint64_t word)
{
	walk->end = at;
	return size && (word & GLIBC_PREV_INUSE) ? blocks_add(walker->blocks, before + 16, size - 8)
						 : NULL;
}

struct heap_error *glibc_walk_chunks(struct glibc_walker *walker, struct glibc_walk *walk,
				     enum glibc_ending *ending)
{
	uint64_t at = walk->start, before = 0, before_size = 0;

	*ending = GLIBC_ENDS_BROKEN;
	walk->last_size = 0;
	for (;;) {
		uint64_t word, size;

		if (at >= walk->limit || !window_word(&walker->windows.far, at + 8, &word))
			break;
		size = word & ~(uint64_t)GLIBC_FLAGS;
		if (at == walk->top) {
			*ending = GLIBC_ENDS_AT_TOP;
			return end_walk(walker, walk, at, before, before_size, word);
		}
		if (size == GLIBC_FENCE) {
			*ending = GLIBC_ENDS_AT_FENCE;
			return end_walk(walker, walk, at, before, before_size, word);
		}
		// The last header of a heap has no size; the one before it has the least size.
		if (word == GLIBC_PREV_INUSE && before_size == GLIBC_MIN_CHUNK) {
			*ending = GLIBC_ENDS_IN_ZEROS;
			walk->end = at;
			return NULL;
		}
		if ((word & GLIBC_IS_MMAPPED) || size < GLIBC_MIN_CHUNK || size % 16 != 0 ||
		    size > walk->limit - at)
			break;
		if (before_size && (word & GLIBC_PREV_INUSE))
			HEAP_TRY(blocks_add(walker->blocks, before + 16, before_size - 8));
		before = at;
		before_size = size;
		at += size;
	}
	walk->end = at;
	walk->last = before;
	walk->last_size = before_size;
	return NULL;
}

bool glibc_agrees(struct glibc_walker *walker, uint64_t at, uint64_t word, uint64_t before)
{
	uint64_t flags = word & GLIBC_FLAGS;

	return flags == GLIBC_PREV_INUSE ||
	       (flags == 0 && before != 0 && glibc_peek(walker, at) == before);
}

struct heap_error *glibc_claim(struct glibc_walker *walker, uint64_t start, uint64_t end)
{
	return heap_array_append(&walker->claimed, (struct glibc_span){ start, end });
}

void glibc_doubt_chunk(struct glibc_walker *walker, uint64_t address)
{
	// Where a core file was cut off, nothing is damaged.
	if (image_is_lost(walker->image, address + 8))
		return;
	if (walker->damage_count++ == 0)
		walker->first_damage = address;
}

void glibc_doubt_damage(struct glibc_walker *walker)
{
	if (walker->damage_count == 1)
		blocks_doubt(walker->blocks, "glibc's heap is damaged at %#" PRIx64,
			     walker->first_damage);
	else if (walker->damage_count > 1)
		blocks_doubt(walker->blocks,
			     "glibc's heap is damaged at %#" PRIx64 " and in %zu more places",
			     walker->first_damage, walker->damage_count - 1);
}

uint64_t glibc_find_heap(struct glibc_walker *walker, uint64_t arena, uint64_t address)
{
	// The nearest one: further away there may be another heap of the same arena.
	for (int log = GLIBC_LEAST_HEAP_LOG; log <= GLIBC_LARGEST_HEAP_LOG; log++) {
		uint64_t heap = address & ~((UINT64_C(1) << log) - 1);

		if (glibc_peek(walker, heap) == arena)
			return heap;
	}
	return 0;
}

bool glibc_is_claimed(const struct glibc_walker *walker, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < walker->claimed.count; i++) {
		const struct glibc_span *span = &walker->claimed.items[i];

		if (start < span->end && span->start < end)
			return true;
	}
	return false;
}

static bool is_fence(struct glibc_walker *walker, uint64_t at)
{
	return (glibc_peek(walker, at + 8) & ~(uint64_t)GLIBC_FLAGS) == GLIBC_FENCE;
}

uint64_t glibc_end_of_fence(struct glibc_walker *walker, uint64_t at)
{
	uint64_t end = at + 2 * GLIBC_FENCE;

	if (!is_fence(walker, at) || !is_fence(walker, at + GLIBC_FENCE))
		return 0;
	// Most pieces end with a page; what follows the others may look like a header.
	return end % GLIBC_PAGE != 0 && is_fence(walker, end) ? end + GLIBC_FENCE : end;
}

uint64_t glibc_pass_fence(struct glibc_walker *walker, uint64_t at)
{
	uint64_t end = glibc_end_of_fence(walker, at);

	return end != 0 ? end : at + 2 * GLIBC_FENCE;
}
