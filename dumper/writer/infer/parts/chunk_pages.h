// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CHUNK_PAGES_H
#define CHUNK_PAGES_H

/**
 * Pages of chunks: blocks that the program cuts into chunks of one size, without headers.
 *
 *	page of 32  ┌ head ┬ chunk ┬ chunk ┬ chunk ┬ … ┬ tail ┐     one site, one size of blocks,
 *	page of 48  ┌ head ┬    chunk ┬    chunk ┬ …   ┬ tail ┐     several sizes of chunks
 *
 * A chunk may be of any type that has its size, or a little less: allocators round sizes up. So such a page is no
 * array, though all pointers into it lead to places at a steady stride, as they do into an array whose elements
 * are handed out. What tells pages from arrays is that those of one site and size have different strides. Where no
 * sites are known, most also have chunks that begin behind the page's start, or a pointer to their tail.
 *
 * Each page is an arena (arenas.h) whose chunks have no headers.
 */

#include "dumper/writer/infer/parts/arenas.h"

enum {
	CHUNK_PAGE_UNIT =
		16, /**< bytes; sizes of chunks are rounded up to no more than a multiple of it */
};

/**
 * Adds the pages to the arenas.
 *
 * @param classes  [objects] those that virtual tables tell: such a block is no page
 * @param counts   [objects] by arena_targets_count()
 */
HEAP_MUST_CHECK
struct heap_error *chunk_pages_find(const struct capture *capture, const heap_type_id *classes,
				    const uint8_t *counts, struct arenas *arenas);

/** Bytes of a chunk that the program may not have requested. */
static inline uint64_t chunk_pages_slack(uint64_t size)
{
	uint64_t unit = size & -size;

	return (unit < CHUNK_PAGE_UNIT ? unit : CHUNK_PAGE_UNIT) - 1;
}

#endif
