// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_REGULAR_FILE_H
#define HEAP_REGULAR_FILE_H

/**
 * Opens files whose names come from a captured process, a core file or debug information. Such a name may lead to
 * a device or a pipe, which do things when they are opened: a watchdog starts, a tape rewinds, a writer wakes up.
 */

#include "lib/base/error.h"

/**
 * Opens a regular file for reading. Anything else of that name is not opened at all.
 *
 * @param descriptor  the caller's, closed on exec; -1 on error
 * @return NULL, HEAP_ERROR_SYSTEM, HEAP_ERROR_FORMAT if it is not a regular file
 */
HEAP_MUST_CHECK
struct heap_error *heap_regular_file_open(const char *path, int *descriptor);

/** The same for a file that need not be there. @return a descriptor, or -1 */
int heap_regular_file_try(const char *path);

#endif
