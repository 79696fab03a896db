// SPDX-License-Identifier: GPL-3.0-or-later
#include "dumper/writer/scan/blocks/python_pools.h"

enum {
	PAGE = 4096,
	LARGE_POOL = 16384, // since Python 3.10
	ALIGNMENT = 16,     // of blocks: their sizes are multiples
	MAX_CLASSES = 32,   // of sizes
};

// struct pool_header of Objects/obmalloc.c, which every pool begins with.
struct pool {
	uint64_t used; // blocks, in its lower half
	uint64_t free_block;
	uint64_t next, previous;
	uint32_t arena;
	uint32_t class;                        // of size
	uint32_t next_offset, max_next_offset; // of the blocks that have never been used
};

// max_next_offset is where the last block of a pool begins.
static bool is_pool(const struct pool *pool, uint64_t address, uint32_t size)
{
	uint32_t block = (pool->class + 1) * ALIGNMENT;

	return address % size == 0 && pool->class < MAX_CLASSES &&
	       pool->max_next_offset == size - block && pool->next_offset <= size &&
	       pool->next_offset >= sizeof(*pool) && (uint32_t)pool->used > 0 &&
	       (uint32_t)pool->used <= size / block &&
	       (pool->free_block == 0 || pool->free_block - address < size);
}

static uint32_t pool_size(const struct image *image, uint64_t address)
{
	struct pool pool;

	if (!image_read(image, address, &pool, sizeof(pool)))
		return 0;
	return is_pool(&pool, address, LARGE_POOL) ? LARGE_POOL
	       : is_pool(&pool, address, PAGE)     ? PAGE
						   : 0;
}

static uint64_t pools_between(const struct image *image, uint64_t start, uint64_t end)
{
	uint64_t result = 0;

	for (uint64_t at = start; at < end;) {
		uint32_t size = pool_size(image, at);

		result += size;
		at += size ? size : PAGE;
	}
	return result;
}

uint64_t python_pools_size(const struct image *image)
{
	uint64_t result = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		const struct image_mapping *mapping = &image->mappings[i];
		uint64_t at = mapping->start, until;

		if (!image_is_private_memory(mapping))
			continue;
		while ((at = image_skip_untouched(image, at, mapping->end, &until)) <
		       mapping->end) {
			result += pools_between(image, at & ~(uint64_t)(PAGE - 1), until);
			at = until;
		}
	}
	return result;
}
