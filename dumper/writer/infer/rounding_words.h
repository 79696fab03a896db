// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ROUNDING_WORDS_H
#define ROUNDING_WORDS_H

/**
 * Finds pointers in what an allocator has rounded a block's size up by, where only its usable size is known. The
 * program never writes there: such a word is left over from what was in that memory before, and would make a block the
 * holder of another one that it knows nothing of.
 *
 *	struct node (80 bytes) in a block of 88
 *	│ left │ right │ … │ value │ stale ──▶ a block that a list holds
 *
 * A type may also be too small for a block: one that extends it has a member there. Such members lead to the same in
 * most objects, or to what nothing else leads to, while what is left over leads anywhere. So all words at one place
 * behind objects of a type are judged together, and where there are few of them, only those go that no member can be:
 * behind nodes of the standard library's containers, and behind objects whose class their table tells. But for those
 * nodes, the only pointer to a block always stays: it is no leak because its holder's type is not known, or because a
 * class asks for more than its size.
 */

#include "dumper/writer/scan/capture.h"
#include "lib/base/array.h"

/** Pointers of objects, by their numbers in the list of edges, in ascending order. */
struct rounding_words HEAP_ARRAY(uint32_t);

/** Finds those that are left over. Nothing where sizes are exact. */
HEAP_MUST_CHECK
struct heap_error *rounding_words_find(const struct capture *capture, struct rounding_words *words);

#endif
