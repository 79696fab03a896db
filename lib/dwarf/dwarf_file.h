// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_H
#define HEAP_DWARF_FILE_H

/** A file with debug information, and what has been read of it. */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_dwarf_file {
	char *path;
	int descriptor;
	/** what the file is the separate debug file of, or NULL: packages may be beside that */
	const char *program;

	/* Made when they are first asked for; private. */
	struct heap_dwarf_units *debug_units;
	struct heap_dwarf_code *code;
	struct heap_dwarf_locations *locations;
};

/** @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_ABSENT (no debug information), FORMAT, MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result);

/** NULL is fine. */
void heap_dwarf_close(struct heap_dwarf_file *file);

#endif
