// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MEMORY_USE_H
#define MEMORY_USE_H

/**
 * What a program uses its memory for. A process that grows need not have more blocks: malloc keeps what was freed, and
 * what a program maps itself no allocator that is known here has got, such as the heap of a runtime.
 *
 *	all ─┬─ blocks        live blocks, as far as they were touched
 *	     ├─ spare         what allocators have beside them: headers, caches, free memory
 *	     │  └─ spare_pages   whole pages of that, in which no block lies
 *	     ├─ stacks        of threads, and what else each thread has
 *	     └─ mapped        the rest
 *
 * Only pages count that the program has touched, of private memory but modules' data. Reading one that it has not
 * touches it, too (the kernel maps a page of zeros), so they are measured before anything reads memory in search of
 * blocks, and counted once these are found:
 *
 *	memory_use_init ──▶ blocks_find ──▶ objects ──▶ memory_use_count
 *
 * Pages of a file that is mapped privately count once they were written to: some runtimes begin with a heap that a file
 * has. The kernel joins neighbouring mappings. Therefore not each mapping has one use, but parts of it have; where an
 * allocator does not tell which parts are its own, it has all of a mapping that a block lies in.
 */

#include "dumper/writer/scan/blocks/blocks.h"

struct memory_use {
	struct HEAP_ARRAY(struct block_region) touched; /**< private: spans, by address */
	struct HEAP_ARRAY(uint64_t) written; /**< private: [mappings] pages of files, in bytes */
	const struct image *image;

	/* Bytes of touched pages, once they are counted. */
	uint64_t blocks, spare, spare_pages, stacks, mapped, all;
};

/** Who has memory. Zeros where nothing is known. */
struct memory_owners {
	const struct objects *objects; /**< the live blocks */
	uint64_t lead;                 /**< bytes before each block that belong to it */
	bool has_chunks; /**< they are glibc's: those that it maps tell where they end */
	struct block_region *regions; /**< [region_count] of allocators, sorted here */
	size_t region_count;          /**< 0: not known */
	const struct block_threads *threads;
	const uint64_t *stack_pointers; /**< [threads->count] 0: not known */
	const uint64_t (*own)[2]; /**< [own_count] memory of the library's, which is not counted */
	size_t own_count;
};

/** Measures what is touched. @param image  outlives it, and was not read in search of blocks yet */
HEAP_MUST_CHECK
struct heap_error *memory_use_init(struct memory_use *use, const struct image *image);

void memory_use_deinit(struct memory_use *use);

/** Counts what is used for what. */
HEAP_MUST_CHECK
struct heap_error *memory_use_count(struct memory_use *use, const struct memory_owners *owners);

/** True if so much is mapped that blocks are missing. @param known  bytes of it that were told of */
bool memory_use_is_foreign(const struct memory_use *use, uint64_t known);

#endif
