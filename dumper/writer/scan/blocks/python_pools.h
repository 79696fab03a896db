// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PYTHON_POOLS_H
#define PYTHON_POOLS_H

/**
 * The memory that Python's own allocator keeps small objects in: arenas that it maps, made of pools.
 * Their blocks are not known here; the size of the memory is, so that nobody looks for it in vain.
 */

#include "dumper/writer/scan/image/image.h"

/** Bytes of the pools in all anonymous memory. */
uint64_t python_pools_size(const struct image *image);

#endif
