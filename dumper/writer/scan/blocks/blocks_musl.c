// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * musl's malloc since 1.2.1: src/malloc/mallocng/meta.h.
 *
 *	meta area, at a page: secret ...  meta meta meta ...
 *	meta ──mem──▶ group: meta, slot slot slot ...    masks in the meta tell the free slots
 *
 * The secret is the second word of the 16 random bytes that the kernel gives each program. A slot
 * stores how much of it is beyond the requested size, so sizes are exact.
 */
#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/window.h"

#include <string.h>
#include <sys/mman.h>

enum {
	PAGE = 4096,
	UNIT = 16,
	AREA_HEADER = 24, // secret, next, number of slots
	META_SIZE = 40,
	MAX_METAS = (PAGE - AREA_HEADER) / META_SIZE,
	GROUP_HEADER = 16,
	IN_BAND = 4, // bytes before each block
	OFFSET_OF_ALIGNED = 7,
	NESTED_GROUP = 6,
	RESERVED_IS_FAR = 5,
	CLASSES = 48,
};

static const uint16_t class_units[CLASSES] = {
	1,   2,   3,   4,    5,    6,    7,    8,    9,    10,   12,   15,   18,   20,   25,   31,
	36,  42,  50,  63,   72,   84,   102,  127,  146,  170,  204,  255,  292,  340,  409,  511,
	584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

struct walker {
	struct blocks *blocks;
	const struct image *image;
	struct windows windows;
	size_t groups;
};

struct meta {
	uint64_t memory;
	uint32_t free; // a bit per slot
	unsigned last, size_class;
	uint64_t mapped_pages;
};

static uint64_t peek(struct walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

static uint32_t peek_half(struct walker *walker, uint64_t address)
{
	uint64_t word = peek(walker, address & ~UINT64_C(7));

	return (uint32_t)(word >> address % 8 * 8);
}

static bool read_meta(struct walker *walker, uint64_t address, struct meta *meta)
{
	uint64_t masks = peek(walker, address + 24), bits = peek(walker, address + 32);

	*meta = (struct meta){
		.memory = peek(walker, address + 16),
		.free = (uint32_t)masks | (uint32_t)(masks >> 32),
		.last = bits & 31,
		.size_class = bits >> 6 & 63,
		.mapped_pages = bits >> 12,
	};
	return meta->memory != 0 && meta->memory % UNIT == 0 &&
	       peek(walker, meta->memory) == address;
}

// Adds the block in a slot. @param end  where the slot ends, but for what belongs to the next
HEAP_MUST_CHECK
static struct heap_error *add_slot(struct walker *walker, uint64_t start, uint64_t end)
{
	uint32_t header = peek_half(walker, start - IN_BAND);
	uint32_t reserved;

	if ((header >> 13 & 7) == OFFSET_OF_ALIGNED) {
		start += (uint64_t)UNIT * (header >> 16);
		header = peek_half(walker, start - IN_BAND);
	}
	reserved = header >> 13 & 7;
	if (reserved == NESTED_GROUP) // whose blocks lie between those of this one
		return blocks_end_run(walker->blocks);
	if (start > end)
		return NULL;
	if (reserved >= RESERVED_IS_FAR)
		reserved = peek_half(walker, end - IN_BAND);
	return reserved <= end - start ? blocks_add(walker->blocks, start, end - reserved - start)
				       : NULL;
}

HEAP_MUST_CHECK
static struct heap_error *walk_group(struct walker *walker, const struct meta *meta)
{
	bool is_mapped = meta->last == 0 && meta->mapped_pages != 0;
	uint64_t stride, first = meta->memory + GROUP_HEADER;
	const struct image_mapping *mapping = image_find(walker->image, first);

	if (!is_mapped && meta->size_class >= CLASSES)
		return NULL;
	stride = is_mapped ? meta->mapped_pages * PAGE - GROUP_HEADER
			   : (uint64_t)UNIT * class_units[meta->size_class];
	if (!mapping || stride > mapping->end - first ||
	    stride * meta->last > mapping->end - first - stride)
		return NULL;
	walker->groups++;
	for (unsigned i = 0; i <= meta->last; i++) {
		uint64_t start = first + stride * i;

		if (!(meta->free >> i & 1))
			HEAP_TRY(add_slot(walker, start, start + stride - IN_BAND));
	}
	return blocks_end_run(walker->blocks);
}

HEAP_MUST_CHECK
static struct heap_error *walk_area(struct walker *walker, uint64_t area)
{
	uint64_t count = peek(walker, area + 16) & UINT32_MAX;

	for (uint64_t i = 0; i < count && i < MAX_METAS; i++) {
		struct meta meta;

		if (read_meta(walker, area + AREA_HEADER + i * META_SIZE, &meta))
			HEAP_TRY(walk_group(walker, &meta));
	}
	return NULL;
}

HEAP_MUST_CHECK
static struct heap_error *find_areas(struct walker *walker, uint64_t secret)
{
	const struct image *image = walker->image;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];

		if (mapping->shared || !(mapping->protection & PROT_WRITE) ||
		    (mapping->kind != IMAGE_ANONYMOUS && mapping->kind != IMAGE_HEAP))
			continue;
		uint64_t until = mapping->start;

		for (uint64_t page = mapping->start; page < mapping->end; page += PAGE) {
			if (page >= until)
				page = image_skip_untouched(image, page, mapping->end, &until);
			if (page < mapping->end &&
			    window_peek(&walker->windows.far, page) == secret)
				HEAP_TRY(walk_area(walker, page));
		}
	}
	return NULL;
}

static void walker_deinit(struct walker *walker)
{
	windows_deinit(&walker->windows);
}

struct heap_error *blocks_find_musl(struct blocks *blocks, const struct image *image)
{
	CLEANUP(walker_deinit) struct walker walker = { .blocks = blocks, .image = image };
	uint64_t secret;

	if (image->random == 0 || !image_read(image, image->random + 8, &secret, sizeof(secret)) ||
	    secret == 0)
		return NULL;
	HEAP_TRY(windows_init(&walker.windows, image));
	HEAP_TRY(find_areas(&walker, secret));
	if (walker.groups > 0) {
		blocks_name(blocks, "musl");
		blocks->sizes = HEAP_BLOCK_SIZES_EXACT;
	}
	return NULL;
}
