// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_BLOCK_SIZES_H
#define HEAP_BLOCK_SIZES_H

/**
 * Sizes of blocks, and of what programs have requested: allocators round sizes up. The library records the
 * requested size. Where a process ran without it, only the usable size is known, which is that of the block.
 */

#include <stdbool.h>
#include <stdint.h>

/** How the size of a block relates to the size that the program requested. */
enum heap_block_sizes {
	HEAP_BLOCK_SIZES_EXACT,
	HEAP_BLOCK_SIZES_GLIBC, /**< it was rounded up to a multiple of 16, less 8; to 24 at least */
	/** to one of four sizes between two powers of 2, or more: jemalloc, mimalloc, tcmalloc */
	HEAP_BLOCK_SIZES_GEOMETRIC,
};

/** By the allocators whose structures told the blocks, as in struct heap_info: the coarsest of them. */
enum heap_block_sizes heap_block_sizes_by(const char *allocators);

/** Bytes of a block that the program may not have requested. @param size  bytes of the block */
static inline uint64_t heap_block_slack(enum heap_block_sizes sizes, uint64_t size)
{
	const uint64_t least = 24, even = 128;

	switch (sizes) {
	case HEAP_BLOCK_SIZES_GLIBC:
		return size <= least ? size : 15;
	case HEAP_BLOCK_SIZES_GEOMETRIC:
		return size <= even ? (size <= 16 ? 7 : 15)
				    : (UINT64_C(1) << (63 - __builtin_clzll(size - 1)) >> 2) - 1;
	default:
		return 0;
	}
}

/** True if a request of some bytes may have got a block of a size. */
static inline bool heap_block_may_hold(enum heap_block_sizes sizes, uint64_t size, uint64_t bytes)
{
	const uint64_t rest = 16;                        // of a free chunk, too small to be one
	const uint64_t page = 4096, mapped = 128 * 1024; // mappings of their own end with a page
	uint64_t slack = heap_block_slack(sizes, size);

	if (sizes == HEAP_BLOCK_SIZES_GLIBC)
		slack += size < mapped ? rest : page;
	return bytes <= size && size - bytes <= slack;
}

#endif
