// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * mimalloc 2.0: include/mimalloc-types.h, src/segment.c, src/page.c.
 *
 *	segment, at a multiple of 32 MiB: header, slice slice slice ...    one per 64 KiB
 *	slice ──▶ page: block block block ...      lists of free blocks: free, local_free, thread_free
 *	slice ──heap──▶ thread_delayed_free: blocks that other threads have freed
 *
 * A segment is recognized by its slices, which have to fill it; a page by its lists, which have to
 * agree with its number of used blocks. If they disagree, the lists are encoded (secure mode), or
 * it is another version, and its blocks stay unknown.
 */
#include "dumper/writer/scan/block_grid.h"

#include <stdlib.h>

enum {
	PAGE = 4096,
	SLICE = 1 << 16,
	SEGMENT_ALIGNMENT = 32 << 20,
	LEAST_HEADER = 128, // bytes before the slices: versions differ
	MOST_HEADER = 512,
	MOST_INFO = 64,      // slices that the header takes up
	SLICE_BYTES = 80,    // of its description, struct mi_page_s
	MOST_SHIFTED = 1024, // blocks up to this size do not begin with the slice
	DELAYED = 2840,      // offset of thread_delayed_free in a heap
};

#define HUGE_BLOCK (UINT64_C(2) << 30) // as size: all that there is

// Bytes between the beginning of a slice and its first block, if its blocks are small.
static const uint64_t shifts[] = {
	384, // 2.0.7
	128,
	0,
};

struct segment {
	uint64_t address;
	uint64_t slices; // address
	uint64_t count;  // of slices that are described
};

struct walker {
	struct blocks *blocks;
	const struct image *image;
	struct windows windows;
	struct HEAP_ARRAY(struct segment) segments;
	struct HEAP_ARRAY(uint64_t) heaps; // addresses, some of them more than once
	uint64_t shift;
	struct block_audit pages; // of those with free blocks
	struct block_grid grid;
};

struct page {
	uint64_t first;      // block
	uint64_t block_size; // bytes
	uint64_t bytes;      // of all slices
	uint32_t capacity, used;
	uint64_t free, local_free, thread_free;
	uint64_t heap;
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

// --- segments ---------------------------------------------------------------------

// True if the slices follow each other up to the end.
static bool has_slices(struct walker *walker, const struct segment *segment, bool is_huge)
{
	uint64_t at = 0;

	while (at < segment->count) {
		uint64_t word = peek(walker, segment->slices + at * SLICE_BYTES);
		uint64_t count = (uint32_t)word, offset = word >> 32;

		if (count == 0 || offset != 0)
			return false;
		at += count;
	}
	return at == segment->count || is_huge;
}

// The words before the slices: used pages, a cookie, slices in all, slices of the header, kind,
// described slices, thread.
static bool is_header(struct walker *walker, struct segment *segment)
{
	uint64_t at = segment->slices;
	uint64_t used = peek(walker, at - 56), all = peek(walker, at - 40),
		 info = peek(walker, at - 32), kind = (uint32_t)peek(walker, at - 24);

	segment->count = peek(walker, at - 16);
	return info > 0 && info <= MOST_INFO && info == (uint32_t)peek(walker, at) && info < all &&
	       kind <= 1 && segment->count > info && segment->count <= SEGMENT_ALIGNMENT / PAGE &&
	       used <= segment->count &&
	       (kind == 1 ? segment->count <= all : segment->count == all) &&
	       has_slices(walker, segment, kind == 1);
}

HEAP_MUST_CHECK
static struct heap_error *add_segment(struct walker *walker, uint64_t address)
{
	struct segment segment = { .address = address };

	for (uint64_t header = LEAST_HEADER; header <= MOST_HEADER; header += 8) {
		segment.slices = address + header;
		if (is_header(walker, &segment))
			return heap_array_append(&walker->segments, segment);
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_segments(struct walker *walker)
{
	const struct image *image = walker->image;
	const uint64_t mask = SEGMENT_ALIGNMENT - 1;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t touched = 0, until = 0;
		uint64_t address = (mapping->start + mask) & ~mask;

		if (!image_is_private_memory(mapping))
			continue;
		while (address >= mapping->start && address < mapping->end) {
			if (address >= until)
				touched =
					image_skip_untouched(image, address, mapping->end, &until);
			if (address >= touched)
				HEAP_TRY(add_segment(walker, address));
			address = ((address >= touched ? address + 1 : touched) + mask) & ~mask;
		}
	}
	return NULL;
}

// --- pages ------------------------------------------------------------------------

// @return false: the slices are free
static bool read_page(struct walker *walker, const struct segment *segment, uint64_t index,
		      struct page *page)
{
	uint64_t at = segment->slices + index * SLICE_BYTES;
	uint64_t counts = peek(walker, at + 8), sizes = peek(walker, at + 24);

	*page = (struct page){
		.first = segment->address + index * SLICE,
		.block_size = sizes >> 32,
		.bytes = (peek(walker, at) & UINT32_MAX) * SLICE,
		.capacity = counts >> 16 & UINT16_MAX,
		.used = (uint32_t)sizes,
		.free = peek(walker, at + 16),
		.local_free = peek(walker, at + 32),
		.thread_free = peek(walker, at + 40) & ~UINT64_C(3),
		.heap = peek(walker, at + 48),
	};
	if (page->block_size == HUGE_BLOCK)
		page->block_size = page->bytes;
	if (page->block_size >= 8 && page->block_size <= MOST_SHIFTED)
		page->first += walker->shift;
	return page->block_size > 0;
}

static bool is_page(const struct walker *walker, const struct page *page)
{
	uint64_t room = page->bytes - page->first % SLICE;

	return page->block_size >= 8 && page->used <= page->capacity &&
	       page->block_size * page->capacity <= room && image_find(walker->image, page->first);
}

HEAP_MUST_CHECK
static struct heap_error *walk_page(struct walker *walker, const struct page *page)
{
	struct block_grid *grid = &walker->grid;
	struct windows *windows = &walker->windows;
	uint32_t count;

	if (!is_page(walker, page) ||
	    !block_grid_init(grid, page->first, page->block_size, page->capacity)) {
		walker->pages.count++;
		return NULL;
	}
	count = block_grid_mark(grid, windows, page->free) +
		block_grid_mark(grid, windows, page->local_free);
	if (count > 0 || page->used != page->capacity) {
		walker->pages.count++;
		walker->pages.agreeing += count + page->used == page->capacity;
	}
	block_grid_mark(grid, windows, page->thread_free);
	return block_grid_add(grid, walker->image, walker->blocks);
}

HEAP_MUST_CHECK
static struct heap_error *walk_segment(struct walker *walker, const struct segment *segment)
{
	uint64_t info = peek(walker, segment->slices) & UINT32_MAX, count;

	for (uint64_t i = info; i < segment->count; i += count) {
		struct page page;

		count = peek(walker, segment->slices + i * SLICE_BYTES) & UINT32_MAX;
		if (count == 0) // the memory is gone: something has ended the frozen copy
			break;
		if (!read_page(walker, segment, i, &page) || page.used == 0)
			continue;
		HEAP_TRY(walk_page(walker, &page));
		if (page.heap && (walker->heaps.count == 0 ||
				  walker->heaps.items[walker->heaps.count - 1] != page.heap))
			HEAP_TRY(heap_array_append(&walker->heaps, page.heap));
	}
	return NULL;
}

// A list that was gone through has no block left that is live.
static void remove_delayed(struct walker *walker)
{
	for (size_t i = 0; i < walker->heaps.count; i++) {
		uint64_t block = peek(walker, walker->heaps.items[i] + DELAYED);

		while (block != 0 && blocks_remove(walker->blocks, block))
			block = peek(walker, block);
	}
}

// --- all of it --------------------------------------------------------------------------

// @param found  set to true if the pages add up
HEAP_MUST_CHECK
static struct heap_error *walk_segments(struct walker *walker, bool *found)
{
	const struct block_mark mark = blocks_mark(walker->blocks);

	walker->pages = (struct block_audit){ "mimalloc", "pages", "free blocks", 0, 0 };
	walker->heaps.count = 0;
	for (size_t i = 0; i < walker->segments.count; i++)
		HEAP_TRY(walk_segment(walker, &walker->segments.items[i]));
	*found = blocks_accept(walker->blocks, mark, &walker->pages);
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk(struct walker *walker)
{
	bool found = false;

	HEAP_TRY(find_segments(walker));
	if (walker->segments.count == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]) && !found; i++) {
		walker->shift = shifts[i];
		HEAP_TRY(walk_segments(walker, &found));
	}
	if (!found) {
		blocks_doubt(walker->blocks, "blocks of mimalloc are not known, as its free lists "
					     "are encoded (secure mode) or it is not 2.0");
		return NULL;
	}
	HEAP_TRY(blocks_sort(walker->blocks));
	remove_delayed(walker);
	return NULL;
}

static void walker_deinit(struct walker *walker)
{
	windows_deinit(&walker->windows);
	heap_array_deinit(&walker->segments);
	heap_array_deinit(&walker->heaps);
}

struct heap_error *blocks_find_mimalloc(struct blocks *blocks, const struct image *image)
{
	CLEANUP(walker_deinit) struct walker walker = { .blocks = blocks, .image = image };

	HEAP_TRY(windows_init(&walker.windows, image));
	return walk(&walker);
}
