// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_HOPS_H
#define HEAPSNAP_HOPS_H

/**
 * Hops: how to get from a site in a wrapper to that of its caller, without a look at unwind tables.
 *
 * A cache without locks, and async-signal-safe. A site has four slots, which are one cache line: it is
 * mostly in its first one, and two sites that have the same first one do not drive each other out.
 */

#include "dumper/stacks/unwind.h"

enum {
	HEAPSNAP_HOP_BITS = 11,
	HEAPSNAP_HOPS = 1 << HEAPSNAP_HOP_BITS,
	HEAPSNAP_HOP_SLOTS = 4, /**< of a site */
};

/** By hash of the site. The key shows if another thread has written the way meanwhile. */
struct heapsnap_hop {
	uint64_t key; /**< the site, xor'ed with the way */
	uint64_t way; /**< machine.h; 0: the slot is free */
};

extern struct heapsnap_hop heapsnap_hops[HEAPSNAP_HOPS] __attribute__((visibility("hidden")));

/** A site's slot number @p i: 0 is the first. */
static inline struct heapsnap_hop *heapsnap_hop_slot(uint64_t site, uint32_t i)
{
	// A processor needs fewer instructions for 32 bits.
	uint32_t hash = (uint32_t)site * UINT32_C(0x9e3779b1);

	return &heapsnap_hops[(hash >> (32 - HEAPSNAP_HOP_BITS)) ^ i];
}

/** The way from a site, if a slot has it; else 0. */
static inline uint64_t heapsnap_hop_read(const struct heapsnap_hop *slot, uint64_t site)
{
	uint64_t way = __atomic_load_n(&slot->way, __ATOMIC_RELAXED);

	return (__atomic_load_n(&slot->key, __ATOMIC_RELAXED) ^ way) == site ? way : 0;
}

/** The way from a site; 0: there is none. */
static inline __attribute__((always_inline)) uint64_t heapsnap_hop_find(uint64_t site)
{
	uint64_t way = 0;

	for (uint32_t i = 0; i < HEAPSNAP_HOP_SLOTS && way == 0; i++)
		way = heapsnap_hop_read(heapsnap_hop_slot(site, i), site);
	return way;
}

/**
 * Takes a way, if it is one.
 *
 * @param end  of what can be read of the stack
 * @return true if site and frame are the caller's now
 */
static inline bool heapsnap_hop_take_if(uint64_t way, uint64_t end, uint64_t *site,
					struct heapsnap_frame *frame)
{
	uint64_t bytes;

	if (way == 0)
		return false;
	bytes = heapsnap_hop_bytes(way, *frame);
	// A frame that makes no sense has no bytes: then this is more than there can be.
	if (bytes - 1 >= end - frame->sp)
		return false;
	*site = heapsnap_hop_take(way, bytes, frame);
	return true;
}

/** The same for the way from a site to its caller's, if the site is in a wrapper that can be hopped over. */
static inline bool heapsnap_hop_once(uint64_t end, uint64_t *site, struct heapsnap_frame *frame)
{
	return heapsnap_hop_take_if(heapsnap_hop_find(*site), end, site, frame);
}

/**
 * Notes the hop from a site. Costs no steps of effort.h: which hops others have displaced differs from
 * run to run.
 *
 * @param is_displaced  some size of the site may be known (seen.h): then blocks may be its own
 * @return false if there is none
 */
bool heapsnap_hops_learn(uint64_t site, bool is_displaced);

/** Forgets the hop from a site, unless it was learned as that of a displaced one. */
void heapsnap_hops_forget_site(uint64_t site);

/** Forgets all hops. */
void heapsnap_hops_forget(void);

#endif
