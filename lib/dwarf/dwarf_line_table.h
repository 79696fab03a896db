// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LINE_TABLE_H
#define HEAP_DWARF_LINE_TABLE_H

/**
 * Line tables: the line that an address belongs to.
 *
 * (DWARF 5, section 6.2.) libdwarf runs their programs.
 */

#include "lib/dwarf/dwarf_object.h"

/** The line of the code from an address up to that of the next row. */
struct heap_dwarf_row {
	uint64_t address;
	uint32_t file; /**< number in the table's list of files */
	uint32_t line;
	bool is_end; /**< end of a sequence: no code belongs to this row */
};

struct heap_dwarf_line_table {
	struct heap_dwarf_row *rows; /**< [count] by address */
	size_t count;
};

/**
 * Reads the line table of a unit.
 *
 * A damaged table, or a unit without one, gives no rows. Rows of code that the linker left out,
 * whose sequence starts at 0, 1 or the highest address, are dropped.
 *
 * @param lines     .debug_line, which @p object has, too
 * @param unit_die  offset of the unit's first DIE in .debug_info
 * @return NULL or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_table_read(const struct heap_dwarf_object *object,
					      struct heap_dwarf_bytes lines, uint64_t unit_die,
					      struct heap_dwarf_line_table *result);

void heap_dwarf_line_table_deinit(struct heap_dwarf_line_table *table);

/** The row of the code at @p pc, or NULL. */
const struct heap_dwarf_row *heap_dwarf_line_table_find(const struct heap_dwarf_line_table *table,
							uint64_t pc);

#endif
