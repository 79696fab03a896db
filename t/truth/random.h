// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TRUTH_RANDOM_H
#define TRUTH_RANDOM_H

/**
 * Random numbers for programs that log the types of their blocks: the same ones in each run
 * (G. Marsaglia, Xorshift RNGs, Journal of Statistical Software 8, 2003).
 */

#include <stdint.h>

static uint64_t seed = 88172645463325252u;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

#endif
