// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DEBUG_FILES_H
#define HEAP_DEBUG_FILES_H

/**
 * Line tables: the names of the files that a unit's DW_AT_decl_file counts in, and which
 * line an address belongs to.
 *
 * (DWARF 5, section 6.2.4.) Of a line table only the header is read for the names.
 */

#include "lib/dwarf/debug_units.h"

struct heap_debug_files {
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
struct heap_error *heap_debug_files_read(struct heap_debug_files *files,
					 const struct heap_debug_sections *sections,
					 uint64_t lines);

void heap_debug_files_deinit(struct heap_debug_files *files);

/** A row of a line table: what is at an address, up to that of the next row. */
struct heap_debug_line {
	uint64_t address;
	uint32_t file;
	uint32_t line;
	bool is_end; /**< of a sequence: nothing is at its address */
};

/**
 * Runs a line table's program.
 *
 * (DWARF 5, section 6.2.5.) Damage ends it. Sequences of code that the linker left out,
 * which start at 0 or 1, have no rows.
 *
 * @param lines   DW_AT_stmt_list
 * @param result  [*count] malloc'd; by address
 */
HEAP_MUST_CHECK
struct heap_error *heap_debug_lines_read(const struct heap_debug_sections *sections, uint64_t lines,
					 struct heap_debug_line **result, size_t *count);

/** The name of file @p number, "" if there is none such. */
const char *heap_debug_files_name(const struct heap_debug_files *files, uint64_t number);

#endif
