// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef GLIBC_STATES_H
#define GLIBC_STATES_H

/** Finds the copies of glibc's malloc in a process, by the rings of bins of their first arenas. */

#include "dumper/writer/scan/blocks/glibc_walker.h"

/** A layout that is known, by number; NULL: there are no more. */
const struct glibc_layout *glibc_layout(size_t number);

/** Fills the walker's states. */
HEAP_MUST_CHECK
struct heap_error *glibc_states_find(struct glibc_walker *walker);

#endif
