// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_RETAINED_H
#define HEAP_RETAINED_H

/**
 * The objects that a set of objects retains together: they would be unreachable without the set.
 *
 *	root → a → c,  root → b → c      a retains a, b retains b, a and b together also c
 *
 * Retained sizes of its members do not add up to that; it takes a search from the roots that does
 * not pass through the set. The set is part of the answer, but for leaked members. Paths count as
 * for dominators (enum heap_root_level).
 */

#include "lib/graph/graph.h"

struct heap_retained {
	uint64_t objects;
	uint64_t bytes;
};

/**
 * Two passes over the edges; a byte and a quarter per object while it works.
 *
 * @param graph     whose snapshot has SIZE
 * @param set       [objects / 8 + 1] a bit per object
 * @param retained  [objects / 8 + 1] gets a bit for each of the answer; must be all 0
 */
HEAP_MUST_CHECK
struct heap_error *heap_retained_by_set(const struct heap_graph *graph, const uint8_t *set,
					uint8_t *retained, struct heap_retained *result);

#endif
