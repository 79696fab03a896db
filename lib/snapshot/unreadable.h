// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAP_UNREADABLE_H
#define HEAP_UNREADABLE_H

/**
 * Memory of objects that a snapshot does not have: pages that the program has protected or made
 * guards of, and those that it leaves out of copies of itself (madvise(2): MADV_DONTFORK,
 * MADV_WIPEONFORK). They are zeros in the snapshot, or what the kernel still gave of protected
 * ones. The memory map tells where they are.
 */

#include "lib/snapshot/snapshot.h"

/** How many bytes of [address, address + size) no mapping lets the program read. */
uint64_t heap_unreadable_bytes(const struct heap_snapshot *snapshot, uint64_t address,
			       uint64_t size);

/** Bytes of all objects that could not be read. */
struct heap_unreadable {
	uint32_t objects; /**< that have such bytes */
	uint64_t bytes;
	uint64_t wiped; /**< bytes of mappings that are left out, in objects or not */
};

/** In one pass. The snapshot's columns of addresses and sizes must be loaded. */
void heap_unreadable_count(const struct heap_snapshot *snapshot, struct heap_unreadable *result);

#endif
