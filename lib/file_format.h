// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_FORMAT_H
#define HEAP_FILE_FORMAT_H

/**
 * The bytes of the container, for those who read and write it; heapsnap(5) explains them.
 *
 *	header     magic 8, version u32, flags u32 (0)
 *	block      a zlib stream, or the raw bytes if that is not shorter
 *	table      per block: stored length u32, raw length u32, CRC-32 of the stored bytes u32
 *	directory  per section: tag u32, encoding u16, fields u16, offset u64, length u64,
 *	           count u64, blocks u32, CRC-32 of its table u32
 *	trailer    count of sections u32, CRC-32 of the directory u32, magic 8
 */

#define MAGIC "heapsnap"

enum {
	MAGIC_SIZE = 8,
	HEADER_SIZE = 16,
	TRAILER_SIZE = 16,
	ENTRY_SIZE = 40,
	BLOCK_ENTRY_SIZE = 12,
	// A snapshot has some forty sections; more than this is not ours.
	MAX_SECTIONS = 1024,
	DEFLATE_MAX_RATIO = 1032, // zlib's technical notes
};

#endif
