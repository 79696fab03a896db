// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_H
#define HEAP_FILE_H

/**
 * The container of a snapshot: sections of compressed blocks with checksums.
 *
 *	┌───────┬──────────────────────────────┬─────┬───────────┬─────────┐
 *	│ magic │ section: block block … table │  …  │ directory │ trailer │
 *	└───────┴──────────────────────────────┴─────┴───────────┴─────────┘
 *
 * A section is a sequence of unsigned 64-bit values (a column, or a table stored row by
 * row with a fixed number of fields) or of bytes. It is divided into blocks of a fixed number
 * of elements, each compressed on its own and with its own CRC. So an element can be read without
 * the others, and damage affects one section only. heapsnap(5) describes every byte.
 *
 * This module knows nothing of heaps. It trusts nothing that it reads: counts, offsets and lengths
 * are checked against the file's size before use, and that size bounds what a reader allocates (a
 * block inflates to HEAP_BLOCK_BYTES_MAX at most). Files are read, not mapped: truncating an open
 * file causes an error, not SIGBUS.
 *
 * One open file may be read by several threads.
 */

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

/** Four letters, in the order of the file: HEAP_TAG('o','a','d','r'). */
#define HEAP_TAG(a, b, c, d) \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

/** The encoding of elements before compression. The values are stored in files. */
enum heap_encoding {
	HEAP_ENCODING_BYTES = 1,  /**< an element is a byte */
	HEAP_ENCODING_VARINT = 2, /**< unsigned LEB128 */
	/** zigzag LEB128 of the difference to the element before; for the first of a block, to 0 */
	HEAP_ENCODING_DELTA = 3,
};

enum {
	HEAP_FILE_VERSION = 1,
	HEAP_BLOCK_ELEMENTS = 65536, /**< elements of each block except a section's last one */
	HEAP_BLOCK_BYTES_MAX = HEAP_BLOCK_ELEMENTS * 10, /**< decompressed */
};

struct heap_section {
	uint32_t tag;
	uint16_t encoding; /**< enum heap_encoding */
	uint16_t fields;   /**< values per row of a table; 1 for a column */
	uint64_t offset;   /**< bytes from the start of the file */
	uint64_t length;   /**< stored bytes, including the block table */
	uint64_t count;    /**< elements: for a table, rows × fields */
};

/* --- reading --- */

struct heap_file;

/**
 * Opens a file and reads its directory, nothing else.
 *
 * @return NULL; or HEAP_ERROR_SYSTEM (cannot be opened, is a directory...), HEAP_ERROR_FORMAT
 *         (empty, not a snapshot, truncated, of a newer version, damaged directory),
 *         HEAP_ERROR_MEMORY; the message begins with the path
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_open(const char *path, struct heap_file **result);

/** The same for bytes in memory, which must outlive the result; for tests and fuzzing. */
HEAP_MUST_CHECK
struct heap_error *heap_file_open_memory(const uint8_t *bytes, size_t size,
					 struct heap_file **result);

void heap_file_close(struct heap_file *file);

/** A checksum of the whole file: its directory's CRC, which covers all other CRCs. */
uint32_t heap_file_fingerprint(const struct heap_file *file);

/** @return the section of that tag, owned by the file, or NULL if there is none */
const struct heap_section *heap_file_find(const struct heap_file *file, uint32_t tag);

/** "section 'otyp' is damaged: @p why", HEAP_ERROR_FORMAT. */
HEAP_MAKES_ERROR
struct heap_error *heap_section_damaged(uint32_t tag, const char *why);

/** "section 'step' has @p rows rows, and this version reads at most @p most", HEAP_ERROR_FORMAT. */
HEAP_MAKES_ERROR
struct heap_error *heap_section_too_long(uint32_t tag, uint64_t rows, uint32_t most);

/**
 * Checks that a section's blocks are inside it and large enough for its elements.
 *
 * To be called before allocating by section->count. A byte of deflated data inflates to at most
 * 1032, so a count that passes is at most about that many times the file's size. Cheap: reads no
 * elements.
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_check(const struct heap_file *file,
				   const struct heap_section *section);

/**
 * Decodes elements [first, first + count) of a section; reads only their blocks.
 *
 * Several threads decode several blocks. The 32-bit form fails with HEAP_ERROR_FORMAT on a value
 * that does not fit. After an error, the contents of @p result are undefined.
 *
 * @param result  [count] the caller's
 * @return NULL, HEAP_ERROR_FORMAT (the message names the section), HEAP_ERROR_SYSTEM,
 *         HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_read_u64(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint64_t *result);
HEAP_MUST_CHECK
struct heap_error *heap_file_read_u32(const struct heap_file *file,
				      const struct heap_section *section, uint64_t first,
				      uint64_t count, uint32_t *result);
HEAP_MUST_CHECK
struct heap_error *heap_file_read_bytes(const struct heap_file *file,
					const struct heap_section *section, uint64_t first,
					uint64_t count, uint8_t *result);

/* --- writing --- */

struct heap_file_writer;

/**
 * Starts a file on an open, empty descriptor (the caller's; not closed).
 *
 * Sections are written one after the other: begin, put..., end. After an error all further calls do
 * nothing, and heap_file_writer_finish() returns it. So a column is written in a plain loop.
 */
HEAP_MUST_CHECK
struct heap_error *heap_file_writer_create(int descriptor, struct heap_file_writer **result);

/** @param fields  values per row; 1 for a column */
void heap_file_writer_begin(struct heap_file_writer *writer, uint32_t tag,
			    enum heap_encoding encoding, uint16_t fields);

/** Appends a value to the section. */
void heap_file_writer_put(struct heap_file_writer *writer, uint64_t value);

/** The same for many values, in half the time. */
void heap_file_writer_put_values(struct heap_file_writer *writer, const uint64_t *values,
				 size_t count);

/** Gets values @p first to @p first + @p count - 1 of a column. Several threads may call it at once. */
typedef void heap_file_get(void *context, uint64_t first, size_t count, uint64_t *values);

/** Puts a whole section of @p count values or bytes, which several threads get, encode and compress. */
void heap_file_writer_put_column(struct heap_file_writer *writer, uint64_t count,
				 heap_file_get *get, void *context);

/** For HEAP_ENCODING_BYTES. */
void heap_file_writer_put_bytes(struct heap_file_writer *writer, const void *bytes, size_t size);

/** Completes a section. */
void heap_file_writer_end(struct heap_file_writer *writer);

/** Starts sections in memory, which heap_file_writer_append() appends to a file. */
HEAP_MUST_CHECK
struct heap_error *heap_file_writer_create_part(struct heap_file_writer **result);

/** Appends all sections of a part to a file, and frees the part's memory. */
void heap_file_writer_append(struct heap_file_writer *writer, struct heap_file_writer *part);

/** Writes directory and trailer; does not sync. @return NULL, or the first error of all calls */
HEAP_MUST_CHECK
struct heap_error *heap_file_writer_finish(struct heap_file_writer *writer);

/** NULL is fine. */
void heap_file_writer_destroy(struct heap_file_writer *writer);

#endif
