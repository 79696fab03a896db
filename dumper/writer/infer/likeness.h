// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LIKENESS_H
#define LIKENESS_H

/**
 * Likeness: where no sites are known, as after an attach, a block that nothing leads to, or only a void *,
 * gets the type of other blocks of its size, if its pointers lead to what theirs do. That is how leaked
 * blocks get the types of those that are still in use. No other type of that size may agree as well.
 */

#include "dumper/writer/infer/inference.h"

/** Claims such blocks that have no name. @param claimed  counted up */
HEAP_MUST_CHECK
struct heap_error *likeness_claim(struct inference *inference, uint64_t *claimed);

#endif
