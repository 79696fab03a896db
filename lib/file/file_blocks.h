// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_BLOCKS_H
#define HEAP_FILE_BLOCKS_H

/** The inside of an open file, shared by who opens it (file.c) and who decodes (file_read.c). */

#include "lib/file/file.h"

#include <stdatomic.h>

/** A block as its section's table has it, checked. */
struct heap_block {
	uint64_t offset; /**< bytes from the start of the file */
	uint32_t stored_length;
	uint32_t raw_length;
	uint32_t crc; /**< of the stored bytes */
};

struct heap_file_entry {
	struct heap_section section; /**< what users see: first */
	uint32_t blocks;
	uint32_t table_crc;
	_Atomic(struct heap_block *) table; /**< [blocks] NULL until it is asked for */
};

struct heap_file {
	int descriptor;       /**< or -1 */
	const uint8_t *bytes; /**< without a descriptor */
	uint64_t size;
	struct heap_file_entry *entries; /**< [count] */
	size_t count;
	uint32_t fingerprint; /**< the CRC in the trailer */
};

/**
 * Gets bytes of the file, which must lie in it.
 *
 * @param buffer  [size] where to put them if they have to be put anywhere
 * @param result  where they are
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_fetch(const struct heap_file *file, uint64_t offset, size_t size,
				   uint8_t *buffer, const uint8_t **result);

#endif
