// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * mimalloc 2: include/mimalloc/types.h, src/segment.c, src/page.c.
 *
 *	segment, at a multiple of 32 MiB: header, slice slice slice ...    one per 64 KiB
 *	slice ──▶ page: block block block ...      lists of free blocks: free, local_free, thread_free
 *	slice ──heap──▶ thread_delayed_free: blocks that other threads have freed
 *
 * A segment is recognized by its slices, which have to fill it; a version by the pages' lists, which
 * have to agree with their numbers of used blocks: mimalloc_pages.h.
 */
#include "dumper/writer/scan/blocks/mimalloc_pages.h"

#include <stdlib.h>

enum {
	PAGE = 4096,
	SLICE = 1 << 16,
	SEGMENT_ALIGNMENT = 32 << 20,
	LEAST_HEADER = 128, // bytes before the slices: versions differ
	MOST_HEADER = 512,
	MOST_INFO = 64,      // slices that the header takes up
	MOST_SHIFTED = 1024, // blocks up to this size do not begin with the slice
	ENOUGH = 32,         // pages that agree are no accident
	DELAYED_EARLY = 8,   // offset of thread_delayed_free in a heap
	DELAYED_LATE = 2840, // likewise, where the queues of pages precede it
};

#define HUGE_BLOCK (UINT64_C(2) << 30) // as size: all that there is

// Where the first block of a page lies.
enum start {
	START_FIXED,   // so many bytes behind the beginning of the slice, if blocks are small
	START_BY_SIZE, // three blocks, or one, behind it
	START_NOTED,   // in the slice's description
};

static const struct version {
	uint64_t slice_bytes; // of a slice's description, struct mi_page_s
	enum start start;
	uint64_t shift; // bytes, if it is fixed
	uint64_t used;  // from the slices back to the number of used pages
} versions[] = {
	{ 80, START_FIXED, 384, 56 }, // 2.0.7
	{ 80, START_FIXED, 128, 56 }, // before
	{ 80, START_BY_SIZE, 0, 56 }, // 2.1.0
	{ 80, START_FIXED, 0, 56 },   // if none is shifted
	{ 96, START_NOTED, 0, 72 },   // 2.1.4
};

struct segment {
	uint64_t address;
	uint64_t slices; // address
	uint64_t count;  // of slices that are described
	uint64_t bytes;
};

struct walker {
	struct mimalloc_walk walk;
	const struct version *version;
	struct HEAP_ARRAY(struct segment) segments;
	struct HEAP_ARRAY(uint64_t) heaps; // addresses, some of them more than once
	struct HEAP_ARRAY(uint64_t) known,
		unknown; // addresses of segments: of a version that adds up, or not
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return mimalloc_peek(&walker->walk, address);
}

// --- segments ---------------------------------------------------------------------

// True if the slices follow each other up to the end.
static bool has_slices(struct walker *walker, const struct segment *segment, bool is_huge)
{
	uint64_t at = 0;

	while (at < segment->count) {
		uint64_t word = peek(walker, segment->slices + at * walker->version->slice_bytes);
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
	uint64_t used = peek(walker, at - walker->version->used), all = peek(walker, at - 40),
		 info = peek(walker, at - 32), kind = (uint32_t)peek(walker, at - 24);

	segment->count = peek(walker, at - 16);
	segment->bytes = all * SLICE;
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

// The inner parts of a huge segment are the program's.
static uint64_t end_of_segments(const struct walker *walker)
{
	const struct segment *last;

	if (walker->segments.count == 0)
		return 0;
	last = &walker->segments.items[walker->segments.count - 1];
	return last->address + last->bytes;
}

HEAP_MUST_CHECK
static struct heap_error *find_segments(struct walker *walker)
{
	const struct image *image = walker->walk.image;
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
			if (address >= touched && address >= end_of_segments(walker))
				HEAP_TRY(add_segment(walker, address));
			address = ((address >= touched ? address + 1 : touched) + mask) & ~mask;
		}
	}
	return NULL;
}

// --- pages ------------------------------------------------------------------------

// Bytes between the beginning of a slice and its first block.
static uint64_t shift_of(const struct version *version, uint64_t block_size)
{
	if (version->start == START_FIXED)
		return block_size <= MOST_SHIFTED ? version->shift : 0;
	return block_size <= 64 ? 3 * block_size : block_size <= 512 ? block_size : 0;
}

// @param start  of the slice
static void read_old_page(struct walker *walker, uint64_t at, uint64_t start,
			  struct mimalloc_page *page)
{
	uint64_t sizes = peek(walker, at + 24);

	page->used = (uint32_t)sizes;
	page->block_size = sizes >> 32;
	page->local_free = peek(walker, at + 32);
	page->thread_free = peek(walker, at + 40) & ~UINT64_C(3);
	if (page->block_size == HUGE_BLOCK)
		page->block_size = page->room;
	page->first = start + shift_of(walker->version, page->block_size);
}

static void read_new_page(struct walker *walker, uint64_t at, struct mimalloc_page *page)
{
	page->local_free = peek(walker, at + 24);
	page->used = peek(walker, at + 32) & UINT16_MAX;
	page->block_size = peek(walker, at + 40);
	page->first = peek(walker, at + 48);
	page->thread_free = peek(walker, at + 56) & ~UINT64_C(3);
}

// @param heap  gets the address of the heap that the page belongs to, or 0
// @return      false: the slices are free, or hold no page
static bool read_page(struct walker *walker, const struct segment *segment, uint64_t index,
		      struct mimalloc_page *page, uint64_t *heap)
{
	uint64_t at = segment->slices + index * walker->version->slice_bytes;
	uint64_t start = segment->address + index * SLICE, slices = (uint32_t)peek(walker, at);
	bool is_old = walker->version->start != START_NOTED;

	*page = (struct mimalloc_page){
		.room = slices * SLICE,
		.capacity = peek(walker, at + 8) >> 16 & UINT16_MAX,
		.free = peek(walker, at + 16),
	};
	if (is_old)
		read_old_page(walker, at, start, page);
	else
		read_new_page(walker, at, page);
	*heap = peek(walker, at + (is_old ? 48 : 64));
	page->room -= page->first - start < page->room ? page->first - start : page->room;
	return page->block_size > 0 && page->used > 0;
}

HEAP_MUST_CHECK
static struct heap_error *walk_segment(struct walker *walker, const struct segment *segment)
{
	uint64_t info = peek(walker, segment->slices) & UINT32_MAX, count;

	for (uint64_t i = info; i < segment->count; i += count) {
		struct mimalloc_page page;
		uint64_t heap;

		count = peek(walker, segment->slices + i * walker->version->slice_bytes) &
			UINT32_MAX;
		if (count == 0) // the memory is gone: something has ended the frozen copy
			break;
		if (!read_page(walker, segment, i, &page, &heap))
			continue;
		HEAP_TRY(mimalloc_add_page(&walker->walk, &page));
		if (heap && (walker->heaps.count == 0 ||
			     walker->heaps.items[walker->heaps.count - 1] != heap))
			HEAP_TRY(heap_array_append(&walker->heaps, heap));
	}
	return NULL;
}

// Removes the blocks of a heap's list. The heap may have another layout: then the word is none of a block.
static void remove_list(struct walker *walker, uint64_t at)
{
	uint64_t block = peek(walker, at);

	// A list that was gone through has no block left that is live.
	while (block != 0 && blocks_remove(walker->walk.blocks, block))
		block = peek(walker, block);
}

static void remove_delayed(struct walker *walker)
{
	for (size_t i = 0; i < walker->heaps.count; i++) {
		remove_list(walker, walker->heaps.items[i] + DELAYED_EARLY);
		remove_list(walker, walker->heaps.items[i] + DELAYED_LATE);
	}
}

// --- all of it --------------------------------------------------------------------------

HEAP_MUST_CHECK
static struct heap_error *walk_segments(struct walker *walker, const struct version *version)
{
	walker->version = version;
	mimalloc_reset_pages(&walker->walk);
	walker->heaps.count = 0;
	for (size_t i = 0; i < walker->segments.count; i++)
		HEAP_TRY(walk_segment(walker, &walker->segments.items[i]));
	return NULL;
}

// Takes the version with which the lists of most pages agree: of few pages, two may by accident.
// @param version  the first one to try
// @param found    set to true if the pages add up
HEAP_MUST_CHECK
static struct heap_error *walk_best(struct walker *walker, const struct version *version,
				    bool *found)
{
	const struct version *end = versions + sizeof(versions) / sizeof(versions[0]), *best = NULL;
	const struct block_audit *pages = &walker->walk.pages;
	struct blocks *blocks = walker->walk.blocks;
	const struct block_mark mark = blocks_mark(blocks);
	const uint64_t length = version->slice_bytes;
	size_t most = 0;

	for (; version < end && version->slice_bytes == length; version++) {
		HEAP_TRY(walk_segments(walker, version));
		if (!best || pages->agreeing > most) {
			best = version;
			most = pages->agreeing;
		}
		if (pages->agreeing == pages->count && pages->count >= ENOUGH)
			break;
		blocks_rewind(blocks, mark);
	}
	if (version == end || version->slice_bytes != length)
		HEAP_TRY(walk_segments(walker, best));
	*found = blocks_accept(blocks, mark, pages);
	return NULL;
}

// Walks the segments whose slices have descriptions of one length.
// @param version  the first one with that length
HEAP_MUST_CHECK
static struct heap_error *walk_versions(struct walker *walker, const struct version *version)
{
	bool found = false;

	walker->version = version;
	walker->segments.count = 0;
	HEAP_TRY(find_segments(walker));
	if (walker->segments.count == 0)
		return NULL;
	HEAP_TRY(walk_best(walker, version, &found));
	for (size_t i = 0; i < walker->segments.count; i++) {
		uint64_t address = walker->segments.items[i].address;

		HEAP_TRY(found ? heap_array_append(&walker->known, address)
			       : heap_array_append(&walker->unknown, address));
	}
	if (found) {
		HEAP_TRY(blocks_sort(walker->walk.blocks));
		remove_delayed(walker);
	}
	return NULL;
}

static bool is_known(const struct walker *walker, uint64_t segment)
{
	for (size_t i = 0; i < walker->known.count; i++) {
		if (walker->known.items[i] == segment)
			return true;
	}
	return false;
}

HEAP_MUST_CHECK
static struct heap_error *walk(struct walker *walker)
{
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		if (i == 0 || versions[i].slice_bytes != versions[i - 1].slice_bytes)
			HEAP_TRY(walk_versions(walker, &versions[i]));
	}
	for (size_t i = 0; i < walker->unknown.count; i++) {
		if (!is_known(walker, walker->unknown.items[i])) {
			mimalloc_doubt(walker->walk.blocks);
			break;
		}
	}
	return NULL;
}

static void walker_deinit(struct walker *walker)
{
	mimalloc_walk_deinit(&walker->walk);
	heap_array_deinit(&walker->segments);
	heap_array_deinit(&walker->heaps);
	heap_array_deinit(&walker->known);
	heap_array_deinit(&walker->unknown);
}

struct heap_error *blocks_find_mimalloc(struct blocks *blocks, const struct image *image)
{
	CLEANUP(walker_deinit) struct walker walker = { 0 };

	HEAP_TRY(mimalloc_walk_init(&walker.walk, blocks, image));
	return walk(&walker);
}
