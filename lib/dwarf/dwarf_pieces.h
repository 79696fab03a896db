// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_PIECES_H
#define HEAP_DWARF_PIECES_H

/**
 * Variables that the compiler has split: each part has a place of its own (DWARF 5, 2.6.1.2).
 *
 *	static struct { struct node *first; size_t count; } table;
 *
 * may become two variables, one in another place and the other optimized away. Each part that is a member or
 * an element becomes a variable of its own, "table.first".
 */

#include "lib/dwarf/dwarf_info_table.h"

/** A part of a variable that has a place of its own. */
struct heap_dwarf_piece {
	uint32_t variable; /**< it has the part's address, but the type and name of the whole */
	uint64_t start, size;
};

/**
 * Gives variables that are parts of others their own types and names. A part that is no whole member or element
 * gets no type.
 *
 * @param types   resolved
 * @param pieces  [count]
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_pieces_place(struct heap_types *types,
					   struct heap_dwarf_variable *variables,
					   const struct heap_dwarf_piece *pieces, size_t count);

#endif
