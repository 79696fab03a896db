// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_BLOCKS_H
#define HEAPSNAP_BLOCKS_H

/**
 * Blocks with a signed header, made from those of the allocator below us.
 *
 * The allocator below is whoever comes next in the search order: libc, or a jemalloc or
 * tcmalloc that is preloaded after us. The fast path (here, inlined into malloc, free and
 * operator new) takes no lock and no atomic read-modify-write: two multiplications, two
 * stores, a subtraction.
 */

#include "dumper/header.h"
#include "dumper/process.h"

#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/** The functions of the allocator below; all NULL until heapsnap_blocks_init(). */
struct heapsnap_allocator {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void (*free)(void *block);
	size_t (*usable_size)(void *block);
};

extern struct heapsnap_allocator heapsnap_below;

enum {
	/** A thread looks at the clock each time it has allocated this many bytes. */
	HEAPSNAP_CLOCK_BYTES = 256 << 10,
};

/** Bytes that this thread may allocate before it looks at the clock again. */
extern __thread int64_t heapsnap_bytes_left;

#define HEAPSNAP_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HEAPSNAP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/**
 * Finds the allocator below. While that is going on, and the dynamic linker itself asks
 * for memory, answers come from a small static arena.
 */
void heapsnap_blocks_init(void);

/** When heapsnap_bytes_left has run out: begins a new birth epoch if it is time. */
void heapsnap_blocks_tick(void);

/** The slow half of allocation: before there is an allocator below, or failing. */
void *heapsnap_allocate_slow(size_t size, uint64_t site, unsigned flags);

/** A block of zeros. */
void *heapsnap_allocate_zeros(size_t size, uint64_t site);

/** A block at a multiple of @p alignment, a power of two. */
void *heapsnap_allocate_aligned(size_t alignment, size_t size, uint64_t site, unsigned flags);

/** Frees what does not verify: foreign, damaged, freed before, or of the static arena. */
void heapsnap_release_other(void *block);

void *heapsnap_reallocate(void *block, size_t size, uint64_t site);

/** The header just before a block. */
static inline struct heapsnap_header *heapsnap_header_of(const void *block)
{
	return (struct heapsnap_header *)((uintptr_t)block - HEAPSNAP_HEADER_SIZE);
}

static inline int heapsnap_is_live(const void *block)
{
	const struct heapsnap_header *header = heapsnap_header_of(block);

	return heapsnap_verifies(heapsnap_process.secret, (uint64_t)block, header->extent,
				 header->origin);
}

/** Signs: from here on the block is live. The signature is the last store. */
static inline void heapsnap_sign(void *block, uint64_t extent, uint64_t site)
{
	struct heapsnap_header *header = heapsnap_header_of(block);
	uint64_t origin = heapsnap_origin(heapsnap_process.secret, (uint64_t)block, extent, site);

	__atomic_store_n(&header->extent, extent, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&header->origin, origin, __ATOMIC_RELAXED);
}

/** Wipes: from here on the block is not live. Before the allocator below may reuse it. */
static inline void heapsnap_wipe(void *block)
{
	__atomic_store_n(&heapsnap_header_of(block)->origin,
			 (uint64_t)HEAPSNAP_WIPED << HEAPSNAP_SITE_BITS, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/** Where the allocator below has the block begin. */
static inline void *heapsnap_base(const void *block, uint64_t extent)
{
	unsigned alignment = heapsnap_extent_alignment(extent);

	return (void *)((uintptr_t)block -
			(alignment ? (uintptr_t)1 << alignment : HEAPSNAP_HEADER_SIZE));
}

static inline uint32_t heapsnap_birth(void)
{
	return __atomic_load_n(&heapsnap_process.epoch, __ATOMIC_RELAXED);
}

static inline void heapsnap_count(size_t size)
{
	heapsnap_bytes_left -= (int64_t)size;
	if (HEAPSNAP_UNLIKELY(heapsnap_bytes_left < 0))
		heapsnap_blocks_tick();
}

static inline __attribute__((always_inline)) void *heapsnap_allocate(size_t size, uint64_t site,
								     unsigned flags)
{
	if (HEAPSNAP_UNLIKELY(!heapsnap_below.malloc || size > HEAPSNAP_SIZE_MAX))
		return heapsnap_allocate_slow(size, site, flags);

	char *base = heapsnap_below.malloc(size + HEAPSNAP_HEADER_SIZE);

	if (HEAPSNAP_UNLIKELY(!base))
		return NULL;

	void *block = base + HEAPSNAP_HEADER_SIZE;

	heapsnap_count(size);
	heapsnap_sign(block, heapsnap_extent(size, heapsnap_birth(), 0, flags), site);
	return block;
}

static inline __attribute__((always_inline)) void heapsnap_release(void *block)
{
	if (!block)
		return;
	if (HEAPSNAP_UNLIKELY(!heapsnap_is_live(block))) {
		heapsnap_release_other(block);
		return;
	}

	void *base = heapsnap_base(block, heapsnap_header_of(block)->extent);

	heapsnap_wipe(block);
	heapsnap_below.free(base);
}

#endif
