// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DWARF_FILE_H
#define HEAP_DWARF_FILE_H

/** A file with debug information, and everything that was read from it. */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Things that are read on demand and kept with the file, each built on those before it. */
enum heap_dwarf_kept_kind {
	HEAP_DWARF_KEPT_UNITS,     /**< dwarf_file_units.h */
	HEAP_DWARF_KEPT_CODE,      /**< dwarf_code.h */
	HEAP_DWARF_KEPT_LOCATIONS, /**< dwarf_location.h */
	HEAP_DWARF_KEPT_COUNT,
};

struct heap_dwarf_kept {
	void *thing; /**< NULL until it is read */
	void (*destroy)(void *thing);
};

struct heap_dwarf_file {
	char *path;
	int descriptor;
	/** the program or library that this is the separate debug file of, or NULL: packages of
	 *  split files may be beside that */
	const char *program;
	struct heap_dwarf_kept kept[HEAP_DWARF_KEPT_COUNT]; /**< private */
};

/** Tells a debug file from another one of the same build id; another user cannot make one that is alike. */
struct heap_dwarf_source {
	uint64_t size, time_ns; /**< when it was last written to */
	uint64_t owner;
};

/** @return false if that cannot be known */
bool heap_dwarf_file_source(const struct heap_dwarf_file *file, struct heap_dwarf_source *result);

/** @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_ABSENT (no debug information), FORMAT, MEMORY */
HEAP_MUST_CHECK
struct heap_error *heap_dwarf_open(const char *path, struct heap_dwarf_file **result);

/** Frees what has been read of the file; it is read again when it is needed. */
void heap_dwarf_forget(struct heap_dwarf_file *file);

/** NULL is fine. */
void heap_dwarf_close(struct heap_dwarf_file *file);

#endif
