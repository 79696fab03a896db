// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POOLS_H
#define POOLS_H

/**
 * Pools: blocks without a type that the program cuts up itself, and their parts, which typed slots
 * point to. The only part of a block is an array up to its end, if that fits and reads like one.
 */

#include "dumper/writer/infer/layout.h"
#include "dumper/writer/infer/parts/pool_hints.h"
#include "lib/base/array.h"
#include "lib/base/hash_table.h"

struct inference;

/** The parts of blocks that the program cuts up. */
struct pools {
	struct heap_part *parts; /**< [count] as they were found */
	uint32_t count, capacity;
	struct HEAP_ARRAY(uint32_t) first_edges; /**< [count] pools_first_edge() */
	uint32_t *changed; /**< [changed_count] parts that have not been followed yet */
	uint32_t changed_count, changed_capacity;
	struct heap_hash_table by_place; /**< the parts by object and offset */
	struct pool_summaries summaries; /**< of the cut that is under way */
	uint32_t hints_seen;
	bool *is_pool;      /**< [objects] */
	bool *is_pool_kind; /**< [kinds of objects] whether blocks without a name are */
};

/**
 * Cuts blocks that have no name, but several hints, into parts.
 *
 * @param at_the_end  nothing else is left to try: one part will do
 */
HEAP_MUST_CHECK
struct heap_error *pools_cut(struct inference *inference, bool at_the_end, uint64_t *cut);

/** Makes a block that has no name, or is only known to be bytes, a pool with an array in it. */
HEAP_MUST_CHECK
struct heap_error *pools_add_array(struct inference *inference, const struct heap_part *array);

/** Takes a name from a block that its own pointers contradict: it is a pool, with the parts that they lead to. */
HEAP_MUST_CHECK
struct heap_error *pools_doubt(struct inference *inference, heap_object_id object);

/** Follows the pointers of a part. */
HEAP_MUST_CHECK
struct heap_error *pools_follow(struct inference *inference, const struct heap_part *part);

/** Puts the parts of all pools in order into capture. */
HEAP_MUST_CHECK
struct heap_error *pools_finish(struct inference *inference);

/** True if blocks of an object's kind have turned out to be such. */
static inline bool pools_have_kind(const struct pools *pools, uint32_t kind)
{
	return pools->is_pool_kind && pools->is_pool_kind[kind];
}

/** True if a block has turned out to be one that the program cuts up itself. */
static inline bool pools_have(const struct pools *pools, heap_object_id object)
{
	return pools->is_pool && pools->is_pool[object];
}

/** The first edge of the block that is not before a part: each pass over the parts asks for it. */
static inline uint32_t pools_first_edge(const struct pools *pools, uint32_t part)
{
	return pools->first_edges.items[part];
}

/**
 * True if a block has turned out to be cut up, and parts of it are structs of @p type, which could be
 * as large as the block: they have a flexible array. The block is none of them.
 */
bool pools_contain(const struct inference *inference, heap_object_id object, heap_type_id type);

/** The type of the part at an offset of a block; HEAP_NO_TYPE: no part begins there. */
heap_type_id pools_type_at(const struct pools *pools, heap_object_id object, uint64_t offset);

void pools_deinit(struct pools *pools);

#endif
