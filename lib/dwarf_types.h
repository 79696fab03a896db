// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_TYPES_H
#define HEAP_DWARF_TYPES_H

/**
 * The types of one compilation unit, as its debugging information entries have them.
 *
 * (DWARF 5, chapter 5.) Every type entry of the unit becomes a type of a small table of
 * its own; what they refer to in other units (partial units, type units by signature) is
 * read along. heap_types_merge() then joins units.
 */

#include "lib/dwarf_file.h"
#include "lib/types.h"

struct heap_unit_types {
	struct heap_types types;
	/** [die_count] by offset: which entry (offset in .debug_info) became which type */
	struct {
		uint64_t offset;
		heap_type_id type;
	} * dies;
	size_t die_count, die_capacity;
};

/** @param unit  the unit's DIE */
HEAP_MUST_CHECK
struct heap_error *heap_unit_types_read(struct heap_dwarf_file *file, Dwarf_Die unit,
					struct heap_unit_types *result);

void heap_unit_types_deinit(struct heap_unit_types *types);

/** The type that the entry at that offset in .debug_info became, or HEAP_NO_TYPE. */
heap_type_id heap_unit_types_find(const struct heap_unit_types *types, uint64_t die_offset);

#endif
