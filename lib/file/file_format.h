// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_FORMAT_H
#define HEAP_FILE_FORMAT_H

/**
 * The bytes of the container, for its reader and writer. heapsnap(5) explains them.
 *
 *	header     magic 8, version u32, flags u32
 *	block      a zlib stream, or the raw bytes if that is not shorter
 *	table      per block: stored length u32, raw length u32, CRC-32 of the stored bytes u32
 *	directory  per section: tag u32, encoding u16, fields u16, offset u64, length u64,
 *	           count u64, blocks u32, CRC-32 of its table u32
 *	trailer    directory's offset u64 and length u64, sections u32, CRC-32 u32, magic 8
 *
 * The trailer's CRC covers the header, the directory and the trailer up to itself. All
 * integers are little endian.
 */

#include <stdint.h>

#define HEAP_FILE_MAGIC "heapsnap"

enum {
	HEAP_MAGIC_SIZE = 8,
	HEAP_HEADER_SIZE = 16,
	HEAP_TRAILER_SIZE = 32,
	HEAP_TRAILER_CHECKED = 20, /**< bytes of it that its CRC covers */
	HEAP_ENTRY_SIZE = 40,      /**< of the directory; a later version's may be longer */
	HEAP_ENTRY_SIZE_MAX = 256,
	HEAP_BLOCK_ENTRY_SIZE = 12,
	/** A snapshot has about thirty sections; a file with more than this is none. */
	HEAP_SECTIONS_MAX = 1024,
	HEAP_DEFLATE_RATIO_MAX = 1032, /**< zlib's technical notes */
};

/** A reader must refuse a file with an unknown flag of these; it may ignore others. */
#define HEAP_FLAGS_REFUSE UINT32_C(0xffff0000)

static inline uint16_t heap_get_u16(const uint8_t *at)
{
	return (uint16_t)(at[0] | at[1] << 8);
}

static inline uint32_t heap_get_u32(const uint8_t *at)
{
	return heap_get_u16(at) | (uint32_t)heap_get_u16(at + 2) << 16;
}

static inline uint64_t heap_get_u64(const uint8_t *at)
{
	return heap_get_u32(at) | (uint64_t)heap_get_u32(at + 4) << 32;
}

static inline void heap_put_u16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static inline void heap_put_u32(uint8_t *at, uint32_t value)
{
	heap_put_u16(at, (uint16_t)value);
	heap_put_u16(at + 2, (uint16_t)(value >> 16));
}

static inline void heap_put_u64(uint8_t *at, uint64_t value)
{
	heap_put_u32(at, (uint32_t)value);
	heap_put_u32(at + 4, (uint32_t)(value >> 32));
}

#endif
