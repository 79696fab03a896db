// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef DIFFERENCE_RETAINED_H
#define DIFFERENCE_RETAINED_H

/**
 * What roots and objects keep alive now that they did not before, or the other way: retained
 * sizes of two snapshots, roots compared by what they are called, objects that are in both.
 */

#include "lib/series/compare.h"
#include "shell/base/session.h"

/** Says it. @param limit  how many roots, and how many objects */
HEAP_MUST_CHECK
struct heap_error *difference_print_retained(const struct heap_comparison *comparison,
					     struct session *before, struct session *after,
					     uint64_t limit);

#endif
