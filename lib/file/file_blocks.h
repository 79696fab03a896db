// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_BLOCKS_H
#define HEAP_FILE_BLOCKS_H

/** The structure of an open file, for file.c and file_read.c. Private to this room. */

#include "lib/file/file.h"

#include <stdatomic.h>

/** A block, from its section's table, checked. */
struct heap_block {
	uint64_t offset; /**< bytes from the start of the file */
	uint32_t stored_length;
	uint32_t raw_length;
	uint32_t crc; /**< of the stored bytes */
};

struct heap_file_entry {
	struct heap_section section; /**< for users; first, so that it can be cast back */
	uint32_t blocks;
	uint32_t table_crc;
	_Atomic(struct heap_block *) table; /**< [blocks] NULL until it is needed */
};

struct heap_file {
	int descriptor;       /**< or -1 */
	const uint8_t *bytes; /**< [size] if there is no descriptor */
	uint64_t size;
	struct heap_file_entry *entries; /**< [count] */
	size_t count;
	uint32_t fingerprint; /**< the CRC in the trailer */
};

/**
 * Reads bytes of the file, whose range must be inside it.
 *
 * @param buffer  [size] for the bytes, if they are not in memory
 * @param result  gets a pointer to them
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_fetch(const struct heap_file *file, uint64_t offset, size_t size,
				   uint8_t *buffer, const uint8_t **result);

#endif
