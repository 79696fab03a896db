// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_UNITS_H
#define HEAP_DWARF_FILE_UNITS_H

/** The units of a file with those of its alternate and split files: read once, kept with it. */

#include "lib/dwarf/dwarf_file.h"
#include "lib/dwarf/dwarf_units.h"

/**
 * Finds the units of a file.
 *
 * @param result  the file's, as long as it is open
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_file_units(struct heap_dwarf_file *file,
					 struct heap_dwarf_units **result);

#endif
