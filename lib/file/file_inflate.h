// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILE_INFLATE_H
#define HEAP_FILE_INFLATE_H

/** Decompresses the blocks of a file. */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

/**
 * Decompresses a zlib stream (RFC 1950) whose raw length is known. Its checksum is not read, since
 * blocks have a CRC of their own.
 *
 * libdeflate does it in half the time of zlib. Programs that are not linked with it use zlib.
 *
 * @param is_good  gets false if it is no such stream, or has another length
 * @return NULL, or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_inflate(const uint8_t *stored, uint32_t stored_length, uint8_t *raw,
				uint32_t raw_length, bool *is_good);

#endif
