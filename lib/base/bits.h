// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_BITS_H
#define HEAP_BITS_H

/** Bit sets: a bit per object, in [objects / 8 + 1] bytes. */

#include <stdbool.h>
#include <stdint.h>

static inline bool heap_bit_get(const uint8_t *bits, uint32_t at)
{
	return bits[at / 8] >> at % 8 & 1;
}

static inline void heap_bit_set(uint8_t *bits, uint32_t at)
{
	bits[at / 8] |= (uint8_t)(1 << at % 8);
}

#endif
