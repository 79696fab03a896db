// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_REACHABLE_H
#define HEAP_REACHABLE_H

/**
 * The objects and bytes that one root or one object leads to.
 */

#include "lib/graph/graph.h"

struct heap_reachable {
	uint64_t objects;
	uint64_t bytes;
};

/** Reusable memory of the search: create once, ask often. */
struct heap_reachable_search;

/** Takes 8 bytes an object. @param graph  must outlive the result */
HEAP_MUST_CHECK
struct heap_error *heap_reachable_create(const struct heap_graph *graph,
					 struct heap_reachable_search **result);

/** NULL is fine. */
void heap_reachable_destroy(struct heap_reachable_search *search);

/** Sums up the objects that a root reaches. Linear in these and their edges. */
struct heap_reachable heap_reachable_from_root(struct heap_reachable_search *search,
					       heap_root_id root);

/** Sums up the objects that an object reaches, itself included. */
struct heap_reachable heap_reachable_from_object(struct heap_reachable_search *search,
						 heap_object_id object);

/**
 * Sums up the objects that each of two nodes reaches (an object's id, or the number of objects + a
 * root's id; an object reaches itself), and those that both do.
 */
void heap_reachable_from_both(struct heap_reachable_search *search, heap_node_id a, heap_node_id b,
			      struct heap_reachable *by_a, struct heap_reachable *by_b,
			      struct heap_reachable *both);

#endif
