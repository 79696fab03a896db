// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LINE_CACHE_H
#define HEAP_DWARF_LINE_CACHE_H

/** The lines of addresses that were looked up before, as answers of a cache (dwarf_answers.h). */

#include "lib/dwarf/dwarf_answers.h"
#include "lib/dwarf/dwarf_lines.h"

/**
 * Finds an address, as heap_dwarf_line_finder_find() once did.
 *
 * @return false if the address is not in the cache
 */
bool heap_dwarf_line_cache_find(struct heap_dwarf_answers *cache, uint64_t pc,
				struct heap_dwarf_lines *result);

/** Adds the lines of an address that is not in it, unless they are incomplete or the cache is full. */
void heap_dwarf_line_cache_add(struct heap_dwarf_answers *cache, uint64_t pc,
			       const struct heap_dwarf_lines *lines);

#endif
