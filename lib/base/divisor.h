// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DIVISOR_H
#define HEAP_DIVISOR_H

/** Greatest common divisors: of distances, to find the stride that all of them are multiples of. */

#include <stdint.h>

/** The greatest common divisor of two numbers; of 0 and another one, that. Euclid's algorithm. */
static inline uint64_t heap_greatest_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
