// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_BACKTRACES_H
#define HEAPSNAP_BACKTRACES_H

/**
 * How blocks came to be: backtraces of the first block of each (site, size), and of samples.
 *
 *	seen      (site, size), for the fast path: a guess that is never wrong about a "yes"
 *	kinds     (site, size) → step          of the first
 *	samples   block → step                 until it is freed
 *	steps     return address, caller       each backtrace is the number of its innermost step
 *	wrappers  sites that are looked through: the site of a block is who called them
 *
 * Samples lie at random: nothing is learned from them, so that each run of a program finds the same
 * wrappers and sites.
 *
 * The cost of an allocation beyond its fast path is bounded (effort.h). When there is no credit for
 * a backtrace, the site and size count as seen for the time being, and wait in a queue.
 *
 * All tables have a fixed size and lie in one mapping; what finds no room is left out. Entries
 * are taken by compare-and-swap, so that there is no lock; what the frozen copy may see of one
 * that is being filled in counts for nothing. The writer reads them (protocol.h).
 *
 * Everything but heapsnap_backtraces_init() is async-signal-safe.
 */

#include "dumper/base/header.h"
#include "dumper/base/hash.h"
#include "dumper/stacks/unwind.h"
#include "dumper/trace/sampling.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HEAPSNAP_SEEN_SLOTS = 1 << 16,
	HEAPSNAP_DISPLACED_SLOTS = 1 << 14,
	HEAPSNAP_HOPS = 1 << 11,
	HEAPSNAP_NESTED = 24, /**< wrappers in wrappers */
};

/**
 * By the lower 16 bits of site + size: the site of a (site, size) about which all is known. A
 * size below 2^16 follows from the slot; larger ones never come by the fast path.
 */
extern uint64_t heapsnap_seen[HEAPSNAP_SEEN_SLOTS] __attribute__((visibility("hidden")));

/**
 * Those that have lost their slot to another, by hash: the site and, in the upper 16 bits, the
 * size. Neighbouring sites and sizes often have one slot.
 */
extern uint64_t heapsnap_displaced[HEAPSNAP_DISPLACED_SLOTS] __attribute__((visibility("hidden")));

static inline uint64_t *heapsnap_displaced_slot(uint64_t word)
{
	return &heapsnap_displaced[heapsnap_scatter(word) >> 50];
}

/** True if all is known of a site and a size below HEAPSNAP_SEEN_SLOTS. */
static inline bool heapsnap_is_known(uint64_t site, uint64_t size)
{
	uint64_t word = site | size << HEAPSNAP_SITE_BITS;

	return __atomic_load_n(&heapsnap_seen[(uint16_t)(site + size)], __ATOMIC_RELAXED) == site ||
	       __atomic_load_n(heapsnap_displaced_slot(word), __ATOMIC_RELAXED) == word;
}

/** The facts that are noted of a new block. */
struct heapsnap_making {
	uint64_t site;      /**< that matters */
	uint32_t backtrace; /**< of a sampled one; else 0 */
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
 * Where a block belongs, in a few ns, if the site has been seen to ask for that size; or if all
 * wrappers that it is made in are known, and the site beyond them has been. What has been seen is
 * no wrapper's.
 *
 * @param size   below HEAPSNAP_SEEN_SLOTS
 * @param frame  at the site
 * @return 0 if they are not: heapsnap_observe() knows more
 */
static inline __attribute__((always_inline)) uint64_t heapsnap_hop(uint64_t size, uint64_t site,
								   struct heapsnap_frame frame)
{
	uint64_t left = heapsnap_stack_left(frame.sp);

	// Most blocks that come here are made in wrappers, which are never known.
	for (int i = 0; i < HEAPSNAP_NESTED; i++) {
		if (!heapsnap_hop_once(&site, &frame, &left))
			return i == 0 && heapsnap_is_known(site, size) ? site : 0;
		if (heapsnap_is_known(site, size))
			return site;
	}
	return 0;
}

/** Reserves the tables, if the settings enable backtraces. Nothing is noted before. */
void heapsnap_backtraces_init(void);

/**
 * Observes some of the postponed sites, once a thread has allocated some 64 KiB more.
 *
 * @param bytes  of the stretch that has ended
 */
void heapsnap_backtraces_earn(uint64_t bytes);

/**
 * Notes a block that is about to be made, of a (site, size) that has not been seen, or that
 * is sampled. Up to 2 µs if it takes a backtrace, 10 where no code on the stack is known yet.
 *
 * @param frame  at the site, if it is known
 */
struct heapsnap_making heapsnap_observe(uint64_t size, uint64_t site, struct heapsnap_frame frame,
					bool is_sampled);

/**
 * Notes that a block is a sample.
 *
 * @return where its number in the trace goes; NULL if there is no room, or no backtrace
 */
uint32_t *heapsnap_sample_add(const void *block, struct heapsnap_sampled sampled);

/**
 * Begins a sample, also in the trace.
 *
 * @param backtrace  0: the block is none
 * @param moved      by realloc()
 * @return whether it is one: then free() has to look at the block, so that the sample ends
 */
bool heapsnap_sample_begin(const void *block, uint64_t size, uint32_t backtrace, bool moved);

/** Forgets a sample, if the block is one. To be called before it is freed. */
struct heapsnap_sampled heapsnap_sample_remove(const void *block);

/** A module that dlclose() may be about to unmap. */
struct heapsnap_closing {
	uint64_t inside;     /**< an address of the module; 0: not known */
	uint64_t start, end; /**< where it lies */
	uint64_t unloaded;   /**< modules that have gone before */
};

/** Notes the addresses of a module before it is closed. @param handle  of dlopen() */
struct heapsnap_closing heapsnap_backtraces_close(void *handle);

/** If the module is gone: forgets all facts about code, so that they are found out anew. */
void heapsnap_backtraces_closed(const struct heapsnap_closing *closing);

#endif
