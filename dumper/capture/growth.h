// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_GROWTH_H
#define HEAPSNAP_GROWTH_H

/**
 * A snapshot each time that live bytes have grown by HEAPSNAP_GROWTH since the last one.
 *
 * Allocations and frees count nothing for this. What all threads have allocated is known
 * anyhow, to 256 KiB a thread, because each looks at the clock that often; and live bytes
 * cannot have grown by more than that:
 *
 *	live now  ≤  live when last measured + allocated since
 *
 * So only when as much has been allocated as is missing to the limit, the next allocator
 * counts what is in use. That takes glibc from microseconds to tens of milliseconds,
 * by how many free pieces there are; it is asked so rarely that it is half a per cent of
 * the time at most. Of another allocator the resident memory of the process must do.
 */

#include <stdbool.h>
#include <stdint.h>

/** Finds whom to ask. @return false if memory is short */
bool heapsnap_growth_init(void);

/** @param bytes  allocated by this thread since its last call */
void heapsnap_growth_look(uint64_t bytes);

#endif
