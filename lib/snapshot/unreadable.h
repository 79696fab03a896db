// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAP_UNREADABLE_H
#define HEAP_UNREADABLE_H

/**
 * Memory of objects that could not be captured: pages that the program has protected or made guards,
 * and those that it excludes from copies of itself (madvise(2): MADV_DONTFORK, MADV_WIPEONFORK).
 * They are zeros in the snapshot, except for protected pages that the kernel could still read. The
 * memory map tells where they are.
 */

#include "lib/snapshot/snapshot.h"

/** The number of bytes of [address, address + size) that are in no readable mapping. */
uint64_t heap_unreadable_bytes(const struct heap_snapshot *snapshot, uint64_t address,
			       uint64_t size);

/** Unreadable bytes of all objects. */
struct heap_unreadable {
	uint32_t objects; /**< that have such bytes */
	uint64_t bytes;
	uint64_t wiped; /**< bytes of excluded mappings, in objects or not */
};

/** Counts in one pass. The snapshot's columns of addresses and sizes must be loaded. */
void heap_unreadable_count(const struct heap_snapshot *snapshot, struct heap_unreadable *result);

#endif
