// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POOL_ARRAYS_H
#define POOL_ARRAYS_H

/**
 * Arrays of pointers in pools. A compiler's arena has the operands of an instruction like this:
 *
 *	struct inst ──.operands──▶ struct value * │ struct value * │ next part ...
 *	                                  ▼               ▼
 *	                            struct value     struct value
 *
 * The slot that leads there tells the type of the first pointer. More follow as long as each leads to what is, or
 * may be by its enum tag or contents, a value of the pointee, and no other part begins. Or all words up to where another
 * part begins lead to blocks without a name that may be such values.
 */

#include "lib/snapshot/snapshot.h"

#include <stdbool.h>

struct hint;
struct inference;

/** True if a hint says that there is a pointer at a place that is free for an array of them. */
bool pool_arrays_begin(const struct inference *inference, const struct hint *hint);

/** True if a part is such an array. */
bool pool_arrays_is(const struct inference *inference, const struct heap_part *part);

/**
 * The pointers of an array.
 *
 * @param end  offset in the object at which another part begins, or the object's end
 */
uint64_t pool_arrays_measure(const struct inference *inference, const struct heap_part *array,
			     uint64_t end);

#endif
