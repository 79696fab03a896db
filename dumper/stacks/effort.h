// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_EFFORT_H
#define HEAPSNAP_EFFORT_H

/**
 * Bounds what allocations cost beyond their fast path, whatever the program does.
 *
 * Work is counted in steps of some 10 ns: a frame that is unwound, a slot that is looked up. Two
 * limits hold:
 *
 *   - An event (one allocation on the slow path) ends its walk after HEAPSNAP_EFFORT_EVENT steps.
 *     Results up to there stay known, so that the next one gets further.
 *   - All events together spend what the program has earned by allocating: a step for each
 *     HEAPSNAP_EFFORT_BYTES bytes, and a sum to begin with. Allocations that come when nothing is
 *     left are postponed (backtraces.c). The first backtrace of a site has a pool of its own.
 *
 * The same program gets the same backtraces, wherever its modules and stacks lie. So credit depends
 * on bytes and not on time, and steps depend neither on addresses (code_hash.h) nor on samples.
 *
 * async-signal-safe.
 */

#include <stdbool.h>
#include <stdint.h>

enum {
	HEAPSNAP_EFFORT_EVENT = 1024,
	HEAPSNAP_EFFORT_BYTES = 1024,

	/** The cost of some operations, in steps. */
	HEAPSNAP_EFFORT_LOOKUP = 24, /**< in a module's tables, mostly not in the cache */
	HEAPSNAP_EFFORT_SYSTEM = 16, /**< a system call */
};

/** Who pays. */
enum heapsnap_effort_pool {
	HEAPSNAP_EFFORT_SITES, /**< the first backtrace of each site */
	HEAPSNAP_EFFORT_LOOKS, /**< everything else */
	HEAPSNAP_EFFORT_POOLS,
};

/** Steps that have been spent. Threads add to it from time to time. */
struct heapsnap_effort {
	int64_t credit[HEAPSNAP_EFFORT_POOLS]; /**< steps; less than 0 if the last one took more */
	uint64_t events;
	uint64_t steps;
	uint64_t most; /**< steps of one event */
};

extern struct heapsnap_effort heapsnap_effort __attribute__((visibility("hidden")));

/** Steps that this thread's event may still take. No limit outside of events. */
extern __thread int32_t heapsnap_effort_left __attribute__((visibility("hidden")));

/** Counts steps. @return false if the event has taken too many */
static inline bool heapsnap_spend(int32_t steps)
{
	heapsnap_effort_left -= steps;
	return heapsnap_effort_left > 0;
}

/** Begins an event. @return what heapsnap_effort_end() needs to know */
int32_t heapsnap_effort_begin(void);

/** Ends an event. @return steps that it has taken */
uint32_t heapsnap_effort_end(int32_t before);

/** True if a pool has credit. Sites may also use the credit for looks. */
bool heapsnap_effort_may(enum heapsnap_effort_pool pool);

void heapsnap_effort_charge(enum heapsnap_effort_pool pool, uint32_t steps);

/** Adds the credit for the bytes of a thread's stretch (sampling.h), and its steps to the sum. */
void heapsnap_effort_earn(uint64_t bytes);

#endif
