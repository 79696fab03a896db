// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ARRAY_LENGTHS_H
#define ARRAY_LENGTHS_H

/**
 * Arrays whose lengths stand beside the pointers to them.
 *
 *	struct record { uint32_t references, count; struct value *values; }
 *	                                     3       └▶ value │ value │ value
 *
 * Where only usable sizes are known, a block behind a pointer to a struct may as well be a larger struct
 * that begins with that one. But if one number beside a pointer always is the number of elements for which the
 * blocks have room, and these are of several sizes, then they are arrays.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Claims blocks without a name for arrays of such lengths. Does nothing if requested sizes are known.
 *
 * @param claimed  increased by the number of claims
 */
HEAP_MUST_CHECK
struct heap_error *array_lengths_claim(struct inference *inference, uint64_t *claimed);

#endif
