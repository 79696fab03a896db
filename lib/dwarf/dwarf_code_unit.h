// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_CODE_UNIT_H
#define HEAP_DWARF_CODE_UNIT_H

/** Reads one unit's DIEs for its functions; for dwarf_code.h only. */

#include "lib/dwarf/dwarf_code.h"

/**
 * @param dies   turned to the unit
 * @param skeleton  the unit that stands for it in the main file, or itself
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_code_unit_read(const struct heap_dwarf_dies *dies,
					     const struct heap_dwarf_unit *skeleton,
					     struct heap_dwarf_code_unit **result);

/** NULL is fine. */
void heap_dwarf_code_unit_destroy(struct heap_dwarf_code_unit *unit);

#endif
