// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef AGAIN_H
#define AGAIN_H

/**
 * Infers the types of a snapshot anew, with debug information that was missing when it was written.
 *
 * A snapshot keeps objects, pointers and the start of contents, but no code, no constants, and no
 * values of variables that had no name. So the classes are those that vtables told at the time;
 * method tables stay unknown; functions inlined at a site have no frames; variables in registers
 * have no names; and of other variables that get their names only now, only the pointers are known.
 */

#include "lib/base/error.h"

/**
 * @param path        of the snapshot
 * @param descriptor  gets the new one
 * @param files       NULL-terminated: with debug information of the snapshot's modules
 * @return NULL, HEAP_ERROR_ARGUMENT (a file is of no module), or what else failed
 */
HEAP_MUST_CHECK
struct heap_error *again_infer(const char *path, int descriptor, char *const *files);

#endif
