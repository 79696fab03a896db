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

#include "dumper/stacks/hops.h"
#include "dumper/stacks/samples.h"
#include "dumper/stacks/seen.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	HEAPSNAP_NESTED = 24, /**< wrappers in wrappers */
};

/** The facts that are noted of a new block. */
struct heapsnap_making {
	uint64_t site;      /**< that matters */
	uint32_t backtrace; /**< of a sampled one; else 0 */
};

/**
 * Where a block belongs, in a few ns, if the site has been seen to ask for that size; or if all
 * wrappers that it is made in are known, and the site beyond them has been. What has been seen is
 * no wrapper's.
 *
 * @param size   below HEAPSNAP_SEEN_SLOTS
 * @param frame  at the site
 * @return 0 if they are not: heapsnap_observe() knows more
 */
uint64_t heapsnap_hop(uint64_t size, uint64_t site, struct heapsnap_frame frame);

/**
 * The same in few instructions, for a site and size that are not in heapsnap_seen, where one hop after the
 * other is a simple one: nearly all blocks of such sites are made in wrappers.
 *
 * @param sp  of the frame at the site
 * @return 0 if heapsnap_hop() knows more
 */
static inline __attribute__((always_inline)) uint64_t heapsnap_hop_simply(uint64_t size,
									  uint64_t site,
									  uint64_t sp)
{
	uint64_t end = heapsnap_stack_end(sp);

	for (int i = HEAPSNAP_NESTED; i > 0; i--) {
		const struct heapsnap_hop *hop = heapsnap_hop_slot(site, 0);
		uint64_t way;

		__asm__("" : "+r"(hop)); // one address, not two of arrays
		way = __atomic_load_n(&hop->way, __ATOMIC_RELAXED);
		if (__builtin_expect((__atomic_load_n(&hop->key, __ATOMIC_RELAXED) ^ way) != site ||
					     (way & HEAPSNAP_HOP_COMPLEX),
				     0))
			return 0;
		sp += (uint32_t)way;
		if (__builtin_expect(sp > end, 0))
			return 0;
		site = heapsnap_hop_return(way, sp);
		if (heapsnap_seen_at(site, size) == site)
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

#endif
