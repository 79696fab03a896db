// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FRONTIER_H
#define FRONTIER_H

/**
 * The frontier: the objects that one round of claims has named, whose edges are followed next.
 *
 *	objects   o o o o o o │ o o o o │ o o o o o …    pieces with about as many edges each
 *	threads   find the typed edges of a piece, and drop the futile ones
 *	join      typed edges, in order ─▶ claims and hints
 *
 * The threads only read what claims and hints write, and one thread at a time applies the edges, in the
 * order of the claims. So the result does not depend on the number of threads.
 *
 * An edge is futile if its target has a name that is better than what the edge could claim. Names only get
 * better during a round. So it does not matter how much of the round the thread sees.
 */

#include "dumper/writer/infer/claims.h"
#include "lib/base/array.h"
#include "lib/types/slots.h"

struct inference;

enum {
	FRONTIER_PIECE = 4096, /**< edges and objects */
};

/** Where a piece begins, and the one before it ends. */
struct frontier_piece {
	size_t claim;  /**< its position among those that were taken */
	uint32_t edge; /**< of the claim's object */
};

/** An edge out of a typed slot, or, which is nearly always known at once, the claim or hint that it makes. */
struct typed_edge {
	union {
		struct {
			const struct heap_slot *slots; /**< [count] the slots at its place */
			uint32_t count;
		};
		struct {
			uint64_t elements;
			heap_type_id type;
		}; /**< the claim, or the type of the hint */
	};
	uint32_t edge;
	heap_object_id object; /**< its source */
	bool is_futile, is_claim, is_hint;
	uint8_t rank; /**< of the claim */
};

struct frontier {
	struct HEAP_ARRAY(struct frontier_piece) pieces;
	bool has_concerns;      /**< held_parts.h: not all words of its objects hold something */
	struct typed_edge *own; /**< [FRONTIER_PIECE] for a frontier of one piece */
};

/** Begins an empty frontier. */
void frontier_begin(struct inference *inference);

/** Prepares for objects of a type, which is that of some in the frontier. */
HEAP_MUST_CHECK
struct heap_error *frontier_add_type(struct inference *inference, heap_type_id type);

/** Follows the edges of all pieces. @param claims  those that named their objects */
HEAP_MUST_CHECK
struct heap_error *frontier_follow(struct inference *inference, const struct claim_queue *claims);

void frontier_deinit(struct frontier *frontier);

#endif
