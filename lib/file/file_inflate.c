// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/file/file_inflate.h"

#include <zlib.h>

#if __has_include(<libdeflate.h>)
#include <libdeflate.h>

// The linker sets them to NULL in a program that is not linked with libdeflate.
#pragma weak libdeflate_alloc_decompressor
#pragma weak libdeflate_deflate_decompress
#pragma weak libdeflate_free_decompressor

#define HAS_LIBDEFLATE (libdeflate_alloc_decompressor != NULL)
#endif

enum {
	HEADER = 2, // bytes before the deflated ones
	DICTIONARY = 1 << 5,
};

HEAP_MUST_CHECK
static struct heap_error *inflate_by_zlib(const uint8_t *deflated, uint32_t length, uint8_t *raw,
					  uint32_t raw_length, bool *is_good)
{
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)deflated,
			    .avail_in = length,
			    .next_out = raw,
			    .avail_out = raw_length };

	if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
		return heap_error_out_of_memory();

	int status = inflate(&stream, Z_FINISH);

	inflateEnd(&stream);
	*is_good = status == Z_STREAM_END && stream.avail_out == 0;
	return status == Z_MEM_ERROR ? heap_error_out_of_memory() : NULL;
}

#ifdef HAS_LIBDEFLATE
HEAP_MUST_CHECK
static struct heap_error *inflate_by_libdeflate(const uint8_t *deflated, uint32_t length,
						uint8_t *raw, uint32_t raw_length, bool *is_good)
{
	struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();

	if (!decompressor)
		return heap_error_out_of_memory();
	// Without a variable for the length, another one is an error.
	*is_good = libdeflate_deflate_decompress(decompressor, deflated, length, raw, raw_length,
						 NULL) == LIBDEFLATE_SUCCESS;
	libdeflate_free_decompressor(decompressor);
	return NULL;
}
#endif

struct heap_error *heap_inflate(const uint8_t *stored, uint32_t stored_length, uint8_t *raw,
				uint32_t raw_length, bool *is_good)
{
	*is_good = false;
	if (stored_length < HEADER || (stored[0] & 0xf) != Z_DEFLATED ||
	    (stored[0] << 8 | stored[1]) % 31 != 0 || (stored[1] & DICTIONARY))
		return NULL;
#ifdef HAS_LIBDEFLATE
	if (HAS_LIBDEFLATE)
		return inflate_by_libdeflate(stored + HEADER, stored_length - HEADER, raw,
					     raw_length, is_good);
#endif
	return inflate_by_zlib(stored + HEADER, stored_length - HEADER, raw, raw_length, is_good);
}
