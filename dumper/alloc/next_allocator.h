// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_NEXT_ALLOCATOR_H
#define HEAPSNAP_NEXT_ALLOCATOR_H

/**
 * The next allocator in the search order of symbols: libc's, or a jemalloc or tcmalloc that is
 * preloaded after this library.
 *
 * While it is being looked up, the dynamic linker itself allocates memory, which comes from a small
 * static arena.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAPSNAP_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define HEAPSNAP_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define HEAPSNAP_INLINE static inline __attribute__((always_inline))

/** All that the fast path needs, in one cache line. */
struct heapsnap_hot {
	void *(*malloc)(
		size_t size); /**< of the next allocator; at first a function that finds it */
	void (*free)(void *block);
	uint64_t secret;
	uint64_t birth; /**< the current epoch, where an extent has it */
	uint64_t mark;  /**< of HEAPSNAP_MARKS: of plain blocks */
	uint16_t plain; /**< the same, or 0 where free() has to verify all blocks */
};

/** The other functions of the next allocator; until it is found, all but calloc are NULL. */
struct heapsnap_allocator {
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	size_t (*usable_size)(void *block);
};

// Declared hidden here, too; else code reaches them through the global offset table.
extern struct heapsnap_hot heapsnap_hot __attribute__((visibility("hidden")));
extern struct heapsnap_allocator heapsnap_next __attribute__((visibility("hidden")));

/** Finds the next allocator, once, and then calls heapsnap_blocks_begin(). */
void heapsnap_next_init(void);

bool heapsnap_is_found(void);

/** True if the next allocator is glibc's. */
bool heapsnap_next_is_glibc(void);

bool heapsnap_is_in_arena(const void *block);

/** The part of the arena that has been handed out; never given back. @param size  gets bytes */
const char *heapsnap_arena(size_t *size);

#endif
