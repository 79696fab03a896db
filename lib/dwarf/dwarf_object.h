// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_OBJECT_H
#define HEAP_DWARF_OBJECT_H

/**
 * libdwarf's view of sections that we have mapped and decompressed, so that no file is opened
 * and no section decompressed twice.
 */

#include "lib/dwarf/debug_sections.h"

struct Dwarf_Debug_s;
struct Dwarf_Error_s;

struct heap_dwarf_object {
	struct Dwarf_Debug_s *debug; /**< libdwarf's Dwarf_Debug */
};

/**
 * @param sections  [count] copied; their bytes must outlive the object. Empty ones are left out
 * @return NULL, HEAP_ERROR_ABSENT (no section is one of libdwarf's), FORMAT or MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_object_open(const struct heap_dwarf_section *sections, size_t count,
					  struct heap_dwarf_object **result);

/** NULL is fine. */
void heap_dwarf_object_close(struct heap_dwarf_object *object);

/** The same of a file's debug sections. Those loaded late are in it if they are loaded. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_object_open_file(const struct heap_debug_sections *sections,
					       struct heap_dwarf_object **result);

/**
 * True if a call of libdwarf gave a result. An error of it is freed: damage means that there is
 * nothing, and the caller goes on.
 *
 * @param status  DW_DLV_...
 */
bool heap_dwarf_object_succeeded(const struct heap_dwarf_object *object, int status,
				 struct Dwarf_Error_s *error);

#endif
