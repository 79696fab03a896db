// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_SEEN_H
#define HEAPSNAP_SEEN_H

/**
 * The sites and sizes from which all has been learned: closed kinds, whose blocks take the fast path.
 *
 *	heapsnap_seen, heapsnap_displaced   a cache by address, for the fast path; a "yes" is never wrong
 *	closed marks                        of each kind; the same in each run of a program
 *	queue                               kinds that wait for credit (effort.h), and count as closed
 *
 * When a function becomes a wrapper, the sites that were seen by then may be in it. They are swept: kinds
 * first, in the order in which they were made, then the slots of the caches, some with each event.
 *
 * Without locks, and async-signal-safe.
 */

#include "dumper/base/hash.h"
#include "dumper/base/header.h"
#include "dumper/stacks/kinds.h"

enum {
	HEAPSNAP_SEEN_SLOTS = 1 << 16,
	HEAPSNAP_DISPLACED_SLOTS = 1 << 14,
	HEAPSNAP_DISPLACED_SIZE_BITS = 16,
	HEAPSNAP_SEEN_SITES = 1 << 15,
	HEAPSNAP_QUEUE = 1 << 18, /**< more than there are kinds */
};

/**
 * By the lower 16 bits of site + size: the site of a (site, size) about which all is known. A
 * size below 2^16 follows from the slot; larger ones never come by the fast path.
 */
extern uint64_t heapsnap_seen[HEAPSNAP_SEEN_SLOTS] __attribute__((visibility("hidden")));

/**
 * Those that have lost their slot to another, by hash: heapsnap_displaced_word(). Neighbouring sites and
 * sizes often have one slot.
 */
extern uint64_t heapsnap_displaced[HEAPSNAP_DISPLACED_SLOTS] __attribute__((visibility("hidden")));

/**
 * A site, and a size below HEAPSNAP_SEEN_SLOTS. Not the site below the size: that is what the second word
 * of a header looks like, and the writer would take one in 65536 of them for that of a block.
 */
static inline uint64_t heapsnap_displaced_word(uint64_t site, uint64_t size)
{
	return (site << HEAPSNAP_DISPLACED_SIZE_BITS) + size;
}

static inline uint64_t heapsnap_displaced_site(uint64_t word)
{
	return word >> HEAPSNAP_DISPLACED_SIZE_BITS;
}

static inline uint64_t *heapsnap_displaced_slot(uint64_t word)
{
	return &heapsnap_displaced[heapsnap_scatter(word) >> 50];
}

/** The site that has the slot of a site and size; 0 if none has. */
static inline uint64_t heapsnap_seen_at(uint64_t site, uint64_t size)
{
	return __atomic_load_n(&heapsnap_seen[(uint16_t)(site + size)], __ATOMIC_RELAXED);
}

/** True if all is known of a site and size, which have lost their slot. */
static inline bool heapsnap_is_displaced(uint64_t site, uint64_t size)
{
	uint64_t word = heapsnap_displaced_word(site, size);

	return __atomic_load_n(heapsnap_displaced_slot(word), __ATOMIC_RELAXED) == word;
}

/** True if all is known of a site and a size below HEAPSNAP_SEEN_SLOTS. */
static inline bool heapsnap_is_known(uint64_t site, uint64_t size)
{
	return heapsnap_seen_at(site, size) == site || heapsnap_is_displaced(site, size);
}

struct heapsnap_seen_table {
	uint64_t sites[HEAPSNAP_SEEN_SITES /
		       64]; /**< a bit by hash: the site may be in heapsnap_seen */
	uint32_t *
		queue; /**< [HEAPSNAP_QUEUE] numbers of kinds that wait, and 1; 0: none. NULL: not yet */
};

/** @param room  zeros */
void heapsnap_seen_init(struct heapsnap_seen_table *room, struct heapsnap_wrappers *known);

/** Puts a site and size where the fast path looks. */
void heapsnap_seen_cache(uint64_t site, uint64_t size);

/** True if nothing more is to be learned from a kind, or it waits for its turn. */
bool heapsnap_seen_is_closed(const struct heapsnap_kind *kind);

/**
 * True if the blocks of a site count as its own: it is in no wrapper, or in one that was not known when
 * it was closed and has not been swept since. The fast path may know it.
 */
bool heapsnap_seen_is_site_closed(uint64_t site, uint64_t size);

/** False if heapsnap_displaced has never had the site. */
bool heapsnap_seen_may_be_displaced(uint64_t site);

/** Notes that all has been learned from a site and size. @param kind  NULL: it has found no room */
void heapsnap_seen_close(struct heapsnap_kind *kind, uint64_t site, uint64_t size);

/** Lets a kind count as seen until there is credit again. Each waits once, so that the queue has room. */
void heapsnap_seen_postpone(const struct heapsnap_kind *kind, uint64_t site, uint64_t size);

/** Sweeps, and observes kinds that wait, after a thread has earned credit. */
void heapsnap_seen_earned(void);

/** Sweeps a little, after a backtrace was taken. */
void heapsnap_seen_examined(void);

/** The function that a site is in has become a wrapper: begins a sweep if its sites may have been seen. */
void heapsnap_seen_look_again(uint64_t of);

/** Forgets the sites in code that has been unmapped. */
void heapsnap_seen_forget(uint64_t start, uint64_t end);

#endif
