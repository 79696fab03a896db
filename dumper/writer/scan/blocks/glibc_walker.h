// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_WALKER_H
#define GLIBC_WALKER_H

/**
 * The state of the search for the blocks of glibc's malloc, 2.17 to 2.43, on 64 bits (malloc/malloc.c and
 * malloc/arena.c).
 *
 *	writable data of libc ──▶ bins[] of the first arena: 127 rings, most of which are empty
 *	first arena ──next──▶ further arenas ──top──▶ their heaps ──prev──▶ ...
 *	heap: chunk chunk chunk ... top      a chunk is in use if the next chunk says so, and
 *	                                     neither a fast bin nor a thread's cache holds it
 *
 * glibc_states.h finds the first arenas, glibc_chunks.h walks from chunk to chunk, glibc_mapped.h finds the
 * chunks that have a mapping of their own, glibc_damage.h goes on behind damage, and glibc_free.h removes those in
 * fast bins and caches.
 *
 * Layouts differ between versions, and distributions apply patches. So the layout is told by the
 * structures themselves, and not by a version number.
 */

#include "dumper/writer/scan/blocks/blocks.h"
#include "dumper/writer/scan/image/window.h"

#include <sys/mman.h>

enum {
	GLIBC_PAGE = 4096,
	GLIBC_BINS_BYTES = 254 * 8, /**< of 127 rings, two words each */
	GLIBC_MAX_STATES = 4,       /**< copies of libc in one process: dlmopen(3), static ones */
	GLIBC_MAX_ARENAS = 8192,    /**< there are at most 8 per processor */
	GLIBC_MIN_CHUNK = 32,
	GLIBC_FENCE = 16, /**< size of a header that ends a piece of the heap */
	GLIBC_PREV_INUSE = 1,
	GLIBC_IS_MMAPPED = 2,
	GLIBC_NON_MAIN = 4, /**< of an arena but the first; but not if it is free */
	GLIBC_FLAGS = 7,
	/** The heaps of arenas have up to 64 MiB, or four huge pages, some of which have 1 GiB. */
	GLIBC_LARGEST_HEAP_LOG = 32,
	GLIBC_LEAST_HEAP_LOG = 20,
	GLIBC_HEAP_HEADER = 0x100, /**< at most, before the arena in its own heap */
};

/** Offsets from bins[], which differ by what lies before it. */
struct glibc_layout {
	uint64_t bins;      /**< from the beginning of the arena */
	bool has_fast_bins; /**< 96 before bins[], until 2.42 */
	bool counts_mapped; /**< 2.43: the size of a mapped chunk is that of its block */
};

/** A copy of libc. */
struct glibc_state {
	const struct glibc_layout *layout;
	uint64_t bins; /**< address of bins[] of its first arena */
	bool has_parameters;
	uint64_t mapped_count, mapped_bytes;
	uint64_t base; /**< where its heap by brk(2) begins; 0: not known */
};

struct glibc_span {
	uint64_t start, end;
};

struct glibc_walker {
	struct blocks *blocks;
	const struct image *image;
	const struct block_threads *threads;
	struct windows windows;
	struct glibc_state states[GLIBC_MAX_STATES];
	size_t state_count;
	struct HEAP_ARRAY(struct glibc_span) claimed; /**< heaps of arenas and of the first arena */
	struct HEAP_ARRAY(uint64_t) arenas;
	struct HEAP_ARRAY(uint64_t) tcaches; /**< those that have been found */
	uint64_t vain_bins, vain_end;        /**< how many, and where the last of them ends */
	size_t heap_count;
	/**
	 * Steps that may still lead nowhere: a walk goes on for a while where memory is damaged, but a
	 * hostile process must not have each byte walked from all others.
	 */
	uint64_t vain_chunks, vain_links;
	uint64_t first_damage; /**< where chunks lead no further */
	size_t damage_count;
};

/** Reads a word; 0 if it cannot be read. */
static inline uint64_t glibc_peek(struct glibc_walker *walker, uint64_t address)
{
	return window_peek(&walker->windows.near, address);
}

/** The arena that follows in the ring of all arenas. */
static inline uint64_t glibc_next_arena(struct glibc_walker *walker,
					const struct glibc_layout *layout, uint64_t arena)
{
	return glibc_peek(walker, arena + layout->bins + GLIBC_BINS_BYTES + 16);
}

/** True for memory in which chunks may lie. */
static inline bool glibc_is_writable(const struct image_mapping *mapping)
{
	return !mapping->shared && (mapping->protection & PROT_READ) &&
	       (mapping->protection & PROT_WRITE);
}

/** Bytes of an arena: what is before its bins, and behind them their map and five words. */
static inline uint64_t glibc_arena_size(const struct glibc_layout *layout)
{
	return layout->bins + GLIBC_BINS_BYTES + 56;
}

/** Bytes of memory that chunks may lie in. */
static inline uint64_t glibc_writable_bytes(const struct image *image)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image->mapping_count; i++) {
		if (glibc_is_writable(&image->mappings[i]))
			sum += image->mappings[i].end - image->mappings[i].start;
	}
	return sum;
}

/** Counts steps that led nowhere. @param left  gets less. @return false if there is no more */
static inline bool glibc_take_vain(uint64_t *left, uint64_t steps)
{
	*left -= steps < *left ? steps : *left;
	return *left > 0;
}

#endif
