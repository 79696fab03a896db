// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_GROWTH_H
#define HEAPSNAP_GROWTH_H

/**
 * HEAPSNAP_GROWTH: a snapshot each time that live bytes have grown by this much since the last one.
 *
 * Allocations and frees are not counted for this. The bytes that all threads have allocated are
 * known anyway, to 256 KiB a thread, because each reads the clock that often; and live bytes cannot
 * have grown by more than that:
 *
 *	live now  ≤  live when last measured + allocated since
 *
 * So the next allocator counts the bytes in use only when this bound reaches the limit. That takes
 * glibc from microseconds to tens of milliseconds, depending on the number of free chunks; it is
 * done so rarely that it takes at most half a per cent of the time. For other allocators, the
 * resident memory of the process is measured instead.
 */

#include <stdbool.h>
#include <stdint.h>

/** Finds the allocator's statistics function. @return false if memory is short */
bool heapsnap_growth_init(void);

/** @param bytes  allocated by this thread since its last call */
void heapsnap_growth_look(uint64_t bytes);

#endif
