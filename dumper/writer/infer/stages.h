// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef STAGES_H
#define STAGES_H

/**
 * The stages of inference, best evidence first: stages.c lists them. After one that has named blocks, what
 * these lead to is named, and the first stage is next again.
 */

#include "lib/base/error.h"

#include <stdbool.h>
#include <stdint.h>

struct inference;

/** Applies all waiting claims, and those that result from them. */
HEAP_MUST_CHECK
struct heap_error *stages_settle(struct inference *inference);

/**
 * Runs one step: the best evidence that is left, and its consequences.
 *
 * @param named     gets how many blocks have got a name; 0: no stage finds anything new
 * @param is_cheap  gets whether the step visited news only: a list whose pointers lead to a member of its nodes is
 *                  named two nodes at a time, in as many steps
 */
HEAP_MUST_CHECK
struct heap_error *stages_advance(struct inference *inference, uint64_t *named, bool *is_cheap);

#endif
