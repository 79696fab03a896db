// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/glibc_recovery.h"

#include "dumper/writer/scan/image/core_file.h"
#include "dumper/writer/scan/blocks/glibc_chunks.h"
#include "dumper/writer/scan/blocks/glibc_free.h"
#include "dumper/writer/scan/blocks/glibc_mapped.h"
#include "dumper/writer/scan/blocks/glibc_states.h"

enum {
	RINGS = GLIBC_BINS_BYTES / 16,
	LEAST_EMPTY_RINGS = RINGS / 4, // of an arena
	LEAST_HEADER = 0x20,           // of a heap, before its arena
	// Chunks in a row that are no coincidence: where they end as a heap does, and where the file does.
	LEAST_CHUNKS = 2,
	LEAST_CHUNKS_TO_CUT = 4,
};

struct recovery {
	struct glibc_walker *walker;
	const struct glibc_layout *layout; // of an arena that is there; NULL: none is
	size_t pieces;                     // that were found
};

// --- heaps of arenas --------------------------------------------------------------------

struct heap {
	uint64_t start, end;
	uint64_t arena;
	uint64_t header; // bytes
};

// True if an address is that of a heap's first words: the arena, the heap before, and two sizes.
static bool read_heap(struct glibc_walker *walker, uint64_t at, uint64_t limit, struct heap *heap)
{
	uint64_t arena = glibc_peek(walker, at), before = glibc_peek(walker, at + 8);
	uint64_t size = glibc_peek(walker, at + 16), writable = glibc_peek(walker, at + 24);

	if (arena == 0 || arena % 16 != 0 || size < GLIBC_PAGE || size % GLIBC_PAGE != 0 ||
	    size > limit - at || writable < size ||
	    writable > UINT64_C(1) << GLIBC_LARGEST_HEAP_LOG)
		return false;
	for (int log = GLIBC_LARGEST_HEAP_LOG; log >= GLIBC_LEAST_HEAP_LOG; log--) {
		uint64_t mask = (UINT64_C(1) << log) - 1, header = arena & mask;

		// The first heap has the arena, and no other heap before it.
		if (header < LEAST_HEADER || header > GLIBC_HEAP_HEADER || (at & mask) != 0 ||
		    (before & mask) != 0 || (before == 0) != (arena - at == header))
			continue;
		*heap = (struct heap){ at, at + size, arena, header };
		return true;
	}
	return false;
}

static size_t count_empty_rings(struct glibc_walker *walker, uint64_t bins)
{
	size_t count = 0;

	for (uint64_t pair = bins; pair < bins + GLIBC_BINS_BYTES; pair += 16)
		count += glibc_peek(walker, pair) == pair - 16 &&
			 glibc_peek(walker, pair + 8) == pair - 16;
	return count;
}

// Most bins are empty. With the wrong layout some of them are not where they should be.
static const struct glibc_layout *tell_layout(struct glibc_walker *walker, uint64_t arena)
{
	const struct glibc_layout *result = NULL, *layout;
	size_t most = LEAST_EMPTY_RINGS;

	for (size_t i = 0; (layout = glibc_layout(i)); i++) {
		size_t count = count_empty_rings(walker, arena + layout->bins);

		if (count > most) {
			most = count;
			result = layout;
		}
	}
	return result;
}

HEAP_MUST_CHECK
static struct heap_error *recover_heap(struct recovery *recovery, const struct heap *heap)
{
	struct glibc_walker *walker = recovery->walker;
	struct glibc_walk walk = { .start = heap->start + heap->header, .limit = heap->end };
	size_t count = walker->blocks->list.count;
	enum glibc_ending ending;

	HEAP_TRY(glibc_claim(walker, heap->start, heap->end));
	if (heap->arena == walk.start) {
		const struct glibc_layout *layout = tell_layout(walker, heap->arena);

		if (!layout)
			return NULL;
		recovery->layout = layout;
		HEAP_TRY(heap_array_append(&walker->arenas, heap->arena));
		walk.start += glibc_arena_size(layout);
	}
	walk.start = (walk.start + 15) & ~UINT64_C(15);
	HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
	if (ending == GLIBC_ENDS_BROKEN && walk.end != walk.limit)
		glibc_doubt_chunk(walker, walk.end);
	recovery->pieces += walker->blocks->list.count > count;
	return blocks_end_run(walker->blocks);
}

HEAP_MUST_CHECK
static struct heap_error *recover_heaps(struct recovery *recovery, uint64_t start, uint64_t limit)
{
	const uint64_t step = UINT64_C(1) << GLIBC_LEAST_HEAP_LOG;
	uint64_t at = (start + step - 1) & ~(step - 1), until = start;
	struct heap heap;

	while (at < limit && limit - at >= GLIBC_PAGE) {
		// A core file may claim mappings of terabytes that it has no data of.
		uint64_t next = at < until ? at
					   : image_skip_untouched(recovery->walker->image, at,
								  limit, &until);

		if (next != at) {
			at = (next + step - 1) & ~(step - 1);
			continue;
		}
		if (read_heap(recovery->walker, at, limit, &heap) &&
		    !glibc_is_claimed(recovery->walker, heap.start, heap.end))
			HEAP_TRY(recover_heap(recovery, &heap));
		at += step;
	}
	return NULL;
}

// --- pieces of the first arena's heap -----------------------------------------------------

// Follows the first arena's chunks from an address on, and checks what they say of each other: a free
// one's size is also behind it. @return true if they are no coincidence
static bool leads_on(struct glibc_walker *walker, uint64_t at, uint64_t limit, uint64_t *end)
{
	size_t chunks = 0;
	uint64_t before = 0;

	for (;; chunks++) {
		uint64_t word, size;

		*end = at;
		if (at == limit || image_is_lost(walker->image, at + 8))
			return chunks >= (at == limit ? LEAST_CHUNKS : LEAST_CHUNKS_TO_CUT);
		if (limit - at < GLIBC_FENCE || !window_word(&walker->windows.far, at + 8, &word))
			return false;
		size = word & ~(uint64_t)GLIBC_FLAGS;
		if (!glibc_agrees(walker, at, word, before))
			return false;
		if (size == GLIBC_FENCE)
			return chunks >= LEAST_CHUNKS && glibc_end_of_fence(walker, at) != 0;
		if (size < GLIBC_MIN_CHUNK || size % 16 != 0 || size > limit - at)
			return false;
		before = size;
		at += size;
	}
}

HEAP_MUST_CHECK
static struct heap_error *recover_piece(struct recovery *recovery, uint64_t start, uint64_t limit)
{
	struct glibc_walker *walker = recovery->walker;
	struct glibc_walk walk = { .start = start, .limit = limit };
	enum glibc_ending ending;

	HEAP_TRY(glibc_walk_chunks(walker, &walk, &ending));
	recovery->pieces++;
	HEAP_TRY(glibc_claim(walker, start, walk.end > start ? walk.end : start + 1));
	return blocks_end_run(walker->blocks);
}

// A piece begins at a page, or behind one that ends with a fence, where the program has taken memory itself.
HEAP_MUST_CHECK
static struct heap_error *recover_pieces(struct recovery *recovery, uint64_t start, uint64_t limit)
{
	struct glibc_walker *walker = recovery->walker;
	uint64_t until = start, step = GLIBC_PAGE; // where memory ends that may hold something

	for (uint64_t at = start; at < limit && limit - at >= GLIBC_MIN_CHUNK;) {
		uint64_t next =
			at < until ? at : image_skip_untouched(walker->image, at, limit, &until);
		uint64_t end = at;

		if (next != at) {
			at = (next + step - 1) & ~(step - 1);
			continue;
		}
		if ((step == GLIBC_PAGE && glibc_peek(walker, at) != 0) ||
		    (glibc_peek(walker, at + 8) & GLIBC_FLAGS) != GLIBC_PREV_INUSE ||
		    glibc_is_claimed(walker, at, at + 1)) {
			at += step;
		} else if (leads_on(walker, at, limit, &end)) {
			HEAP_TRY(recover_piece(recovery, at, limit));
			step = 16;
			at = end == limit ? limit : glibc_pass_fence(walker, end);
		} else {
			if (!glibc_take_vain(&walker->vain_chunks, end - at))
				return NULL;
			at += step;
		}
	}
	return NULL;
}

// --- all of it ----------------------------------------------------------------------------

static bool is_anonymous(const struct image_mapping *mapping)
{
	return glibc_is_writable(mapping) && mapping->kind == IMAGE_ANONYMOUS;
}

HEAP_MUST_CHECK
static struct heap_error *recover_chunks(struct recovery *recovery)
{
	const struct image *image = recovery->walker->image;

	for (size_t i = 0; i < image->mapping_count;) {
		const struct image_mapping *mapping = &image->mappings[i++];
		uint64_t end = mapping->end;

		if (!is_anonymous(mapping))
			continue;
		while (i < image->mapping_count && image->mappings[i].start == end &&
		       is_anonymous(&image->mappings[i]))
			end = image->mappings[i++].end;
		HEAP_TRY(recover_heaps(recovery, mapping->start, end));
		HEAP_TRY(recover_pieces(recovery, mapping->start, end));
	}
	return NULL;
}

// Chunks that have a mapping of their own. Without an arena it is not known how their sizes are counted.
HEAP_MUST_CHECK
static struct heap_error *recover_mapped(struct recovery *recovery)
{
	static const struct glibc_layout unknown[] = { { 0 }, { .counts_mapped = true } };
	struct glibc_walker *walker = recovery->walker;
	size_t count = walker->blocks->list.count;

	for (size_t i = 0; i < 2; i++) {
		const struct glibc_state state = {
			.layout = recovery->layout ? recovery->layout : &unknown[i],
		};
		struct glibc_mapped mapped = { .walker = walker, .state = &state };

		HEAP_TRY(glibc_search_mapped(&mapped));
		if (recovery->layout || walker->blocks->list.count > count)
			break;
	}
	return NULL;
}

struct heap_error *glibc_recover(struct glibc_walker *walker)
{
	struct recovery recovery = { .walker = walker };

	if (!walker->image->core || walker->image->core->lost == 0)
		return NULL;
	walker->vain_chunks = glibc_writable_bytes(walker->image);
	HEAP_TRY(recover_chunks(&recovery));
	if (recovery.pieces == 0)
		return NULL;
	blocks_name(walker->blocks, "glibc");
	walker->blocks->sizes = HEAP_BLOCK_SIZES_GLIBC;
	blocks_doubt(walker->blocks,
		     "glibc's own variables are missing: some of the blocks may have been freed");
	HEAP_TRY(recover_mapped(&recovery));
	HEAP_TRY(blocks_sort(walker->blocks));
	for (size_t i = 0; i < walker->arenas.count; i++) {
		const struct glibc_state state = {
			.layout = tell_layout(walker, walker->arenas.items[i]),
		};

		if (state.layout && state.layout->has_fast_bins)
			glibc_remove_fast_bins(walker, &state, walker->arenas.items[i]);
	}
	return glibc_remove_tcaches(walker);
}
