// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_OPEN_FILES_H
#define HEAP_OPEN_FILES_H

/** Files that a process may have open at once: without room for more, a file that cannot be opened looks like one that is not there. */

#include "lib/base/error.h"

/**
 * Raises the limit that a process may set itself (RLIMIT_NOFILE) as far as it may: a program with hundreds of libraries
 * takes more than the usual 1024.
 *
 * @return NULL; HEAP_ERROR_SYSTEM if there is not even room for @p count more
 */
HEAP_MUST_CHECK
struct heap_error *heap_open_files_reserve(unsigned count);

#endif
