// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONFLICTS_H
#define CONFLICTS_H

/** Conflicts: typed slots that contradict the names of their targets. */

#include "dumper/writer/infer/inference.h"

/**
 * Counts for each object the typed slots that agree with its name. Where more slots agree on another
 * name, the object gets that.
 */
HEAP_MUST_CHECK
struct heap_error *conflicts_weigh(struct inference *inference, uint64_t *renamed);

#endif
