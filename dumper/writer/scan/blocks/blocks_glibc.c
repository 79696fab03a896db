// SPDX-License-Identifier: GPL-3.0-or-later
// glibc's malloc: its arenas and their heaps. glibc_walker.h tells how they hang together.
#include "dumper/writer/scan/blocks/glibc_chunks.h"
#include "dumper/writer/scan/blocks/glibc_damage.h"
#include "dumper/writer/scan/blocks/glibc_free.h"
#include "dumper/writer/scan/blocks/glibc_mapped.h"
#include "dumper/writer/scan/blocks/glibc_recovery.h"
#include "dumper/writer/scan/blocks/glibc_states.h"

#include <inttypes.h>

enum {
	MAX_HEAPS = 1 << 16, // of all arenas
};

// --- arenas but the first -------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *walk_heap(struct glibc_walker *walker, uint64_t heap, uint64_t first,
				    uint64_t top)
{
	uint64_t size = glibc_peek(walker, heap + 16);
	struct glibc_walk walk = { .start = (first + 15) & ~UINT64_C(15),
				   .limit = heap + size,
				   .top = top };
	enum glibc_ending ending;
	bool goes_on = true;

	if (size > UINT64_C(1) << GLIBC_LARGEST_HEAP_LOG || size < GLIBC_PAGE ||
	    heap > UINT64_MAX - size)
		return NULL;
	HEAP_TRY(glibc_claim(walker, heap, heap + size));
	while (goes_on) {
		HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
		if (ending != GLIBC_ENDS_BROKEN)
			break;
		HEAP_TRY(glibc_pass_damage(walker, &walk, GLIBC_NON_MAIN, &goes_on));
	}
	return blocks_end_run(walker->blocks);
}

static uint64_t system_bytes(struct glibc_walker *walker, uint64_t bins)
{
	uint64_t threads = bins + GLIBC_BINS_BYTES + 32;
	uint64_t word = glibc_peek(walker, threads);

	// Until 2.22 there is no number of threads before it.
	return word >= GLIBC_PAGE ? word : glibc_peek(walker, threads + 8);
}

HEAP_MUST_CHECK
static struct heap_error *walk_arena(struct glibc_walker *walker, const struct glibc_layout *layout,
				     uint64_t arena)
{
	uint64_t top = glibc_peek(walker, arena + layout->bins - 16);
	uint64_t own = glibc_find_heap(walker, arena, arena);
	uint64_t header = arena - own; // of a heap: 0x20, since 2.35 0x30
	uint64_t arena_size = glibc_arena_size(layout), sum = 0;
	uint64_t heap = glibc_find_heap(walker, arena, top);

	if (own == 0 || header > GLIBC_HEAP_HEADER) {
		glibc_doubt_chunk(walker, arena);
		return NULL;
	}
	for (; heap != 0 && glibc_peek(walker, heap) == arena; walker->heap_count++) {
		uint64_t size = glibc_peek(walker, heap + 16);

		if (walker->heap_count == MAX_HEAPS || glibc_is_claimed(walker, heap, heap + size))
			break;
		sum += size;
		HEAP_TRY(walk_heap(walker, heap, heap == own ? arena + arena_size : heap + header,
				   top));
		heap = glibc_peek(walker, heap + 8);
	}
	if (sum != system_bytes(walker, arena + layout->bins))
		blocks_doubt(walker->blocks,
			     "glibc's arena %#" PRIx64 " has %" PRIu64
			     " bytes by its own word, %" PRIu64 " in its heaps",
			     arena, system_bytes(walker, arena + layout->bins), sum);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_arenas(struct glibc_walker *walker, const struct glibc_state *state)
{
	uint64_t first = state->bins - state->layout->bins;
	uint64_t arena = first;

	for (int i = 0; i < GLIBC_MAX_ARENAS; i++) {
		HEAP_TRY(heap_array_append(&walker->arenas, arena));
		arena = glibc_next_arena(walker, state->layout, arena);
		if (arena == first || arena == 0)
			return NULL;
		HEAP_TRY(walk_arena(walker, state->layout, arena));
	}
	return NULL;
}

// --- the first arena's heap, by brk(2) ---------------------------------------------

// Where writable memory ends that goes on from an address.
static uint64_t end_of_memory(const struct image *image, uint64_t address)
{
	const struct image_mapping *mapping = image_find(image, address);
	const struct image_mapping *last = image->mappings + image->mapping_count;

	if (!mapping || !glibc_is_writable(mapping))
		return address;
	while (mapping + 1 < last && mapping[1].start == mapping->end &&
	       glibc_is_writable(mapping + 1))
		mapping++;
	return mapping->end;
}

// Finds where the heap goes on behind memory that the program has taken from the kernel itself: at the first
// header from which chunks lead to the top, or to a double fence.
HEAP_MUST_CHECK
static struct heap_error *walk_next_piece(struct glibc_walker *walker, struct glibc_walk *walk,
					  enum glibc_ending *ending)
{
	struct blocks *blocks = walker->blocks;
	uint64_t until = walk->start; // where memory ends that may hold something

	*ending = GLIBC_ENDS_BROKEN;
	for (uint64_t at = walk->start; at + GLIBC_MIN_CHUNK <= walk->limit; at += 16) {
		size_t count = blocks->list.count;
		uint64_t word;

		if (at >= until) {
			at = image_skip_untouched(walker->image, at, walk->limit, &until);
			if (at == walk->limit)
				return NULL;
		}
		walk->start = at;
		if (!window_word(&walker->windows.near, at + 8, &word) ||
		    (word & GLIBC_FLAGS) != GLIBC_PREV_INUSE ||
		    (at != walk->top && (word & ~(uint64_t)GLIBC_FLAGS) < GLIBC_MIN_CHUNK))
			continue;
		HEAP_TRY(glibc_walk_chunks(walker, walk, ending));
		if (*ending == GLIBC_ENDS_AT_TOP ||
		    (*ending == GLIBC_ENDS_AT_FENCE && glibc_end_of_fence(walker, walk->end) != 0))
			return NULL;
		blocks->list.count = count;
		*ending = GLIBC_ENDS_BROKEN;
		if (!glibc_take_vain(&walker->vain_chunks, walk->end - at))
			return NULL;
	}
	return NULL;
}

// @param reached  set to true if the top was found
// @param sum      gets the bytes of the pieces
HEAP_MUST_CHECK
static struct heap_error *walk_main(struct glibc_walker *walker, const struct glibc_state *state,
				    bool *reached, uint64_t *sum)
{
	uint64_t top = glibc_peek(walker, state->bins - 16);
	struct glibc_walk walk = {
		.start = (state->base + 15) & ~UINT64_C(15),
		.limit = end_of_memory(walker->image, state->base),
		.top = top,
	};
	enum glibc_ending ending;
	bool goes_on;

	*reached = false;
	if (state->base == 0 || walk.limit <= walk.start)
		return NULL;
	HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
	for (;;) {
		HEAP_TRY(glibc_claim(walker, walk.start, walk.end));
		HEAP_TRY(blocks_end_run(walker->blocks));
		// Memory that the program has taken itself counts, too.
		*sum = (ending == GLIBC_ENDS_AT_FENCE ? glibc_pass_fence(walker, walk.end)
						      : walk.end) -
		       state->base;
		if (ending == GLIBC_ENDS_AT_TOP) {
			uint64_t size = glibc_peek(walker, top + 8) & ~(uint64_t)GLIBC_FLAGS;

			*sum += size;
			*reached = true;
			return glibc_claim(walker, top, top + size);
		}
		if (ending == GLIBC_ENDS_AT_FENCE) {
			walk.start = glibc_pass_fence(walker, walk.end);
			HEAP_TRY(walk_next_piece(walker, &walk, &ending));
			goes_on = ending != GLIBC_ENDS_BROKEN;
		} else {
			HEAP_TRY(glibc_pass_damage(walker, &walk, 0, &goes_on));
			if (goes_on)
				HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
		}
		if (!goes_on)
			return NULL;
	}
}

// --- all of it ---------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *walk_state(struct glibc_walker *walker, const struct glibc_state *state)
{
	uint64_t system = system_bytes(walker, state->bins), sum = 0;
	uint64_t top = glibc_peek(walker, state->bins - 16);
	struct glibc_mapped mapped = { .walker = walker, .state = state };
	bool reached;
	size_t first_arena = walker->arenas.count;

	walker->vain_chunks = glibc_writable_bytes(walker->image);
	HEAP_TRY(walk_arenas(walker, state));
	HEAP_TRY(walk_main(walker, state, &reached, &sum));
	mapped.wanted = state->mapped_count;
	mapped.wanted_bytes = state->mapped_bytes;
	// An arena that was never used has its own bins for a top.
	mapped.wants_top = !reached && system > 0 && top != state->bins - 16;
	mapped.wanted_heap = system > sum && system - sum >= GLIBC_PAGE ? system - sum : 0;
	HEAP_TRY(glibc_search_mapped(&mapped));
	HEAP_TRY(blocks_sort(walker->blocks));
	for (size_t i = first_arena; state->layout->has_fast_bins && i < walker->arenas.count; i++)
		glibc_remove_fast_bins(walker, state, walker->arenas.items[i]);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_states(struct glibc_walker *walker)
{
	HEAP_TRY(glibc_states_find(walker));
	if (walker->state_count == 0)
		return glibc_recover(walker);
	blocks_name(walker->blocks, "glibc");
	walker->blocks->sizes = HEAP_BLOCK_SIZES_GLIBC;
	for (size_t i = 0; i < walker->state_count; i++)
		HEAP_TRY(walk_state(walker, &walker->states[i]));
	return glibc_remove_tcaches(walker);
}

// Notes which memory is malloc's. Where something does not add up, a part of it may be missing.
HEAP_MUST_CHECK
static struct heap_error *note_regions(const struct glibc_walker *walker)
{
	bool is_known = walker->state_count > 0 && walker->blocks->doubts[0] == '\0';

	for (size_t i = 0; is_known && i < walker->claimed.count; i++) {
		const struct glibc_span *span = &walker->claimed.items[i];

		HEAP_TRY(heap_array_append(&walker->blocks->regions,
					   ((struct block_region){ span->start, span->end })));
	}
	return NULL;
}

static void walker_deinit(struct glibc_walker *walker)
{
	windows_deinit(&walker->windows);
	heap_array_deinit(&walker->claimed);
	heap_array_deinit(&walker->arenas);
	heap_array_deinit(&walker->tcaches);
}

struct heap_error *blocks_find_glibc(struct blocks *blocks, const struct image *image,
				     const struct block_threads *threads)
{
	CLEANUP(walker_deinit)
	struct glibc_walker walker = { .blocks = blocks, .image = image, .threads = threads };

	HEAP_TRY(windows_init(&walker.windows, image));
	HEAP_TRY(walk_states(&walker));
	glibc_doubt_damage(&walker);
	return note_regions(&walker);
}
