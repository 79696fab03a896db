// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SAMPLER_H
#define SAMPLER_H

/**
 * Samples one block of each group of `step` consecutive ones. Its place in the group is pseudo-random,
 * since programs often make blocks of different types in turn.
 */

#include "lib/base/hash.h"

#include <stdbool.h>

struct sampler {
	uint32_t step;
	uint32_t group; /**< of so many blocks */
	uint64_t next;  /**< number of the block that is taken from it */
	uint64_t seen;  /**< blocks */
};

static inline uint64_t sampler_choose(uint32_t step, uint32_t group)
{
	return (uint64_t)group * step + heap_hash_u64(group) % step;
}

static inline struct sampler sampler_of(uint32_t step)
{
	return (struct sampler){ step, 0, sampler_choose(step, 0), 0 };
}

/** Leaves the chosen block of a group behind. */
static inline void sampler_advance(struct sampler *sampler)
{
	sampler->group++;
	sampler->next = sampler_choose(sampler->step, sampler->group);
}

/** The number of the next block that is taken, for a loop over these alone; the sampler goes on behind it. */
static inline uint64_t sampler_next(struct sampler *sampler)
{
	uint64_t next = sampler->next;

	sampler_advance(sampler);
	return next;
}

/** True if the next block is taken. */
static inline bool sampler_takes(struct sampler *sampler)
{
	if (sampler->seen++ != sampler->next)
		return false;
	sampler_advance(sampler);
	return true;
}

#endif
