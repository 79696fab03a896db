// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PAYLOADS_H
#define PAYLOADS_H

/**
 * The types of what lies behind links, in containers that know no more of it than its size.
 *
 *	block │ link, payload │ link, payload │ link, payload │ …       links at a steady stride
 *
 * A hash table of a library returns the payload as a void *, which nothing keeps. Its type is one of that
 * size that agrees with the contents of all payloads of a block, and to whose pointees the contents of
 * what their pointers lead to agree: so many words agree by chance with no other type. Or it is a struct
 * with its own length (self_lengths.h), which leads to the next link.
 */

#include "lib/base/error.h"

#include <stdint.h>

struct inference;

/**
 * Adds hints of the payloads in pools.
 *
 * @param found  increased by the number of payloads
 */
HEAP_MUST_CHECK
struct heap_error *payloads_find(struct inference *inference, uint64_t *found);

/** Gives parts of pools that have their own lengths as many elements, once they are in the snapshot. */
HEAP_MUST_CHECK
struct heap_error *payloads_measure(struct inference *inference);

#endif
