// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BLOCK_GRID_H
#define BLOCK_GRID_H

/**
 * Consecutive blocks of one size, as in a page of mimalloc or a span of tcmalloc. The free ones are
 * linked by their first words.
 */

#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/window.h"

enum {
	BLOCK_GRID_MOST = UINT16_MAX
};

struct block_grid {
	uint64_t first;                         /**< address */
	uint64_t size;                          /**< of each block, in bytes; not 0 */
	uint32_t count;                         /**< at most BLOCK_GRID_MOST */
	uint8_t freed[BLOCK_GRID_MOST / 8 + 1]; /**< a bit per block */
};

/** Begins with all blocks in use. @return false: there would be too many, or none */
bool block_grid_init(struct block_grid *grid, uint64_t first, uint64_t size, uint64_t count);

/** Marks the blocks of a list as free. @return how many; the list ends where it leaves the grid */
uint32_t block_grid_mark(struct block_grid *grid, struct windows *windows, uint64_t block);

/**
 * Adds the blocks that are not free as a run. Their first words must have been written once, as by an
 * allocator that has linked them: others are left out.
 */
HEAP_MUST_CHECK
struct heap_error *block_grid_add(const struct block_grid *grid, const struct image *image,
				  struct blocks *blocks);

#endif
