// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef UNPLACED_VARIABLES_H
#define UNPLACED_VARIABLES_H

/**
 * Blocks that frames lead to, whose variables are somewhere, but nobody knows where (../scan/unplaced.h): such a block is what
 * the only one of these variables leads to that its size and contents agree with. A variable whose struct some block of
 * the frame is known to be is explained, and tells nothing more. Nor is a block asked about to which typed slots lead, be it to
 * a member as those of lists: they tell more than what a frame may have left of an earlier call. One to which a block with
 * hints leads waits until that has a name, as an array of pointers gets one late.
 */

#include "dumper/writer/infer/inference.h"

/** Claims such blocks that have no name. @param claimed  counted up */
HEAP_MUST_CHECK
struct heap_error *unplaced_variables_claim(struct inference *inference, uint64_t *claimed);

#endif
