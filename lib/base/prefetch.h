// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_PREFETCH_H
#define HEAP_PREFETCH_H

/**
 * Prefetches memory that is accessed soon, for loops with random accesses.
 *
 * gcc 12 deletes calls of functions in which there is nothing but __builtin_prefetch(): it takes them for
 * functions without effects. The empty asm is an effect, and no instruction.
 */

/** Prefetches memory that will be read. */
static inline void heap_prefetch(const void *address)
{
	__builtin_prefetch(address);
	__asm__ volatile("");
}

/** Prefetches memory that will be written. */
static inline void heap_prefetch_to_write(const void *address)
{
	__builtin_prefetch(address, 1);
	__asm__ volatile("");
}

#endif
