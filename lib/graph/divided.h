// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_DIVIDED_H
#define HEAP_DIVIDED_H

/**
 * The pointer graph in which the parts of pools are objects of their own.
 *
 * A pool is one block to malloc, but its parts belong to whoever points to them:
 *
 *	slabs ───▶ [ page: item │ item │ item ]        slabs retains the page alone,
 *	                     ▲      ▲      ▲           table the items,
 *	table ───▶ slots ────┴──────┘      │           free the last one
 *	free ──────────────────────────────┘
 *
 * Were the page one node, the three would hold all of it together, with all that any of the items leads to.
 *
 * So do the elements of a slab (struct heap_slab).
 *
 * The nodes are the blocks, by their own numbers, and then the parts, by block and offset. A block's
 * node stands for the bytes of no part, and for what lies at its start: a pointer to a pool and one to
 * its first part cannot be told apart. Of parts that lie in each other the outermost counts.
 *
 * The bytes behind a part up to the next one are its own, such as the text behind a header, unless a
 * pointer leads there: something without a type begins then. The last part of a pool gets no more than the
 * one before it, since the rest may not be in use.
 *
 * A pool and its parts are free together all the same. So what no root of the surest level that reaches a
 * block (enum heap_root_level) leads to in it hangs on the rest, by edges of its own: a part that nothing
 * points to on its pool; a pool that only pointers to its parts keep on all of these.
 */

#include "lib/graph/dominators.h"

/** Which of 64 objects have parts with nodes of their own. */
struct heap_divided_bits {
	uint64_t bits;
	uint32_t before; /**< divided blocks with lower numbers than these objects */
};

/** A block that has parts with nodes of their own. */
struct heap_divided_block {
	heap_object_id object;
	uint32_t first_part; /**< in heap_divided.parts; those of the next one follow */
};

struct heap_divided {
	struct heap_graph *graph; /**< of nodes; NULL: no block is divided, it is that of blocks */
	uint32_t objects;         /**< nodes that are no roots: blocks and parts */
	struct heap_snapshot *snapshot; /**< of blocks */

	/** of the nodes, once heap_divided_set_dominators() was called */
	const struct heap_dominators *dominators;

	/* private; all empty if no block is divided */
	struct heap_snapshot nodes;
	struct heap_part *parts; // [part_count] those of pools, and elements of slabs
	uint64_t *ends;          // [part_count] bytes from the start of the block
	uint32_t *origins;       // [nodes.edge_count] see heap_divided_edge()
	uint32_t part_count;
	struct heap_divided_block *blocks; // [block_count + 1] by object
	uint32_t block_count;
	struct heap_divided_bits *is_divided; // [objects / 64 + 1]
	uint64_t *retained;                   // [block_count + 1] by blocks with their parts
};

/**
 * Makes the graph of nodes. Without parts and slabs there is none, and no more than PARTS is loaded.
 *
 * Linear in edges, with a binary search for each that leads from or into a divided block; takes two copies of
 * the edges, 20 bytes per node, 40 per part, and while it works another copy.
 *
 * @param snapshot         must outlive the result
 * @param is_conservative  all roots are of one level
 * @param progress         or NULL
 * @return NULL, what heap_snapshot_load() says, HEAP_ERROR_MEMORY, HEAP_ERROR_INTERRUPTED, or
 *         HEAP_ERROR_ARGUMENT: nodes or edges are too many for 32 bits
 */
HEAP_MUST_CHECK
struct heap_error *heap_divided_create(struct heap_snapshot *snapshot, bool is_conservative,
				       const struct heap_progress *progress,
				       struct heap_divided **result);

/** NULL is fine. */
void heap_divided_destroy(struct heap_divided *divided);

/** True if a node is a block or a part of one, and no root. */
static inline bool heap_divided_is_object(const struct heap_divided *divided, heap_node_id node)
{
	return node < divided->objects;
}

/** The node of a root. */
static inline heap_node_id heap_divided_root(const struct heap_divided *divided, heap_root_id root)
{
	return divided->objects + root;
}

/** The part that a node is, or NULL: it is a block, or a root. */
const struct heap_part *heap_divided_part(const struct heap_divided *divided, heap_node_id node);

/** The block that a node is, or is a part of; HEAP_NO_OBJECT for a root. */
heap_object_id heap_divided_block(const struct heap_divided *divided, heap_node_id node);

/** The node that the byte at an offset of a block belongs to. */
heap_node_id heap_divided_node(const struct heap_divided *divided, heap_object_id block,
			       uint64_t offset);

/** The nodes of a block's parts: [*first, result). Any other node has none. */
heap_node_id heap_divided_parts(const struct heap_divided *divided, heap_object_id block,
				heap_node_id *first);

/** The snapshot's edge that an edge of the graph of nodes is; UINT32_MAX: a part hangs on its pool by it, or that on it. */
static inline uint32_t heap_divided_edge(const struct heap_divided *divided, uint32_t edge)
{
	return divided->origins ? divided->origins[edge] : edge;
}

/**
 * Sets the dominators of the nodes, and adds up what divided blocks retain, if there are any.
 *
 * @param dominators  must outlive the divided graph
 */
HEAP_MUST_CHECK
struct heap_error *heap_divided_set_dominators(struct heap_divided *divided,
					       const struct heap_dominators *dominators);

/**
 * The bytes that a block retains: with all of its parts, if it is divided; what two of these hold
 * together, and nothing else, is not counted (heap_dominator_tree_sum()). 0: it is leaked. Needs dominators.
 */
uint64_t heap_divided_retained(const struct heap_divided *divided, heap_object_id block);

/** The nearest dominator of a block that is no part of it, or HEAP_NO_NODE. Needs dominators. */
heap_node_id heap_divided_holder(const struct heap_divided *divided, heap_object_id block);

/**
 * Marks the nodes that a block and its parts dominate, themselves included. Needs dominators.
 *
 * @param marks  [divided->objects / 8 + 1] as for heap_dominators_mark()
 */
HEAP_MUST_CHECK
struct heap_error *heap_divided_mark(const struct heap_divided *divided, heap_object_id block,
				     uint8_t *marks);

#endif
