// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MEASURED_PREFIXES_H
#define MEASURED_PREFIXES_H

/**
 * Prefixes in which a number says how much there is room for behind them, as before arrays that grow by macros.
 *
 *	block ─▶ length, capacity
 *	pointer ─▶ T[capacity]
 *
 * Such a number tells by a single block what otherwise takes many blocks (block_prefixes.h).
 */

#include "lib/snapshot/snapshot.h"

struct inference;

/**
 * True if a number before an offset of a block is that of the elements, two at least, or of the bytes from there to the
 * block's end, but for what the allocator may have added.
 *
 * @param stride  bytes of an element
 */
bool measured_prefixes_have(const struct inference *inference, heap_object_id object,
			    uint64_t offset, uint64_t stride);

#endif
