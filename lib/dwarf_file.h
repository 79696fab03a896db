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
#include <stdint.h>

struct heap_dwarf_file {
	char *path;
	int descriptor;
	Dwarf_Debug debug;
};

/** @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_ABSENT (no debug information), FORMAT, MEMORY */
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
 * The DIE is the visitor's only during the call.
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

#endif
