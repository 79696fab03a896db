// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_H
#define HEAP_DWARF_FILE_H

/**
 * A file's debug information, opened with libdwarf.
 *
 * libdwarf's differences between versions (0.4 dropped parameters that 20210528 had) end
 * in this module. Its errors become struct heap_error here, and its own error objects are
 * freed.
 */

#include "lib/error.h"

#include <libdwarf/dwarf.h>
#include <libdwarf/libdwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A unit's header: of .debug_info, or (before DWARF 5) of .debug_types. */
struct heap_dwarf_unit {
	uint64_t die;       /**< offset of its DIE in its section */
	uint64_t end;       /**< where the next header stands */
	uint64_t type_die;  /**< type units: offset of the type's DIE in its section */
	uint64_t signature; /**< type units: what DW_FORM_ref_sig8 refers to, else 0 */
	bool in_info;       /**< whether its section is .debug_info */
};

struct heap_dwarf_file {
	char *path;
	int descriptor;
	Dwarf_Debug debug;

	/* Made when they are first asked for; private. */
	struct heap_dwarf_unit *units; /**< [unit_count] .debug_info first, by offset */
	size_t unit_count;
	bool has_units;
	bool units_damaged;              /**< the headers could not be followed to the end */
	struct heap_dwarf_range *ranges; /**< [range_count] by start */
	size_t range_count;
	bool has_ranges;
	struct heap_debug_units *debug_units; /**< for those who read entries without libdwarf */
	struct heap_debug_code *code;
};

/**
 * A file with .eh_frame alone opens too; it then has no units.
 *
 * @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_ABSENT (no debug information), FORMAT, MEMORY
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result);

/** NULL is fine. */
void heap_dwarf_close(struct heap_dwarf_file *file);

/** The error for what libdwarf returned, about @p what; ends @p error. */
HEAP_MAKES_ERROR
struct heap_error *heap_dwarf_error(struct heap_dwarf_file *file, Dwarf_Error error,
				    const char *what);

/**
 * Calls @p visit with each compilation unit's DIE, in order (partial and type units too).
 * The DIE is the visitor's only during the call. What the visitor returns ends the visit;
 * units that libdwarf cannot read are passed over.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_visit_units(struct heap_dwarf_file *file,
					  struct heap_error *(*visit)(void *context,
								      Dwarf_Die unit),
					  void *context);

/**
 * The DIE of the compilation unit whose code holds @p pc (an address in the file), by
 * .debug_aranges where it has them, by the units' own ranges otherwise; the mapping is
 * made once and kept. To be freed with dwarf_dealloc_die(); *result is NULL if none does.
 */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_find_unit(struct heap_dwarf_file *file, uint64_t pc,
					Dwarf_Die *result);

/** The headers of all units. @param count  their number */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_units(struct heap_dwarf_file *file,
				    const struct heap_dwarf_unit **result, size_t *count);

/** The type unit of that signature (as read in the file's byte order), or NULL. */
const struct heap_dwarf_unit *heap_dwarf_find_type_unit(struct heap_dwarf_file *file,
							uint64_t signature);

/**
 * Calls @p visit with each range [low, high) of code that the entry covers, by
 * DW_AT_low_pc and DW_AT_high_pc or by DW_AT_ranges; false stops. Ranges of code that the
 * linker left out (they start at 0 or 1 then) and unreadable ones are passed over.
 *
 * @param unit  the DIE of the unit that @p die is in
 */
void heap_dwarf_visit_ranges(struct heap_dwarf_file *file, Dwarf_Die unit, Dwarf_Die die,
			     bool (*visit)(void *context, uint64_t low, uint64_t high),
			     void *context);

#endif
