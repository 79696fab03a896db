// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_HASH_H
#define HEAP_HASH_H

/**
 * Hash functions: 64 bits, fast, the same on every run, no defence against chosen keys.
 *
 * Values differ between byte orders, so they must not be stored in files.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * Multiplies by 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming 3, 6.4).
 * The high bits are the good ones: shift right before you mask.
 */
static inline uint64_t heap_hash_scatter(uint64_t value)
{
	return value * UINT64_C(0x9e3779b97f4a7c15);
}

/** A hash to begin with. */
#define HEAP_HASH_START UINT64_C(0xcbf29ce484222325)

/** Goes on from @p hash with one more value. The high bits are folded into the low ones. */
static inline uint64_t heap_hash_mix(uint64_t hash, uint64_t value)
{
	hash = heap_hash_scatter(hash ^ value);
	return hash ^ hash >> 29;
}

/** The hash of a number, such as an address or an id. */
static inline uint64_t heap_hash_u64(uint64_t value)
{
	return heap_hash_mix(0, value);
}

/** The hash of two numbers. */
static inline uint64_t heap_hash_pair(uint64_t first, uint64_t second)
{
	return heap_hash_mix(heap_hash_mix(HEAP_HASH_START, first), second);
}

/** Goes on from @p hash with bytes. */
static inline uint64_t heap_hash_bytes(uint64_t hash, const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t word;

	hash = heap_hash_mix(hash, size);
	for (; size >= sizeof(word); at += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		hash = heap_hash_mix(hash, word);
	}
	word = 0;
	memcpy(&word, at, size);
	return heap_hash_mix(hash, word);
}

/**
 * Goes on from @p hash with bytes, by FNV-1a (Fowler, Noll, Vo). The exception: the same on every
 * machine and in every release, if HEAP_HASH_START comes first.
 */
static inline uint64_t heap_hash_fnv(uint64_t hash, const char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (uint8_t)bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/** The hash of a string. */
static inline uint64_t heap_hash_string(const char *string)
{
	return heap_hash_bytes(HEAP_HASH_START, string, strlen(string));
}

#endif
