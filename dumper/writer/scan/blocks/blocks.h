// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef BLOCKS_H
#define BLOCKS_H

/**
 * The live blocks of a process that was started without the library, found in the structures of its
 * allocators.
 *
 *	image ──▶ blocks_glibc ─┐
 *	      ──▶ blocks_musl  ─┼─▶ blocks, by address ──▶ objects
 *	      ──▶ blocks_jemalloc
 *	      ──▶ blocks_mimalloc, blocks_mimalloc3
 *	      ──▶ blocks_tcmalloc
 *
 * Each allocator is recognized by the contents of its structures, not by symbols, and checked by
 * its own counts. The structures are not trusted: every loop is bounded, every address is looked
 * up. A size is the usable size of a block; these allocators do not keep the requested size.
 */

#include "dumper/writer/scan/image/image.h"
#include "dumper/writer/scan/objects.h"
#include "lib/base/array.h"
#include "lib/snapshot/block_sizes.h"

struct block {
	uint64_t address;
	uint64_t size; /**< usable bytes */
};

/** Consecutive blocks, by address. */
struct block_run {
	size_t first;
	size_t count;
};

/** A part of memory. */
struct block_region {
	uint64_t start, end;
};

struct blocks {
	struct HEAP_ARRAY(struct block) list;
	struct HEAP_ARRAY(struct block_run) runs; /**< of the list, one after the other */
	size_t run_start;                         /**< of the list: where the next run begins */
	/** What allocators have for blocks, but for large ones that have pages of their own; none: that is not known */
	struct HEAP_ARRAY(struct block_region) regions;
	char allocators[64]; /**< "glibc, jemalloc"; "": none was found */
	char doubts[256];    /**< what does not add up, for people; "": all does */
	enum heap_block_sizes sizes;
};

/** Where to look for what is each thread's. */
struct block_threads {
	const uint64_t *pointers; /**< [count] thread pointers; 0: not known */
	size_t count;
};

/** Finds the live blocks of all allocators that are known. */
HEAP_MUST_CHECK
struct heap_error *blocks_find(struct blocks *blocks, const struct image *image,
			       const struct block_threads *threads);

/** The same of all but glibc's and musl's, which may have none. */
HEAP_MUST_CHECK
struct heap_error *blocks_find_beside_glibc(struct blocks *blocks, const struct image *image,
					    const struct block_threads *threads);

void blocks_deinit(struct blocks *blocks);

/** Makes all blocks, and the memory that they lie in, the objects of the process. The list is empty then. */
HEAP_MUST_CHECK
struct heap_error *blocks_add_objects(struct blocks *blocks, const struct image *image,
				      struct objects *objects);

/** Each finds the blocks of one allocator, if it is there. */
HEAP_MUST_CHECK
struct heap_error *blocks_find_glibc(struct blocks *blocks, const struct image *image,
				     const struct block_threads *threads);
HEAP_MUST_CHECK
struct heap_error *blocks_find_musl(struct blocks *blocks, const struct image *image);
HEAP_MUST_CHECK
struct heap_error *blocks_find_jemalloc(struct blocks *blocks, const struct image *image,
					const struct block_threads *threads);

HEAP_MUST_CHECK
struct heap_error *blocks_find_mimalloc(struct blocks *blocks, const struct image *image);
HEAP_MUST_CHECK
struct heap_error *blocks_find_mimalloc3(struct blocks *blocks, const struct image *image);
HEAP_MUST_CHECK
struct heap_error *blocks_find_tcmalloc(struct blocks *blocks, const struct image *image);

/** Notes the name of an allocator that was found. */
void blocks_name(struct blocks *blocks, const char *allocator);

/** Notes what does not add up. */
HEAP_PRINTF(2, 3)
void blocks_doubt(struct blocks *blocks, const char *format, ...);

/** Appends a block. Consecutive ones come by address, between two calls of blocks_end_run(). */
HEAP_MUST_CHECK
struct heap_error *blocks_add(struct blocks *blocks, uint64_t address, uint64_t size);

/** The number of blocks and runs, for blocks_rewind() to return to. */
struct block_mark {
	size_t blocks, runs;
};

struct block_mark blocks_mark(const struct blocks *blocks);

/** Forgets the blocks that were added since blocks_mark(); none may have been sorted since. */
void blocks_rewind(struct blocks *blocks, struct block_mark mark);

/**
 * Compares an allocator's two ways to count free blocks, in each part of its heap: the number that
 * the part notes, and the blocks in its lists or bitmaps.
 */
struct block_audit {
	const char *allocator;
	const char *parts; /**< the allocator's word for them: "pages" */
	const char *free;  /**< and for free blocks: "free regions" */
	size_t count;      /**< of the parts that were compared */
	size_t agreeing;   /**< of these: both ways gave the same number */
};

enum {
	BLOCKS_MIN_AGREEING = 95, /**< percent of an allocator's parts */
};

/**
 * Accepts the blocks of an allocator if nearly all of its parts agree: notes its name, and a doubt
 * if some do not agree. Forgets its blocks otherwise.
 * @param mark  made before the allocator's first block was added
 */
bool blocks_accept(struct blocks *blocks, struct block_mark mark, const struct block_audit *audit);

/** Ends the run of blocks that come by address. */
HEAP_MUST_CHECK
struct heap_error *blocks_end_run(struct blocks *blocks);

/** Puts the runs together: the list is sorted then. */
HEAP_MUST_CHECK
struct heap_error *blocks_sort(struct blocks *blocks);

/** Forgets a block of the sorted list that is not live. @return false if there is none */
bool blocks_remove(struct blocks *blocks, uint64_t address);

/** Forgets the block of the sorted list that @p address lies in. */
void blocks_remove_around(struct blocks *blocks, uint64_t address);

/** A block of the sorted list; NULL if there is none there. */
const struct block *blocks_search(const struct blocks *blocks, uint64_t address);

#endif
