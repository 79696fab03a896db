// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DEBUG_UNITS_H
#define HEAP_DEBUG_UNITS_H

/**
 * The units of a file's debug information, and of the alternate file that dwz made.
 *
 * (DWARF 5, section 7.5.1.) An entry is known by its place: the section in the topmost
 * bits, and its offset in that. A place in .debug_info is its offset.
 */

#include "lib/debug_sections.h"

enum heap_debug_place {
	HEAP_DEBUG_INFO,
	HEAP_DEBUG_TYPES,     /**< .debug_types, before DWARF 5 */
	HEAP_DEBUG_ALTERNATE, /**< .debug_info of the alternate file */
};

#define HEAP_DEBUG_PLACE_SHIFT 40
#define HEAP_DEBUG_OFFSET_MASK (((uint64_t)1 << HEAP_DEBUG_PLACE_SHIFT) - 1)
/** No entry is there; the first unit's header is. */
#define HEAP_DEBUG_NOWHERE ((uint64_t)0)

/** Where a unit's indexes and offsets count from, in the sections that they are of. */
struct heap_debug_bases {
	uint64_t string_offsets, addresses;
	uint64_t ranges; /**< offsets of .debug_ranges, in split units before DWARF 5 */
	uint64_t range_lists, location_lists;
	uint64_t lines;   /**< where the unit's line table is, if has_lines */
	uint64_t address; /**< DW_AT_low_pc: what offsets of code count from */
	bool has_lines;
};

struct heap_debug_unit {
	uint64_t start; /**< place of the header */
	uint64_t die;   /**< place of the first entry */
	uint64_t end;   /**< of the unit; in the same section */
	uint64_t abbreviations;
	uint64_t signature; /**< of a type unit */
	uint64_t type_die;  /**< place; HEAP_DEBUG_NOWHERE unless it is a type unit */
	uint8_t version;
	uint8_t address_size;
	uint8_t offset_size;
	bool split; /**< whether it is one of a split file */
};

struct heap_debug_units {
	const char *path; /**< the caller's */
	struct heap_debug_sections main;
	struct heap_debug_sections alternate; /**< empty unless there is one */
	int alternate_descriptor;
	struct heap_debug_unit *units; /**< [count] by place */
	size_t count, capacity;
	uint32_t *by_signature; /**< [signature_count] type units, by signature */
	size_t signature_count;
	uint64_t unreadable; /**< with headers that make no sense */
};

/** Reads the headers of all units. @param path  of the file; must live as long */
HEAP_MUST_CHECK
struct heap_error *heap_debug_units_open(int descriptor, const char *path,
					 struct heap_debug_units *result);

void heap_debug_units_close(struct heap_debug_units *units);

/** The unit that an entry is in, or NULL. */
const struct heap_debug_unit *heap_debug_units_find(const struct heap_debug_units *units,
						    uint64_t place);

/** The unit whose header is at that place, or NULL. */
const struct heap_debug_unit *heap_debug_units_at(const struct heap_debug_units *units,
						  uint64_t start);

/** The unit that has the entries: that of a split file for a skeleton, else the unit itself. */
const struct heap_debug_unit *heap_debug_units_full(const struct heap_debug_units *units,
						    const struct heap_debug_unit *unit);

/** Loads the sections that say of ranges of code and of locations. */
HEAP_MUST_CHECK
struct heap_error *heap_debug_units_load_late(struct heap_debug_units *units);

/** The type unit of that signature, or NULL. */
const struct heap_debug_unit *heap_debug_units_find_type(const struct heap_debug_units *units,
							 uint64_t signature);

/** The sections of the file that the unit is in. */
const struct heap_debug_sections *heap_debug_units_sections(const struct heap_debug_units *units,
							    const struct heap_debug_unit *unit);

/** The section that a place is in. */
struct heap_debug_bytes heap_debug_units_section(const struct heap_debug_units *units,
						 uint64_t place);

#endif
