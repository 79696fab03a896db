// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DEBUG_LISTS_H
#define HEAP_DEBUG_LISTS_H

/**
 * Ranges of code, and locations that hold in ranges of code.
 *
 * (DWARF 5, sections 2.6.2 and 2.17, 7.7.3 and 7.25; DWARF 4 likewise; GNU's form of the
 * latter for split units.) Five encodings of one thing: pairs of addresses, some of them
 * with the bytes of an expression.
 */

#include "lib/dwarf/debug_entries.h"

struct heap_debug_range {
	uint64_t low, high;        /**< in the file: [low, high) */
	const uint8_t *expression; /**< [size] in lists of locations */
	uint64_t size;
	bool is_default; /**< location: wherever no other entry of the list holds */
};

/** @return false to stop */
typedef bool heap_debug_range_visitor(void *context, const struct heap_debug_range *range);

enum heap_debug_list {
	HEAP_DEBUG_RANGES,
	HEAP_DEBUG_LOCATIONS,
};

/**
 * Visits a list's entries in order; damage ends it. The file's late sections must be there.
 *
 * @param entries  turned to the unit that the list's attribute stands in
 * @param value    the attribute's: an offset or an index
 * @param base     the unit's DW_AT_low_pc
 */
void heap_debug_list_visit(const struct heap_debug_entries *entries, enum heap_debug_list kind,
			   const struct heap_debug_value *value, uint64_t base,
			   heap_debug_range_visitor *visit, void *context);

/** What an entry says of where its code is. */
struct heap_debug_extent {
	struct heap_debug_value low, high, ranges;
};

/** Keeps the attribute if it is one of those. */
void heap_debug_extent_note(struct heap_debug_extent *extent, uint16_t name,
			    const struct heap_debug_value *value);

/** DW_AT_low_pc, 0 if there is none. */
uint64_t heap_debug_extent_low(const struct heap_debug_entries *entries,
			       const struct heap_debug_extent *extent);

/**
 * Visits the ranges of code that an entry covers. Those of code that the linker left out
 * (they start at 0 or 1, or at the highest address) are passed over.
 */
void heap_debug_extent_visit(const struct heap_debug_entries *entries,
			     const struct heap_debug_extent *extent, uint64_t base,
			     heap_debug_range_visitor *visit, void *context);

#endif
