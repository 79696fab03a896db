// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOREIGN_MEMORY_H
#define FOREIGN_MEMORY_H

/**
 * Memory of a program that no allocator which is known here has got: the heap of a runtime, pools that
 * a program maps itself, or an allocator that nobody knows. Where it is much, blocks are missing. Pages of a
 * file that is mapped privately belong to it once they were written to, but for modules' data: some runtimes begin
 * with a heap that a file has.
 *
 * Pages count that the program has touched. Reading one that it has not touches it, too (the kernel maps a page
 * of zeros), so they are measured before anything reads memory in search of blocks, and counted once these are found:
 *
 *	foreign_memory_init ──▶ blocks_find ──▶ foreign_memory_count
 */

#include "dumper/writer/scan/blocks/blocks.h"

struct foreign_memory {
	uint64_t *touched; /**< private: [mappings] bytes of those that may hold blocks */
	const struct image *image;

	/* Bytes of touched pages, once they are counted. */
	uint64_t foreign; /**< in mappings without a block, a thread's storage or a module's data */
	uint64_t all;     /**< in anonymous memory but modules' data */
};

/** Measures what is touched. @param image  outlives it, and was not read in search of blocks yet */
HEAP_MUST_CHECK
struct heap_error *foreign_memory_init(struct foreign_memory *memory, const struct image *image);

void foreign_memory_deinit(struct foreign_memory *memory);

/** Counts what belongs to nobody. @param blocks  by address */
void foreign_memory_count(struct foreign_memory *memory, const struct blocks *blocks,
			  const struct block_threads *threads);

/** True if it is so much that blocks are missing. @param known  bytes of it that were told of */
bool foreign_memory_is_much(const struct foreign_memory *memory, uint64_t known);

#endif
