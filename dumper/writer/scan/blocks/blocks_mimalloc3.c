// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * mimalloc 3: include/mimalloc/types.h, src/page-map.c, src/page.c.
 *
 *	variable ──▶ page map: submap submap ...    one per 512 MiB of addresses
 *	submap: page page page ...                  one per 64 KiB: the page that lies there, or 0
 *	page ──▶ block block block ...              lists of free blocks: free, local_free, thread_free
 *
 * free() looks up each block in the page map, so that it knows all pages. The first submap lies
 * right behind the map, which is thereby recognized. Since 3.6 a header precedes the map.
 */
#include "dumper/writer/scan/blocks/mimalloc_pages.h"

#include <stdlib.h>

enum {
	PAGE = 4096,
	SLICE_BITS = 16,
	SUBMAP_BITS = 13,
	SUBMAP_BYTES = 8 << SUBMAP_BITS,
	LEAST_VIRTUAL_BITS = 39,
	MOST_VIRTUAL_BITS = 56,
	MOST_HEADER = 256, // bytes before a map
	MOST_MAPS = 64,
};

// How a page tells where its blocks begin.
enum start {
	START_ADDRESS,
	START_WORDS, // behind the page's description
	START_PAIRS, // of words
	START_BYTES,
};

// Offsets in a page's description, struct mi_page_s.
static const struct layout {
	uint64_t free, thread_free, block_size;
	uint64_t used;     // 16 bits
	uint64_t capacity; // 16 bits, and 16 for what it may become
	enum start start;
} layouts[] = {
	{ 8, 32, 40, 16, 18, START_ADDRESS }, // 3.0
	{ 8, 32, 40, 16, 18, START_PAIRS },
	{ 8, 32, 40, 16, 18, START_WORDS },  // 3.4
	{ 16, 64, 32, 40, 56, START_BYTES }, // 3.6
};

enum {
	LAYOUTS = sizeof(layouts) / sizeof(layouts[0]),
	LOCAL_FREE = 24, // in all of them
	START = 48,
};

struct map {
	uint64_t address;
	uint64_t count; // of submaps
};

struct submap {
	uint64_t address;
	uint64_t slice; // number of the first one
};

struct walker {
	struct mimalloc_walk walk;
	struct HEAP_ARRAY(struct map) maps;
	struct HEAP_ARRAY(struct submap) submaps; // of the map that is walked
	const struct map *map;                    // that is walked
	const struct submap *submap;
	uint64_t last; // address of the page that was met last
	const struct layout *layout;
	bool is_map;   // false: an entry is none of a page map
	bool is_there; // there are pages, however they count their free blocks
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return mimalloc_peek(&walker->walk, address);
}

// --- the page map ------------------------------------------------------------------

static bool is_memory(const struct walker *walker, uint64_t address)
{
	return address % 8 == 0 && image_is_private_memory(image_find(walker->walk.image, address));
}

// @param first  the map's first entry
// @return       the number of submaps that the map has room for; 0: it is none
static uint64_t count_submaps(const struct walker *walker, uint64_t map, uint64_t first)
{
	uint64_t count = (first - map) / 8;
	const int bits = 63 - __builtin_clzll(count | 1) + SLICE_BITS + SUBMAP_BITS;

	// A power of 2; with a header, what fills its page.
	count &= UINT64_MAX << (bits - SLICE_BITS - SUBMAP_BITS);
	return first > map && first % PAGE == 0 && bits >= LEAST_VIRTUAL_BITS &&
			       bits <= MOST_VIRTUAL_BITS && first - map - count * 8 < PAGE &&
			       is_memory(walker, first)
		       ? count
		       : 0;
}

// @param address  where a map may begin, or its header
HEAP_MUST_CHECK
static struct heap_error *add_map(struct walker *walker, uint64_t address)
{
	struct map map = { .count = 0 };

	for (size_t i = 0; i < walker->maps.count; i++) {
		if (walker->maps.items[i].address - address < MOST_HEADER)
			return NULL;
	}
	if (walker->maps.count == MOST_MAPS || !is_memory(walker, address))
		return NULL;
	for (uint64_t header = 0; header < MOST_HEADER && map.count == 0; header += 8) {
		map.address = address + header;
		map.count = count_submaps(walker, map.address, peek(walker, map.address));
	}
	return map.count > 0 ? heap_array_append(&walker->maps, map) : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *search_words(void *context, uint64_t address, const uint64_t *words,
				       size_t count)
{
	(void)address;
	for (size_t i = 0; i < count; i++) {
		if (words[i] != 0 && words[i] % PAGE == 0)
			HEAP_TRY(add_map(context, words[i]));
	}
	return NULL;
}

// The variable lies in the data of a module.
HEAP_MUST_CHECK
static struct heap_error *find_maps(struct walker *walker)
{
	const struct image *image = walker->walk.image;

	for (size_t i = 0; i < image->mapping_count; i++) {
		uint64_t start = image->mappings[i].start, end = image_data_end(image, i);

		if (end != 0)
			HEAP_TRY(image_visit(image, start, end, search_words, walker));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *add_submaps(void *context, uint64_t address, const uint64_t *words,
				      size_t count)
{
	struct walker *walker = context;
	uint64_t number = (address - walker->map->address) / 8;

	for (size_t i = 0; i < count && walker->is_map; i++) {
		struct submap submap = { words[i], (number + i) << SUBMAP_BITS };

		if (words[i] == 0)
			continue;
		walker->is_map = is_memory(walker, words[i]);
		HEAP_TRY(heap_array_append(&walker->submaps, submap));
	}
	return NULL;
}

// --- pages -----------------------------------------------------------------------------

static uint64_t first_block(struct walker *walker, uint64_t page)
{
	uint64_t word = peek(walker, page + START);

	switch (walker->layout->start) {
	case START_ADDRESS:
		return word;
	case START_WORDS:
		return page + (word & UINT32_MAX) * 8;
	case START_PAIRS:
		return page + (word & UINT32_MAX) * 16;
	default:
		return page + (word & UINT32_MAX);
	}
}

static uint64_t peek_half_words(struct walker *walker, uint64_t address)
{
	return peek(walker, address & ~UINT64_C(7)) >> address % 8 * 8;
}

// True if the map has a page where it begins; 3.0 leaves entries of freed slices behind.
static bool is_mapped(struct walker *walker, uint64_t page, uint64_t first)
{
	uint64_t slice = first >> SLICE_BITS, index = slice >> SUBMAP_BITS,
		 submap = index < walker->map->count
				  ? peek(walker, walker->map->address + index * 8)
				  : 0;

	return submap != 0 && peek(walker, submap + (slice & (SUBMAP_BYTES / 8 - 1)) * 8) == page;
}

// @param slice  number of the first slice that the map has for the page
HEAP_MUST_CHECK
static struct heap_error *add_page(struct walker *walker, uint64_t at, uint64_t slice)
{
	const struct layout *layout = walker->layout;
	uint64_t counts = peek_half_words(walker, at + layout->capacity),
		 size = peek(walker, at + layout->block_size), reserved = counts >> 16 & UINT16_MAX;
	struct mimalloc_page page = {
		.first = first_block(walker, at),
		.block_size = size,
		.room = size <= UINT64_MAX / (UINT16_MAX + 1) ? size * reserved : 0,
		.capacity = counts & UINT16_MAX,
		.used = peek_half_words(walker, at + layout->used) & UINT16_MAX,
		.free = peek(walker, at + layout->free),
		.local_free = peek(walker, at + LOCAL_FREE),
		.thread_free = peek(walker, at + layout->thread_free) & ~UINT64_C(7),
	};

	if (page.used == 0 && page.capacity <= reserved)
		return NULL;
	if (page.first >> SLICE_BITS != slice) {
		if (is_mapped(walker, at, page.first))
			return NULL;
		page.room = 0;
	}
	return mimalloc_add_page(&walker->walk, &page);
}

HEAP_MUST_CHECK
static struct heap_error *add_pages(void *context, uint64_t address, const uint64_t *words,
				    size_t count)
{
	struct walker *walker = context;
	uint64_t slice = walker->submap->slice + (address - walker->submap->address) / 8;

	for (size_t i = 0; i < count && walker->is_map; i++) {
		if (words[i] == walker->last)
			continue;
		walker->last = words[i];
		// A constant stands for the page of NULL.
		walker->is_map = words[i] % 8 == 0 &&
				 (words[i] == 0 || image_find(walker->walk.image, words[i]));
		if (words[i] != 0 && walker->is_map)
			HEAP_TRY(add_page(walker, words[i], slice + i));
	}
	return NULL;
}

// @param found  set to true if the pages add up
HEAP_MUST_CHECK
static struct heap_error *walk_pages(struct walker *walker, bool *found)
{
	struct blocks *blocks = walker->walk.blocks;
	const struct block_mark mark = blocks_mark(blocks);

	mimalloc_reset_pages(&walker->walk);
	walker->last = 0;
	for (size_t i = 0; i < walker->submaps.count && walker->is_map; i++) {
		uint64_t start = walker->submaps.items[i].address;

		walker->submap = &walker->submaps.items[i];
		HEAP_TRY(image_visit(walker->walk.image, start, start + SUBMAP_BYTES, add_pages,
				     walker));
	}
	*found = walker->is_map && walker->walk.well_formed > 0 &&
		 blocks_accept(blocks, mark, &walker->walk.pages);
	if (!*found)
		blocks_rewind(blocks, mark);
	walker->is_there |= walker->is_map && walker->walk.well_formed > walker->walk.malformed;
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_map(struct walker *walker)
{
	uint64_t start = walker->map->address;
	bool found = false;

	walker->is_map = true;
	walker->is_there = false;
	walker->submaps.count = 0;
	HEAP_TRY(image_visit(walker->walk.image, start, start + walker->map->count * 8, add_submaps,
			     walker));
	if (!walker->is_map || walker->submaps.count < 2)
		return NULL;
	for (size_t i = 0; i < LAYOUTS && walker->is_map && !found; i++) {
		walker->layout = &layouts[i];
		HEAP_TRY(walk_pages(walker, &found));
	}
	if (!found && walker->is_there)
		mimalloc_doubt(walker->walk.blocks);
	return NULL;
}

// --- all of it --------------------------------------------------------------------------

static void walker_deinit(struct walker *walker)
{
	mimalloc_walk_deinit(&walker->walk);
	heap_array_deinit(&walker->maps);
	heap_array_deinit(&walker->submaps);
}

struct heap_error *blocks_find_mimalloc3(struct blocks *blocks, const struct image *image)
{
	CLEANUP(walker_deinit) struct walker walker = { 0 };

	HEAP_TRY(mimalloc_walk_init(&walker.walk, blocks, image));
	HEAP_TRY(find_maps(&walker));
	for (size_t i = 0; i < walker.maps.count; i++) {
		walker.map = &walker.maps.items[i];
		HEAP_TRY(walk_map(&walker));
	}
	return NULL;
}
