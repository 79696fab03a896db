// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/php_chunks.h"

enum {
	CHUNK = 2 << 20, // bytes, and their alignment
	PAGE = 4096,
	PAGES = CHUNK / PAGE, // the first of which holds the header
};

// The beginning of struct _zend_mm_chunk of Zend/zend_alloc.c, since PHP 7.0.
struct chunk {
	uint64_t heap;           // lies in the first page of the first chunk
	uint64_t next, previous; // in a ring
	uint32_t free_pages;
	uint32_t free_tail; // the number of the page from which on all are free
};

static bool is_chunk_address(uint64_t address)
{
	return address != 0 && address % CHUNK == 0;
}

static bool read_chunk(const struct image *image, uint64_t address, struct chunk *chunk)
{
	return is_chunk_address(address) && image_read(image, address, chunk, sizeof(*chunk)) &&
	       is_chunk_address(chunk->next) && is_chunk_address(chunk->previous) &&
	       chunk->heap % CHUNK != 0 && chunk->heap % CHUNK < PAGE &&
	       chunk->free_pages < PAGES && chunk->free_tail <= PAGES;
}

// True if the neighbours in the ring know the chunk, and are of one heap with it.
static bool is_linked(const struct image *image, uint64_t address, const struct chunk *chunk)
{
	struct chunk next, previous;

	return read_chunk(image, chunk->next, &next) && next.previous == address &&
	       next.heap == chunk->heap && read_chunk(image, chunk->previous, &previous) &&
	       previous.next == address && previous.heap == chunk->heap;
}

uint64_t php_chunks_size(const struct image *image)
{
	uint64_t result = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t first = (mapping->start + CHUNK - 1) & ~(uint64_t)(CHUNK - 1);
		uint64_t touched = 0, until = 0; // memory that may hold something

		if (!image_is_private_memory(mapping))
			continue;
		for (uint64_t at = first; at < mapping->end && mapping->end - at >= CHUNK;
		     at += CHUNK) {
			struct chunk chunk;

			if (at >= until)
				touched = image_skip_untouched(image, at, mapping->end, &until);
			at = at < touched ? touched & ~(uint64_t)(CHUNK - 1) : at;
			if (mapping->end - at >= CHUNK && read_chunk(image, at, &chunk) &&
			    is_linked(image, at, &chunk))
				result += CHUNK - chunk.free_pages * (uint64_t)PAGE;
		}
	}
	return result;
}
