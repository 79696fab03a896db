// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_RANGES_H
#define HEAP_DWARF_RANGES_H

/**
 * The ranges of code that DIEs cover.
 *
 * (DWARF 5, sections 2.17 and 7.25; DWARF 4, section 2.17.) Every function, block and inlined call
 * of a unit may have a list of them, and all are read when the first address of the unit is
 * looked up.
 */

#include "lib/dwarf/dwarf_dies.h"

struct heap_dwarf_range {
	uint64_t low, high; /**< in the file: [low, high) */
};

/** @return false to stop */
typedef bool heap_dwarf_range_visitor(void *context, const struct heap_dwarf_range *range);

/** The attributes of a DIE that tell where its code is. */
struct heap_dwarf_extent {
	struct heap_dwarf_value low, high, ranges;
};

/** Keeps the attribute if it is one of those. */
void heap_dwarf_extent_note(struct heap_dwarf_extent *extent, uint16_t name,
			    const struct heap_dwarf_value *value);

/** DW_AT_low_pc, 0 if there is none. */
uint64_t heap_dwarf_extent_low(const struct heap_dwarf_dies *entries,
			       const struct heap_dwarf_extent *extent);

/**
 * Visits the ranges of code that an entry covers. Those of code that the linker left out
 * (they start at 0 or 1, or at the highest address) are passed over.
 */
void heap_dwarf_extent_visit(const struct heap_dwarf_dies *entries,
			     const struct heap_dwarf_extent *extent, uint64_t base,
			     heap_dwarf_range_visitor *visit, void *context);

#endif
