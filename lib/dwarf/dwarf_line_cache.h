// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LINE_CACHE_H
#define HEAP_DWARF_LINE_CACHE_H

/**
 * The lines of addresses that were looked up before, cached by build id (dwarf_cache_file.h).
 *
 * Successive captures look up much the same addresses, even for different programs: functions that
 * tables of libc point to, callers of main(). For the first address, the finder decompresses the
 * sections of the whole file; with the cache, it often need not be made at all.
 *
 * A cache has at most 65,536 addresses and 4 MiB of strings. It records the size of the file that
 * its lines came from: a larger debug file that is installed later replaces them.
 */

#include "lib/dwarf/dwarf_lines.h"

#include <stdbool.h>

struct heap_dwarf_line_cache;

/**
 * Opens the cache of a file; nothing is read before the first heap_dwarf_line_cache_find().
 *
 * @param directory, build_id  copied; as for heap_dwarf_info_load()
 * @param file_size            of the file with the debug information
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_cache_create(const char *directory, const char *build_id,
						uint64_t file_size,
						struct heap_dwarf_line_cache **result);

/** NULL is fine. */
void heap_dwarf_line_cache_destroy(struct heap_dwarf_line_cache *cache);

/**
 * Finds an address, as heap_dwarf_line_finder_find() once did. A cache that is not there, is damaged or cannot
 * be trusted is an empty one.
 *
 * @return false if the address is not in it
 */
bool heap_dwarf_line_cache_find(struct heap_dwarf_line_cache *cache, uint64_t pc,
				struct heap_dwarf_lines *result);

/** Adds the lines of an address that is not in it, unless they are incomplete or the cache is full. */
void heap_dwarf_line_cache_add(struct heap_dwarf_line_cache *cache, uint64_t pc,
			       const struct heap_dwarf_lines *lines);

/** Stores it if something was added. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_cache_store(struct heap_dwarf_line_cache *cache);

/** Reads a cache from the bytes of its file: for tests and fuzzing. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_cache_load_memory(struct heap_dwarf_line_cache *cache,
						     const uint8_t *bytes, size_t size);

#endif
