// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_EDGE_BUCKETS_H
#define HEAP_EDGE_BUCKETS_H

/**
 * Edges between numbered nodes, collected in any order and then sorted by target, a bucket at a time.
 *
 *	add(from, to) ─▶ batch ─▶ │ bucket of 0 to 65,535        │ ─▶ sort ─▶ sources by target
 *	                          │ bucket of 65,536 to 131,071  │
 *	                            another thread
 *
 * A bucket has the edges to 65,536 numbers in turn, so that edges are written sequentially, and is sorted
 * in the cache. A second thread distributes the edges over the buckets, with all page faults that this
 * takes, where there is a second processor.
 */

#include "lib/base/error.h"

#include <stddef.h>
#include <stdint.h>

enum {
	HEAP_EDGE_BUCKET = 65536, /**< numbers of a bucket */
	HEAP_EDGE_BATCH = 32768,  /**< edges that are handed over together */
};

struct heap_edge_buckets;

/** Edges to one bucket, sorted by target; of equal targets, in the order opposite to that of adding. */
struct heap_sorted_edges {
	/** [HEAP_EDGE_BUCKET + 1] where the sources of each target begin in `from`, and their end */
	uint32_t *first;
	uint32_t *from;
};

struct heap_numbered_edge {
	uint32_t from, to;
};

/** A batch that is being filled. */
struct heap_edge_batch {
	struct heap_numbered_edge *edges; /**< [HEAP_EDGE_BATCH] */
	size_t count;
};

/**
 * @param numbers  targets are below
 * @param edges    the most edges that will be added; each takes 6 bytes
 */
HEAP_MUST_CHECK
struct heap_error *heap_edge_buckets_create(uint32_t numbers, uint64_t edges,
					    struct heap_edge_buckets **result);

/** NULL is fine. */
void heap_edge_buckets_destroy(struct heap_edge_buckets *buckets);

/** The batch that edges are added to; it stays at that address. */
struct heap_edge_batch *heap_edge_buckets_batch(struct heap_edge_buckets *buckets);

/** Hands over the batch and empties it. @return NULL, or what heap_column_create() says */
HEAP_MUST_CHECK
struct heap_error *heap_edge_buckets_hand_over(struct heap_edge_buckets *buckets);

/** Completes the buckets: no more edges are added. */
HEAP_MUST_CHECK
struct heap_error *heap_edge_buckets_finish(struct heap_edge_buckets *buckets);

/** Makes room to sort any one of the buckets, once they are complete. */
HEAP_MUST_CHECK
struct heap_error *heap_sorted_edges_init(struct heap_sorted_edges *sorted,
					  const struct heap_edge_buckets *buckets);

void heap_sorted_edges_deinit(struct heap_sorted_edges *sorted);

/** Sorts the edges to numbers from @p bucket * HEAP_EDGE_BUCKET on. */
void heap_edge_buckets_sort(const struct heap_edge_buckets *buckets, uint32_t bucket,
			    struct heap_sorted_edges *sorted);

/** Adds an edge. */
HEAP_MUST_CHECK
static inline struct heap_error *heap_edge_buckets_add(struct heap_edge_buckets *buckets,
						       struct heap_edge_batch *batch, uint32_t from,
						       uint32_t to)
{
	batch->edges[batch->count++] = (struct heap_numbered_edge){ from, to };
	return batch->count < HEAP_EDGE_BATCH ? NULL : heap_edge_buckets_hand_over(buckets);
}

#endif
