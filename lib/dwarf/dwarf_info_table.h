// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_INFO_TABLE_H
#define HEAP_DWARF_INFO_TABLE_H

/** The table that dwarf_info.h fills: the types and variables of a module. */

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
 * DW_AT_location on aarch64. Variables that the compiler left out look the same, but have no symbol; a part of what
 * such a pointer led to may have one, which begins with its name.
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

#endif
