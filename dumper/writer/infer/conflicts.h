// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONFLICTS_H
#define CONFLICTS_H

/** Conflicts: typed slots that contradict the names of what they point to. */

#include "dumper/writer/infer/inference.h"

/**
 * Counts for each object which typed slots agree with its name. Where more disagree, and agree
 * with each other, the object is renamed as they say.
 */
HEAP_MUST_CHECK
struct heap_error *conflicts_weigh(struct inference *inference, uint64_t *renamed);

#endif
