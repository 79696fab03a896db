// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef LINKED_PREFIXES_H
#define LINKED_PREFIXES_H

/**
 * Prefixes by which blocks are linked, so that a runtime or a region finds all that it has to free.
 *
 *	region.blocks ─▶ link, T
 *	                   └──▶ link, U
 *	                          └──▶ link, bytes
 *
 * Typed slots tell of the prefixes of some (block_prefixes.h). The link leads to where another block begins, and so
 * does no typed slot. So those before and behind them in their list have the same prefix, whatever leads to them.
 * Links may stand anywhere in a prefix. Where they are not its first word, the other block has to lead back.
 */

#include "lib/snapshot/snapshot.h"

struct inference;

/** The block that the first word of another one leads to the start of, or HEAP_NO_OBJECT. */
heap_object_id linked_prefixes_next(const struct inference *inference, heap_object_id object);

/** Likewise that the word at an offset leads to, but itself. */
heap_object_id linked_prefixes_follow(const struct inference *inference, heap_object_id object,
				      uint32_t offset);

/** True if one of a block's first bytes leads to the start of another one. */
bool linked_prefixes_lead_back(const struct inference *inference, heap_object_id object,
			       heap_object_id target, uint32_t bytes);

/** Gives blocks the prefix of those that they are linked to. @param found  increased by their number */
HEAP_MUST_CHECK
struct heap_error *linked_prefixes_spread(struct inference *inference, uint64_t *found);

#endif
