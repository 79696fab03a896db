// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_BITS_H
#define HEAP_BITS_H

/** Bit sets: a bit per object, in [objects / 8 + 1] bytes; and bits of words. */

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

static inline void heap_bit_clear(uint8_t *bits, uint32_t at)
{
	bits[at / 8] &= (uint8_t) ~(1 << at % 8);
}

/** The number of bits that are set. gcc calls a function for that, as the first x86-64 processors had no instruction. */
static inline uint32_t heap_bits_count(uint64_t bits)
{
#if defined(__x86_64__) && !defined(__POPCNT__)
	bits -= bits >> 1 & UINT64_C(0x5555555555555555);
	bits = (bits & UINT64_C(0x3333333333333333)) + (bits >> 2 & UINT64_C(0x3333333333333333));
	bits = (bits + (bits >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(bits * UINT64_C(0x0101010101010101) >> 56);
#else
	return (uint32_t)__builtin_popcountll(bits);
#endif
}

#endif
