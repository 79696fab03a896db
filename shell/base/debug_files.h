// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DEBUG_FILES_H
#define DEBUG_FILES_H

/**
 * Debug information that the user adds later: heapsnap-writer infers the types of a snapshot anew,
 * into a file without a name.
 */

#include "lib/snapshot/snapshot.h"

/**
 * Opens a snapshot with the types that debug information tells.
 *
 * @param files  NULL-terminated: unstripped binaries or separate debug files of its modules
 * @return NULL; what heapsnap-writer says, or why it could not be run
 */
HEAP_MUST_CHECK
struct heap_error *debug_files_open(const char *path, char *const *files,
				    struct heap_snapshot **result);

#endif
