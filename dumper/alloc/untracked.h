// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_UNTRACKED_H
#define HEAPSNAP_UNTRACKED_H

/**
 * Trace-only mode (libheapsnap-trace.so): blocks are those of the next allocator and carry no
 * header. Part of blocks.h, whose functions are in untracked.c instead of blocks.c.
 *
 *	malloc   counts the bytes; a block that a point of sampling.h falls into is a sample
 *	free     tells by the address if the block may be a sample
 *
 *	              address / 16, lower 16 bits
 *	block ────▶ ┌─┬─┬─┬─┬─┬─┬─┬─ ─ ─┐ 0: the block is no sample
 *	            │0│0│0│1│0│0│2│0    │ else it is looked up in the table of samples (backtraces.h)
 *	            └─┴─┴─┴─┴─┴─┴─┴─ ─ ─┘
 *
 * There is one sample in 512 KiB of live memory: in a heap of 1 GiB, 3 blocks in 100 are looked up
 * in vain. Neighbours in memory have their counts beside each other.
 *
 * A count is raised before malloc returns the address that selects it; so any thread that frees the
 * block sees the new count.
 */

enum {
	HEAPSNAP_WATCHES = 1 << 16,
};

/** How many samples there are of such an address; 255 stays what it is. */
extern uint8_t heapsnap_watches[HEAPSNAP_WATCHES] __attribute__((visibility("hidden")));

static inline uint8_t *heapsnap_watch_of(const void *block)
{
	return &heapsnap_watches[(uintptr_t)block / HEAPSNAP_HEADER_SIZE % HEAPSNAP_WATCHES];
}

static inline bool heapsnap_is_watched(const void *block)
{
	return __atomic_load_n(heapsnap_watch_of(block), __ATOMIC_RELAXED) != 0;
}

/** Makes a block a sample. @param moved  by realloc() */
void heapsnap_watch(const void *block, size_t size, uint64_t site, bool moved);

/** The sample of a block that is about to be freed or moved. @return backtrace 0: it is no sample */
struct heapsnap_sampled heapsnap_unwatch(const void *block);

/** malloc's slow path, when heapsnap_bytes_left has run out. */
void *heapsnap_allocate_slowly(size_t size, uint64_t site);

/** Frees a block that may be a sample. */
void heapsnap_release_watched(void *block);

HEAPSNAP_INLINE void *heapsnap_allocate(size_t size, unsigned flags)
{
	(void)flags;
	if (HEAPSNAP_UNLIKELY(!heapsnap_take_bytes(size)))
		return heapsnap_allocate_slowly(size, HEAPSNAP_SITE);
	return heapsnap_hot.malloc(size);
}

HEAPSNAP_INLINE void heapsnap_release(void *block)
{
	if (HEAPSNAP_UNLIKELY(heapsnap_is_watched(block))) {
		heapsnap_release_watched(block);
		return;
	}
	heapsnap_hot.free(block);
}

#endif
