// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POOL_TEXTS_H
#define POOL_TEXTS_H

/**
 * Texts in pools: what a char * leads to, between the other parts, if it reads as text up to a NUL. If it does not, it
 * is bytes up to where the next part begins, as a record in front of the node that leads to it, unless there are pointers:
 *
 *	record │ node ┐ record │ node ┐ …
 *	▲             │
 *	└─────────────┘
 */

#include "lib/base/error.h"

struct inference;

/** Adds texts and bytes to the parts of the capture's pools, which are complete but for them, and in order. */
HEAP_MUST_CHECK
struct heap_error *pool_texts_add(struct inference *inference);

#endif
