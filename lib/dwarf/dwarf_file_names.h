// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_NAMES_H
#define HEAP_DWARF_FILE_NAMES_H

/**
 * The names of the files that a unit's DW_AT_decl_file counts in.
 *
 * (DWARF 5, section 6.2.4.) They stand in the header of the unit's line table. The types of all
 * units need them: libdwarf would join each with its directory in a string of its own. Here that is done
 * for the files of a few lines alone.
 */

#include "lib/dwarf/dwarf_units.h"

struct heap_dwarf_file_names {
	struct heap_dwarf_file_name {
		const char *name;   /**< of the sections, as the compiler was given it */
		uint64_t directory; /**< its number */
	} * names;                  /**< [count] */
	size_t count, capacity;
	size_t first;             /**< number of names[0]: 1, in DWARF 5 0 */
	const char **directories; /**< [directory_count] of the sections */
	size_t directory_count, directory_capacity;
	size_t first_directory; /**< number of directories[0], likewise */
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

/** The name of file @p number without directories, "" if there is none such. */
const char *heap_dwarf_file_names_name(const struct heap_dwarf_file_names *files, uint64_t number);

/**
 * The path of file @p number, without . and .. (by the names alone, as debuggers have it).
 *
 * @param directory  DW_AT_comp_dir, or ""; what is relative is relative to it
 * @return malloc'd; "" if there is no such file; NULL if memory is short
 */
char *heap_dwarf_file_names_path(const struct heap_dwarf_file_names *files, uint64_t number,
				 const char *directory);

#endif
