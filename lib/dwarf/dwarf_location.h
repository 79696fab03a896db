// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_LOCATION_H
#define HEAP_DWARF_LOCATION_H

/**
 * The locations of variables: an expression that holds everywhere, or a list of expressions that
 * hold in ranges of code.
 *
 * (DWARF 5, sections 2.6 and 7.7.3; DWARF 2 to 4, and GNU's form of the latter for split units.)
 * libdwarf reads and decodes them. That takes 2 to 5 µs for each, so they are kept: threads stand
 * at the same places again and again.
 */

#include "lib/dwarf/dwarf_code.h"
#include "lib/dwarf/dwarf_expression.h"

struct heap_dwarf_location {
	uint64_t low, high; /**< in the file: it holds in [low, high) */
	bool is_default;    /**< it holds wherever no other entry of the list does */
	uint32_t first;     /**< operation, private */
	uint32_t count;
};

struct heap_dwarf_location_list {
	const struct heap_dwarf_location *locations; /**< [count] in the order of the file */
	size_t count;
	/** True if all of it could be read. libdwarf does not say whether a list is damaged or there was no
	 *  memory for it. */
	bool is_complete;
};

struct heap_dwarf_locations;

/** The locations of a file: kept with it. */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_file_locations(struct heap_dwarf_file *file,
					     struct heap_dwarf_locations **result);

/**
 * Reads an attribute that is a location.
 *
 * @param place      of a DIE
 * @param attribute  DW_AT_location or DW_AT_frame_base
 * @param result     valid until the next call; empty if there is no such attribute, or if it or
 *                   its section is damaged
 * @return NULL, HEAP_ERROR_FORMAT (no DIE is there) or HEAP_ERROR_MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_locations_find(struct heap_dwarf_locations *locations, uint64_t place,
					     uint16_t attribute,
					     struct heap_dwarf_location_list *result);

/** The expression of a location that heap_dwarf_locations_find() has just given. */
struct heap_dwarf_expression heap_dwarf_locations_expression(
	const struct heap_dwarf_locations *locations, const struct heap_dwarf_location *location);

#endif
