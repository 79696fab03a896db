// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRUST_H
#define HEAP_TRUST_H

/**
 * Tests that nobody but the user can have changed a file or directory.
 *
 * Caches, histories and start-up files are trusted, or run. So such a file must belong to the effective
 * user or root, and nobody else may write it. Each directory above it must belong to one of these, too,
 * and not be writable by others unless it is sticky, as /tmp is. Then nobody else can replace the file
 * after the check, either.
 *
 * Root under sudo with the home directory of a user trusts nothing there, and stores nothing there.
 */

#include "lib/base/error.h"

/** Checks a directory; follows symbolic links. @return NULL if it is trusted, HEAP_ERROR_ABSENT */
HEAP_MUST_CHECK
struct heap_error *heap_trust_directory(const char *path);

/**
 * The same for a regular file. A symbolic link is followed; both it and its target are checked.
 */
HEAP_MUST_CHECK
struct heap_error *heap_trust_file(const char *path);

/** Makes a directory and its parents, for the user alone, below a trusted directory. */
HEAP_MUST_CHECK
struct heap_error *heap_trust_make_directory(const char *path);

#endif
