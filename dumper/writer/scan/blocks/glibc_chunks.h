// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_CHUNKS_H
#define GLIBC_CHUNKS_H

/** Walks from chunk to chunk of glibc's heaps, and adds those that are in use. */

#include "dumper/writer/scan/blocks/glibc_walker.h"

/** How the walk through a piece of a heap ended. */
enum glibc_ending {
	GLIBC_ENDS_AT_TOP,   /**< of the arena */
	GLIBC_ENDS_AT_FENCE, /**< headers that glibc puts where a piece ends */
	GLIBC_ENDS_IN_ZEROS, /**< likewise, at the end of a heap */
	GLIBC_ENDS_BROKEN,
};

struct glibc_walk {
	uint64_t start, limit;
	uint64_t top;
	uint64_t end;             /**< where it ended */
	uint64_t last, last_size; /**< the chunk before that; size 0: there is none */
};

/** Walks from walk->start on, and adds the chunks that are in use. */
HEAP_MUST_CHECK
struct heap_error *glibc_walk_chunks(struct glibc_walker *walker, struct glibc_walk *walk,
				     enum glibc_ending *ending);

/**
 * True if a header agrees with the chunk before it: that is in use, or its size is also behind it.
 *
 * @param before  size of that chunk; 0: not known, and it has to be in use
 */
bool glibc_agrees(struct glibc_walker *walker, uint64_t at, uint64_t word, uint64_t before);

/**
 * Where a piece of the first arena's heap ends, of which an address is that of a fence's first header. A fence has two
 * headers, or three if the top had no room for a chunk before them (sysmalloc()).
 *
 * @return 0 if it is none
 */
uint64_t glibc_end_of_fence(struct glibc_walker *walker, uint64_t at);

/** The same; where it is none, as where a core file was cut off, what would be behind its two headers. */
uint64_t glibc_pass_fence(struct glibc_walker *walker, uint64_t at);

/**
 * Where the heap begins that holds an address: its first word leads to its arena.
 *
 * @return 0 if there is none
 */
uint64_t glibc_find_heap(struct glibc_walker *walker, uint64_t arena, uint64_t address);

/** Notes that a span has been walked. */
HEAP_MUST_CHECK
struct heap_error *glibc_claim(struct glibc_walker *walker, uint64_t start, uint64_t end);

/** True if a span overlaps a claimed one: without this, a ring of heaps would be walked for ever. */
bool glibc_is_claimed(const struct glibc_walker *walker, uint64_t start, uint64_t end);

/** Notes that the heap is damaged at an address. */
void glibc_doubt_chunk(struct glibc_walker *walker, uint64_t address);

/** Says where the heap is damaged, if it is. */
void glibc_doubt_damage(struct glibc_walker *walker);

#endif
