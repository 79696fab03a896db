// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARENAS_H
#define ARENAS_H

/**
 * Arenas: blocks that the program cuts into chunks, each with a header that has its size.
 *
 *	block ┌ head ┬ header, chunk ┬ header, chunk ┬ … ┬ never cut ┐
 *	             start           each size leads to the next     end
 *
 * The headers are found by their own words. A format (where the size is, and whether it counts the
 * header) is accepted if sizes lead from header to header exactly up to the block's end or to a place
 * that a pointer leads to, and if pointers into the blocks lead to where chunks begin. No allocator is
 * known by name: this finds AllocSets, dlmalloc's regions, and whatever is built like them.
 */

#include "dumper/writer/scan/capture.h"

enum {
	ARENA_MAX_HEADER = 48,       /**< bytes before a chunk */
	ARENA_NO_OWNER = 1,          /**< not at a word */
	ARENA_MOST_CHUNKS = 4 << 20, /**< in all; each costs as much memory as two blocks */
};

/** A chunk of an arena. */
struct arena_chunk {
	uint64_t offset; /**< of its header in the block */
	uint64_t size;   /**< bytes behind the header */
	bool is_free;    /**< its header has another owner than those in use */
};

/** A block that is an arena. */
struct arena {
	heap_object_id object;
	uint32_t first, count; /**< in arenas.chunks */
	uint32_t header;       /**< bytes of a chunk's header */
	uint64_t start,
		end; /**< of the first header, and of the last chunk; of a page, of its tail */
	uint32_t owner_at; /**< of the owner in the headers of chunks in use; ARENA_NO_OWNER */
	uint32_t owner_in; /**< of its address in the block's head */
	bool is_page;      /**< see chunk_pages.h; there may be no headers */
	bool is_rounded;   /**< the sizes of its chunks are powers of 2, with their headers */
	heap_type_id
		type; /**< a struct that has the chunks in its array of bytes, or HEAP_NO_TYPE */
};

struct arenas {
	struct arena *list; /**< [count] by object */
	uint32_t count, capacity;
	struct arena_chunk *chunks; /**< [chunk_count] by arena, by offset */
	uint32_t chunk_count, chunk_capacity;
};

/**
 * Finds all arenas, and the free chunks of those that have an owner.
 *
 * @param capture  with objects, sites and edges
 * @param classes  [objects] those that virtual tables tell, which chunks must not overlap
 * @param counts   [objects] by arena_targets_count()
 * @param arenas   zeros at first; arenas_deinit() frees it, also after an error
 */
HEAP_MUST_CHECK
struct heap_error *arenas_find(const struct capture *capture, const heap_type_id *classes,
			       const uint8_t *counts, struct arenas *arenas);

/**
 * Marks the chunks of an arena that has an owner as free whose headers have another word than its head.
 *
 * @param words  the arena's contents
 */
void arenas_mark_free(struct arenas *arenas, const struct arena *arena, const uint64_t *words);

/** Sorts arenas by object. */
void arenas_sort(struct arenas *arenas);

/**
 * The arena that an object is, for objects in ascending order; NULL: it is none.
 *
 * @param next  0 at first: the first arena that may be that object's; moved on
 */
const struct arena *arenas_of(const struct arenas *arenas, uint32_t *next, heap_object_id object);

void arenas_deinit(struct arenas *arenas);

#endif
