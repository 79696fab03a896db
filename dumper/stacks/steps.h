// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAPSNAP_STEPS_H
#define HEAPSNAP_STEPS_H

/**
 * The tree of calls that all backtraces share. A step is a return address and the step of its caller, so
 * a backtrace is the number of its innermost step.
 *
 * The writer reads the steps and the ranges of code that was unmapped (protocol.h). Without locks, and
 * async-signal-safe.
 */

#include "dumper/base/protocol.h"

enum {
	HEAPSNAP_STEPS = 1 << 20,
	HEAPSNAP_FIRST_CHAINS = 1 << 12, /**< of HEAPSNAP_FIRST_STEPS: few steps touch few pages */
	HEAPSNAP_CHAINS = 1 << 17,
	HEAPSNAP_UNMAPPED = 256,
};

/** The steps from HEAPSNAP_FIRST_STEPS on, with the first one of each hash; they go on with step.next. */
struct heapsnap_more_steps {
	struct heapsnap_step steps[HEAPSNAP_STEPS - HEAPSNAP_FIRST_STEPS];
	uint32_t chains[HEAPSNAP_CHAINS];
};

struct heapsnap_steps {
	struct heapsnap_step first[HEAPSNAP_FIRST_STEPS];
	struct heapsnap_unmapped unmapped[HEAPSNAP_UNMAPPED];
	uint32_t first_chains[HEAPSNAP_FIRST_CHAINS];
	struct heapsnap_more_steps *more; /**< NULL: not yet */
};

/** A step that has been made. */
static inline struct heapsnap_step *heapsnap_step_at(struct heapsnap_steps *steps, uint32_t step)
{
	if (step < HEAPSNAP_FIRST_STEPS)
		return &steps->first[step];
	return &__atomic_load_n(&steps->more, __ATOMIC_ACQUIRE)->steps[step - HEAPSNAP_FIRST_STEPS];
}

/** @param room  zeros */
void heapsnap_steps_init(struct heapsnap_steps *room);

/**
 * Adds a backtrace, from the innermost call outwards.
 *
 * @return its innermost step; 0 if there is no room
 */
uint32_t heapsnap_steps_intern(const uint64_t *addresses, unsigned count);

/** Notes that code has been unmapped: other code may have its addresses from now on. */
void heapsnap_steps_unmapped(uint64_t start, uint64_t end);

#endif
