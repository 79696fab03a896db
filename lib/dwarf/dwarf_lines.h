// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LINES_H
#define HEAP_DWARF_LINES_H

/**
 * The function, file and line of an address of code, inlined functions included.
 *
 * (DWARF 5, sections 3.3.8 and 6.2.)
 */

#include "lib/dwarf/dwarf_file.h"

#include <stdbool.h>
#include <stddef.h>

struct heap_dwarf_line {
	char *function; /**< malloc'd; "" if unknown; C++: qualified, with its parameters' types
			     left out ("cache::insert") */
	char *file;     /**< malloc'd path, relative if the compiler was told of no directory */
	uint32_t line;  /**< 0 if unknown */
	/** True if it is inlined and passes on memory that it allocates (dwarf_wrappers.h). */
	bool is_wrapper;
};

struct heap_dwarf_lines {
	struct heap_dwarf_line *lines; /**< [count] innermost inlined function first */
	size_t count;                  /**< 0 if the address has no debug information */
	/** True if no file, section or line table was missing, so that another look finds the same: libdwarf
	 *  does not say whether a unit has no table or there was no memory for it. */
	bool is_complete;
};

/**
 * Finds lines. It keeps the line tables and functions of the units that it has read, so that the
 * second address of a unit takes a binary search.
 */
struct heap_dwarf_line_finder;

/** Creates one. @param file  must outlive it */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_finder_create(struct heap_dwarf_file *file,
						 struct heap_dwarf_line_finder **result);

/** NULL is fine. */
void heap_dwarf_line_finder_destroy(struct heap_dwarf_line_finder *finder);

/**
 * @param pc  address in the file; for a return address give it minus 1
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_line_finder_find(struct heap_dwarf_line_finder *finder, uint64_t pc,
					       struct heap_dwarf_lines *result);

void heap_dwarf_lines_deinit(struct heap_dwarf_lines *lines);

#endif
