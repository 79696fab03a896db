// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_REPLACE_FILE_H
#define HEAP_REPLACE_FILE_H

/**
 * Replaces a file as a whole: it is written under a temporary name and then renamed. Readers see the old
 * file or the new one, and of two writers at once the last wins.
 */

#include "lib/base/error.h"

/** Writes the contents. The descriptor is the caller's. */
typedef struct heap_error *heap_file_filler(void *context, int descriptor);

/**
 * Creates a file, for its owner alone, or replaces it.
 *
 * @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_MEMORY, or the error of @p fill: then the file is what it was
 */
HEAP_MUST_CHECK
struct heap_error *heap_replace_file(const char *path, heap_file_filler *fill, void *context);

#endif
