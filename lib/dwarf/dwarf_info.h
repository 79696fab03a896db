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
#include "lib/types/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum heap_dwarf_variable_flags {
	HEAP_DWARF_VARIABLE_THREAD_LOCAL = 1 << 0, /**< address: offset in the module's TLS block */
	HEAP_DWARF_VARIABLE_STATIC = 1 << 1,       /**< not external: file or function scope */
};

/**
 * Address of a thread-local variable that only its symbol locates: gcc and clang give it no
 * DW_AT_location on aarch64. Variables that the compiler left out look the same, but have no symbol.
 */
#define HEAP_DWARF_NO_ADDRESS UINT64_MAX

/** A variable with a fixed address: global, static in a file or in a function, a member. */
struct heap_dwarf_variable {
	uint32_t name; /**< offset in types.strings; C++: qualified, "cache::DIEs" */
	heap_type_id type;
	uint64_t address; /**< in the file */
	uint32_t file;
	uint32_t line;
	uint8_t flags; /**< enum heap_dwarf_variable_flags */
};

struct heap_dwarf_info {
	struct heap_types types;
	struct heap_dwarf_variable
		*variables; /**< [variable_count] by address, thread-locals last */
	uint32_t variable_count;
	uint64_t units;            /**< compilation units read */
	uint64_t dies;             /**< debugging information DIEs read */
	uint64_t unreadable_units; /**< skipped for damage; the rest is still there */
	bool incomplete; /**< some of it is in files that were not found or cannot be read: split
			      DWARF's .dwo, dwz's alternate file; such is not for the cache */
	char *missing;   /**< says so in words; NULL if it is complete or from the cache */
};

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
 * @return NULL; HEAP_ERROR_ABSENT if there is none; HEAP_ERROR_FORMAT if it is damaged
 *         (read afresh and store again), HEAP_ERROR_SYSTEM, HEAP_ERROR_MEMORY,
 *         HEAP_ERROR_ARGUMENT if @p build_id is no such text
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_load(const char *directory, const char *build_id,
					struct heap_dwarf_info *result);

/** The same from the bytes of such a file. @param build_id  NULL: any */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_load_memory(const uint8_t *bytes, size_t size,
					       const char *build_id,
					       struct heap_dwarf_info *result);

/** Stores it, under a temporary name first; makes the directory (0700) if need be. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_info_store(const char *directory, const char *build_id,
					 const struct heap_dwarf_info *debug);

#endif
