// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_OBJECT_H
#define HEAP_DWARF_OBJECT_H

/**
 * libdwarf's view of sections that we have mapped and decompressed, so that no file is opened
 * and no section decompressed twice.
 */

#include "lib/dwarf/dwarf_sections.h"

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

/**
 * The same for expressions in bytes that are none of libdwarf's sections, such as .eh_frame, whose
 * entries it would read at once.
 *
 * libdwarf decodes only what lies in a section that it has loaded. So the bytes get the name of
 * .debug_abbrev, which reading one abbreviation loads, whatever that is.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_object_open_bytes(struct heap_dwarf_bytes bytes,
						struct heap_dwarf_object **result);

/** NULL is fine. */
void heap_dwarf_object_close(struct heap_dwarf_object *object);

/** The same of a file's debug sections. Those loaded late are in it if they are loaded. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_object_open_file(const struct heap_dwarf_sections *sections,
					       struct heap_dwarf_object **result);

/**
 * Says where the addresses of a split file are.
 *
 * @param main       fresh, since libdwarf must not have read a DIE of it to look for skeletons in
 *                   all of it; must be closed after @p split
 * @param skeletons  how many @p main has; 0 if a split file has been tied to it before
 */
void heap_dwarf_object_tie(struct heap_dwarf_object *split, const struct heap_dwarf_object *main,
			   size_t skeletons);

/**
 * True if a call of libdwarf gave a result. An error of it is freed: damage means that there is
 * nothing, and the caller goes on.
 *
 * @param status  DW_DLV_...
 */
bool heap_dwarf_object_succeeded(const struct heap_dwarf_object *object, int status,
				 struct Dwarf_Error_s *error);

#endif
