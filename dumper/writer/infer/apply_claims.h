// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef APPLY_CLAIMS_H
#define APPLY_CLAIMS_H

/**
 * Applies claims: objects get the names that wait for them, and then all these names are followed.
 *
 *	claims    c c c c c c c c │ c c c c c …    pieces: as many positions of the queue
 *	threads   name the objects of a piece, and cut their edges into pieces of the frontier
 *	join      news of kinds, new types, the frontier, in order
 *
 * No two claims that are applied together name one object, so threads write to different objects.
 */

#include "dumper/writer/infer/frontier.h"

struct inference;

/** Claims in a row on objects of one kind. */
struct named_run {
	uint32_t kind;
	uint32_t count;
};

/** The results of a piece of claims. */
struct named_part {
	struct HEAP_ARRAY(struct frontier_piece) pieces;
	struct HEAP_ARRAY(struct named_run) runs;
	struct HEAP_ARRAY(heap_type_id) types; /**< some are there twice */
	uint32_t room;                         /**< edges that the last piece still takes */
	uint32_t applied;                      /**< claims */
	uint32_t named;                        /**< objects that had no name */
};

/**
 * Applies all claims of a rank that wait, as if at once: first all objects get their names, then
 * all names are followed. So the order in which these claims were made does not matter.
 */
HEAP_MUST_CHECK
struct heap_error *claims_apply(struct inference *inference, enum rank rank);

void named_part_deinit(struct named_part *part);

#endif
