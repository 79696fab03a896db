// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_NAMES_H
#define HEAP_DWARF_FILE_NAMES_H

/**
 * The names of the files that a unit's DW_AT_decl_file counts in.
 *
 * (DWARF 5, section 6.2.4.) They stand in the header of the unit's line table. The types of all
 * units need them: libdwarf would join each with its directory in a string of its own.
 */

#include "lib/dwarf/dwarf_units.h"

struct heap_dwarf_file_names {
	const char **names; /**< [count] of the sections, without directories */
	size_t count, capacity;
	size_t first; /**< number of names[0]: 1, in DWARF 5 0 */
};

/**
 * Replaces what was read before; an unreadable table has no files.
 *
 * @param lines  DW_AT_stmt_list
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_file_names_read(struct heap_dwarf_file_names *files,
					      const struct heap_dwarf_sections *sections,
					      uint64_t lines);

void heap_dwarf_file_names_deinit(struct heap_dwarf_file_names *files);

/** The name of file @p number, "" if there is none such. */
const char *heap_dwarf_file_names_name(const struct heap_dwarf_file_names *files, uint64_t number);

#endif
