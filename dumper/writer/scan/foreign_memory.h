// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOREIGN_MEMORY_H
#define FOREIGN_MEMORY_H

/**
 * Memory of a program that no allocator which is known here has got: the heap of a runtime, pools that
 * a program maps itself, or an allocator that nobody knows. Where it is much, blocks are missing. Pages of a
 * file that is mapped privately belong to it once they were written to, but for modules' data: some runtimes begin
 * with a heap that a file has.
 */

#include "dumper/writer/scan/blocks.h"

/** In bytes, of pages that were touched. */
struct foreign_memory {
	uint64_t foreign; /**< in mappings without a block, a thread's storage or a module's data */
	uint64_t all;     /**< in anonymous memory but modules' data */
};

/** @param blocks  by address */
void foreign_memory_measure(struct foreign_memory *memory, const struct blocks *blocks,
			    const struct image *image, const struct block_threads *threads);

/** True if it is so much that blocks are missing. @param known  bytes of it that were told of */
bool foreign_memory_is_much(const struct foreign_memory *memory, uint64_t known);

#endif
