// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HOPS_H
#define HEAPSNAP_HOPS_H

/**
 * Hops: how to get from a site in a wrapper to that of its caller, without a look at unwind tables.
 * A cache without locks, and async-signal-safe.
 */

#include "dumper/base/hash.h"
#include "dumper/base/header.h"
#include "dumper/stacks/unwind.h"

enum {
	HEAPSNAP_HOPS = 1 << 11,
};

/**
 * For sites in wrappers, by hash: the site and, in the upper 16 bits, how to get to the caller's
 * (unwind.h). One word, so that threads need no lock.
 */
extern uint64_t heapsnap_hops[HEAPSNAP_HOPS] __attribute__((visibility("hidden")));

static inline uint64_t *heapsnap_hop_of(uint64_t site)
{
	return &heapsnap_hops[heapsnap_scatter(site) >> 50 & (HEAPSNAP_HOPS - 1)];
}

/**
 * One hop, from a site to its caller's, if it is in a wrapper that can be hopped over.
 *
 * @param left  bytes that can be read at the frame's stack pointer
 * @return whether site, frame and left are the caller's now
 */
static inline bool heapsnap_hop_once(uint64_t *site, struct heapsnap_frame *frame, uint64_t *left)
{
	uint64_t hop = __atomic_load_n(heapsnap_hop_of(*site), __ATOMIC_RELAXED);
	uint64_t way = hop >> HEAPSNAP_SITE_BITS;
	uint64_t bytes;

	if ((hop & HEAPSNAP_SITE_MASK) != *site)
		return false;
	bytes = heapsnap_hop_bytes(way, *frame);
	// A free slot has no bytes: then this is more than there can be.
	if (bytes - 1 >= *left)
		return false;
	*site = heapsnap_hop_take(way, bytes, frame);
	*left -= bytes;
	return true;
}

/**
 * Notes the hop from a site. Costs no steps of effort.h: which hops others have displaced differs from
 * run to run.
 *
 * @return false if there is none
 */
bool heapsnap_hops_learn(uint64_t site);

/** Forgets all hops. */
void heapsnap_hops_forget(void);

#endif
