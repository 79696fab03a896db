// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DIFFERENCE_RETAINED_H
#define DIFFERENCE_RETAINED_H

/**
 * Changes of retained sizes between two snapshots: of roots, compared by name, and of objects that are in
 * both.
 */

#include "lib/series/compare.h"
#include "shell/base/session.h"

/** Prints them. @param limit  the number of roots, and of objects */
HEAP_MUST_CHECK
struct heap_error *difference_print_retained(const struct heap_comparison *comparison,
					     struct session *before, struct session *after,
					     uint64_t limit);

#endif
