// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_STATES_H
#define GLIBC_STATES_H

/** Finds the copies of glibc's malloc in a process, by the rings of bins of their first arenas. */

#include "dumper/writer/scan/glibc_walker.h"

/** Fills the walker's states. */
HEAP_MUST_CHECK
struct heap_error *glibc_states_find(struct glibc_walker *walker);

#endif
