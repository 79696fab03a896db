// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_VARINT_H
#define HEAP_VARINT_H

/** Unsigned LEB128 and zigzag (DWARF 5, section 7.6 has the former). */

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/** The same for differences of 32-bit numbers, which wrap and have 32 bits, too. */
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

/** @return the end of the number, or NULL if [at, end) has no complete one of 64 bits */
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

#define HEAP_VARINT_MORE UINT64_C(0x8080808080808080) /**< the continuation bits */

/** Eight bytes, the first one lowest. */
static inline uint64_t heap_varint_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}

/**
 * Decodes the value at the start of eight bytes, in which it must end, without a branch.
 *
 * @return its length in bytes
 */
static inline size_t heap_varint_of_word(uint64_t word, uint64_t *result)
{
	uint64_t ends = ~word & HEAP_VARINT_MORE;
	uint64_t value = word & (ends ^ (ends - 1)) & ~HEAP_VARINT_MORE;

	// Seven bits of each byte move together: pairs of them, pairs of pairs, all.
	value = (value & 0x007f007f007f007f) | (value & 0x7f007f007f007f00) >> 1;
	value = (value & 0x00003fff00003fff) | (value & 0x3fff00003fff0000) >> 2;
	value = (value & 0x000000000fffffff) | (value & 0x0fffffff00000000) >> 4;
	*result = value;
	return (size_t)__builtin_ctzll(ends) / 8 + 1;
}

#endif
