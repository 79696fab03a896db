// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROUNDED_SIZES_H
#define ROUNDED_SIZES_H

/**
 * Blocks that are larger than their one struct, since the program rounds sizes up: caches of objects do so,
 * and hand what was given back to them out again as another type of that rounded size.
 *
 * No type has such a block's size. The struct is looked for among the pointees of pointers to its start,
 * the types of the allocating code, and the structs that have the hinted parts. It leaves no room for
 * another one like it, and what hints say is in its place there.
 *
 * Likewise a header, to which a pointer leads, whose payload no type tells of: another pointer leads to
 * numbers, characters or pointers right behind it, as implicitly shared strings have it. Or its own pointer leads
 * behind it, as that of a value does to a short text in the same block. Or it has the number of bytes behind it, like a
 * chunk of memory that is handed out piece by piece.
 */

#include "lib/base/error.h"
#include "lib/snapshot/snapshot.h"

struct inference;

/**
 * Claims blocks without a name for the struct that agrees best with their hints, unless there are several, or
 * their content speaks against it.
 *
 * @param by_lengths  headers count, too, that have the number of bytes behind them: when pools are known, whose parts
 *                    lie there
 * @param claimed     is counted up for each claim
 */
HEAP_MUST_CHECK
struct heap_error *rounded_sizes_claim(struct inference *inference, bool by_lengths,
				       uint64_t *claimed);

/** True if a block has room for one struct and no other, and nothing larger begins with it. */
bool rounded_sizes_fit(const struct inference *inference, heap_object_id object, heap_type_id type);

/** False if a block is none of a struct that would fit into it once: its hints or its content contradict. */
bool rounded_sizes_allow(const struct inference *inference, heap_object_id object,
			 heap_type_id type);

/** True if a block without a name is one: its own hints agree with one struct best. */
bool rounded_sizes_has(const struct inference *inference, heap_object_id object);

#endif
