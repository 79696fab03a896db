// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/gaps.h"

#include "dumper/writer/scan/blocks/chunks.h"

#include <string.h>

enum {
	PAGE = 4096,
	CHUNK_HEAD = 16, // from a chunk's start to its base
};

// The pages of the mapped chunk of a block. @return false if it has none
static bool find_pages(const struct image *image, const struct image_mapping *mapping,
		       uint64_t block, uint64_t lead, struct gap *pages)
{
	uint64_t base = block - lead, chunk = chunk_read(image, base), before;

	if (chunk == 0 || !chunk_is_mapped(chunk) ||
	    !image_read(image, base - CHUNK_HEAD, &before, sizeof(before)))
		return false;
	// An aligned chunk says how far it is from the start of its pages.
	pages->start = base - CHUNK_HEAD - before;
	pages->end = chunk_end(base, chunk) - CHUNK_HEAD;
	return before < base && pages->start % PAGE == 0 && pages->end % PAGE == 0 &&
	       pages->start >= mapping->start && pages->end <= mapping->end && pages->end > block;
}

HEAP_MUST_CHECK
static struct heap_error *add_gap(struct gaps *gaps, uint64_t start, uint64_t end)
{
	return end > start ? heap_array_append(gaps, (struct gap){ start, end }) : NULL;
}

struct heap_error *gaps_find(const struct image *image, const struct objects *objects,
			     const struct image_mapping *mapping, uint64_t lead, struct gaps *gaps)
{
	const struct object_range *range = objects_range(objects, mapping->start);
	uint64_t start = mapping->start;
	size_t before = gaps->count;

	for (uint32_t i = range ? range->first : 0; range && i < range->first + range->count; i++) {
		uint64_t block = objects_address(objects, i);
		struct gap pages;

		if (block < mapping->start)
			continue;
		if (block >= mapping->end)
			break;
		if (!find_pages(image, mapping, block, lead, &pages) || pages.start < start) {
			gaps->count = before;
			return NULL;
		}
		HEAP_TRY(add_gap(gaps, start, pages.start));
		start = pages.end;
	}
	return add_gap(gaps, start, mapping->end);
}
