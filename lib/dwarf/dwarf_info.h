// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_INFO_H
#define HEAP_DWARF_INFO_H

/**
 * The types of all units of a module, merged, and its variables: read once, cached by build id.
 *
 * Lines, inlined functions, locals and call frames are read on demand: dwarf_lines.h,
 * dwarf_locals.h, dwarf_unwind.h.
 */

#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_info_table.h"

/**
 * Whoever changes what the cache stores, or what heap_dwarf_info_read() finds, counts it up. Other caches that
 * refer to types by their numbers (dwarf_answers.h) are then void, too.
 */
#define HEAP_DWARF_INFO_VERSION 20

/**
 * Reads all units. Damage costs the unit it is in. Types that no object can have, as C++
 * templates make them by the hundred thousand, are left out.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_read(struct heap_dwarf_file *file,
					struct heap_dwarf_info *result);

void heap_dwarf_info_deinit(struct heap_dwarf_info *debug);

/**
 * Reads from the cache, @p directory/ID-VERSION, what heap_dwarf_info_read() once gave.
 *
 * @param build_id  lower-case hex
 * @param source    the file that it would be read from
 * @return NULL; HEAP_ERROR_ABSENT if there is none; HEAP_ERROR_FORMAT if it is damaged
 *         (read afresh and store again), HEAP_ERROR_SYSTEM, HEAP_ERROR_MEMORY,
 *         HEAP_ERROR_ARGUMENT if @p build_id is no such text
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_load(const char *directory, const char *build_id,
					const struct heap_dwarf_source *source,
					struct heap_dwarf_info *result);

/** The same from the bytes of such a file. @param build_id  NULL: any */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_load_memory(const uint8_t *bytes, size_t size,
					       const char *build_id,
					       struct heap_dwarf_info *result);

/** Stores it, under a temporary name first; makes the directory (0700) if need be. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_store(const char *directory, const char *build_id,
					 const struct heap_dwarf_source *source,
					 const struct heap_dwarf_info *debug);

#endif
