// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TRUST_H
#define HEAP_TRUST_H

/**
 * Files and directories that nobody but the user can have changed.
 *
 * The contents of a cache, a history or a start-up file are believed, or run. So it has to belong to the
 * effective user or root, nobody else may write it, and each directory above it has to be the user's or
 * root's, and not writable by others unless it is sticky, as /tmp. Then nobody else can exchange
 * what was checked, either, and a path may be used after the check.
 *
 * Root under sudo with the home directory of a user trusts nothing there, and leaves nothing.
 */

#include "lib/base/error.h"

/** Succeeds if a directory is the user's alone, symbolic links followed. @return HEAP_ERROR_ABSENT */
HEAP_MUST_CHECK
struct heap_error *heap_trust_directory(const char *path);

/**
 * The same for a regular file. A symbolic link is followed: it and what it leads to have to be
 * the user's or in directories as above.
 */
HEAP_MUST_CHECK
struct heap_error *heap_trust_file(const char *path);

/** Makes a directory, and those above it, for the user alone, below a directory that is trusted. */
HEAP_MUST_CHECK
struct heap_error *heap_trust_make_directory(const char *path);

#endif
