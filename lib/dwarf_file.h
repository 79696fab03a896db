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

struct heap_dwarf_file {
	char *path;
	int descriptor;
	Dwarf_Debug debug;
	/** what the file is the separate debug file of, or NULL: packages may be beside that */
	const char *program;

	/* Made when they are first asked for; private. */
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

#endif
