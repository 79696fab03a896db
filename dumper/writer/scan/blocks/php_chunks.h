// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PHP_CHUNKS_H
#define PHP_CHUNKS_H

/**
 * The memory that PHP's own allocator keeps a request's values in: chunks that it maps. Their blocks are not
 * known here; the size of the memory is, so that nobody looks for it in vain.
 */

#include "dumper/writer/scan/image/image.h"

/** Bytes of the chunks in all anonymous memory, less their free pages. */
uint64_t php_chunks_size(const struct image *image);

#endif
