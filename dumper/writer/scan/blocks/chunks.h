// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CHUNKS_H
#define CHUNKS_H

/**
 * The chunks of glibc's malloc in the frozen copy.
 *
 * A chunk is named by its base, the address that malloc returns. The word before that has the
 * chunk's size, a multiple of 16, and three flags; the chunk's last 8 bytes are the next one's
 * first (glibc, malloc/malloc.c, "struct malloc_chunk details").
 *
 *	        base                          next base
 *	[size|flags][what the program uses …][size|flags]
 */

#include "dumper/writer/scan/image/image.h"

#include <stdbool.h>
#include <stdint.h>

/** The size and the flags of the chunk at @p base; 0 if there can be none. */
uint64_t chunk_read(const struct image *image, uint64_t base);

/** The base of the chunk behind one. @param chunk  as chunk_read() has it */
uint64_t chunk_end(uint64_t base, uint64_t chunk);

/** True if the chunk has a mapping of its own. */
bool chunk_is_mapped(uint64_t chunk);

/** True if malloc rounds up @p bytes to such a chunk. */
bool chunk_fits(uint64_t chunk, uint64_t bytes);

/**
 * True if the chunk that ends at @p end is allocated, or in a cache of freed ones. The flag that
 * says so is in the size of the chunk behind it.
 */
bool chunk_before_is_in_use(const struct image *image, uint64_t end);

/** Walks from chunk to chunk as long as they end at or before @p end. @return the last base */
uint64_t chunks_walk(const struct image *image, uint64_t base, uint64_t end);

#endif
