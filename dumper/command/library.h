// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef HEAPSNAP_LIBRARY_H
#define HEAPSNAP_LIBRARY_H

/**
 * libheapsnap.so: where it lies beside this program, and how it is recognised in another process.
 */

#include "dumper/base/note.h"
#include "lib/base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBRARY_NAME "libheapsnap.so"
#define LIBRARY_TRACE_NAME "libheapsnap-trace.so"

/**
 * Looks in this program's own directory (as built) and in the lib beside it (as installed).
 *
 * @param path  malloc'd, with symbolic links resolved
 */
HEAP_MUST_CHECK
struct heap_error *library_find(const char *name, char **path);

/**
 * Finds the library's note in the first bytes of an ELF file or of its mapping, which may be
 * anything.
 *
 * @param at  gets the offset of the note's description
 * @return false if there is none, or of another version
 */
bool library_read_note(const uint8_t *bytes, size_t size, struct heapsnap_note *note, size_t *at);

#endif
