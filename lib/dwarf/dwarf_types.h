// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_TYPES_H
#define HEAP_DWARF_TYPES_H

/**
 * The types of one compilation unit, by its DIEs.
 *
 * (DWARF 5, chapter 5.) Every type DIE of the unit becomes a type of a small table of its own. DIEs
 * in other units that these refer to (partial units, type units by signature) are read, too.
 * heap_types_merge() then joins units.
 */

#include "lib/dwarf/dwarf_file.h"
#include "lib/types/types.h"

struct heap_unit_types {
	struct heap_types types;
	/** [die_count] by place: which DIE became which type */
	struct {
		uint64_t place;
		heap_type_id type;
	} * dies;
	size_t die_count, die_capacity;
};

/** @param place  of any DIE of the unit, as dwarf_units.h counts them */
HEAP_MUST_CHECK
struct heap_error *heap_unit_types_read(struct heap_dwarf_file *file, uint64_t place,
					struct heap_unit_types *result);

void heap_unit_types_deinit(struct heap_unit_types *types);

/** The type that the DIE at that place became, or HEAP_NO_TYPE. */
heap_type_id heap_unit_types_find(const struct heap_unit_types *types, uint64_t place);

#endif
