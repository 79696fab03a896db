// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef COUNTED_SINGLES_H
#define COUNTED_SINGLES_H

/**
 * Blocks of `new T[1]` where it is not known who has allocated them: the 1 before the element may as well count
 * references to it. But where other blocks are known as arrays of several T behind their number (counted.h), and no block
 * has one T behind another number, it is the number of elements.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims them.
 *
 * @param claimed  is counted up for each claim
 */
HEAP_MUST_CHECK
struct heap_error *counted_singles_claim(struct inference *inference, uint64_t *claimed);

#endif
