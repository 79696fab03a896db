// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MIMALLOC_PAGES_H
#define MIMALLOC_PAGES_H

/**
 * The pages of mimalloc, which all versions have: blocks of one size, and three lists of free ones.
 *
 * The first two lists, and the number of used blocks, have to agree with the number of all. If they
 * disagree, the lists are encoded (secure mode), or the page is described in another way.
 */

#include "dumper/writer/scan/blocks/block_grid.h"

/** A page, by its description. */
struct mimalloc_page {
	uint64_t first;      /**< address of the first block */
	uint64_t block_size; /**< bytes */
	uint64_t room;       /**< bytes from the first block on */
	uint32_t capacity;   /**< blocks that have been used once */
	uint32_t used;       /**< with those in the last list */
	uint64_t free, local_free,
		thread_free; /**< addresses of the lists' first blocks; 0: empty */
};

/** A walk through pages. */
struct mimalloc_walk {
	struct blocks *blocks;
	const struct image *image;
	struct windows windows;
	struct block_audit pages;      /**< of those with free blocks, and of what is no page */
	size_t well_formed, malformed; /**< pages: whether blocks of their size have room */
	struct block_grid grid;
};

HEAP_MUST_CHECK
struct heap_error *mimalloc_walk_init(struct mimalloc_walk *walk, struct blocks *blocks,
				      const struct image *image);

/** Zeros are fine. */
void mimalloc_walk_deinit(struct mimalloc_walk *walk);

/** Begins anew to count pages. */
void mimalloc_reset_pages(struct mimalloc_walk *walk);

/** Adds the live blocks of a page. */
HEAP_MUST_CHECK
struct heap_error *mimalloc_add_page(struct mimalloc_walk *walk, const struct mimalloc_page *page);

static inline uint64_t mimalloc_peek(struct mimalloc_walk *walk, uint64_t address)
{
	return window_peek(&walk->windows.near, address);
}

/** Notes that there is mimalloc whose blocks are not known. */
void mimalloc_doubt(struct blocks *blocks);

#endif
