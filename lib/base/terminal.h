// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_TERMINAL_H
#define HEAP_TERMINAL_H

/** Asks what a terminal can do. */

#include <stdbool.h>

/**
 * True if a descriptor is a terminal that has colours, and lines that can be written over, by the control sequences of
 * ECMA-48: not if TERM is "dumb" or unset, as in an editor's window or a job's log.
 */
bool heap_terminal_is_able(int descriptor);

#endif
