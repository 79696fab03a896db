// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_VARINT_H
#define HEAP_VARINT_H

/** Unsigned LEB128 and zigzag (DWARF 5, section 7.6 has the former). */

#include <stddef.h>
#include <stdint.h>

enum {
	HEAP_VARINT_MAX = 10, /**< bytes of the longest */
};

static inline uint64_t heap_zigzag(int64_t value)
{
	return (uint64_t)value << 1 ^ -(uint64_t)(value < 0);
}

static inline int64_t heap_unzigzag(uint64_t value)
{
	return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

/** The same for differences of 32-bit numbers, which wrap: no more than 32 bits either. */
static inline uint32_t heap_zigzag_u32(uint32_t value)
{
	return value << 1 ^ -(value >> 31);
}

static inline uint32_t heap_unzigzag_u32(uint32_t value)
{
	return value >> 1 ^ -(value & 1);
}

/** @return bytes written, at most HEAP_VARINT_MAX */
static inline size_t heap_varint_put(uint8_t *at, uint64_t value)
{
	size_t size = 0;

	while (value >= 0x80) {
		at[size++] = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	at[size++] = (uint8_t)value;
	return size;
}

/** @return where to go on, or NULL if [at, end) does not hold a whole one of 64 bits */
static inline const uint8_t *heap_varint_get(const uint8_t *at, const uint8_t *end,
					     uint64_t *result)
{
	uint64_t value = 0;

	for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			return NULL;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			*result = value;
			return at;
		}
	}
	return NULL;
}

#endif
