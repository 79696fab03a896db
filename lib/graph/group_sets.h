// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_GROUP_SETS_H
#define HEAP_GROUP_SETS_H

/**
 * Sets of groups of roots as ids, so that a set takes 4 bytes for each node of a graph.
 *
 *	0 … groups - 1      the set of that group alone
 *	groups              contains a root of no group, and perhaps others
 *	groups + 1          more groups than an id is kept for
 *	groups + 2 + i      sets.items[i]: two groups or more
 *
 * Equal sets have equal ids. The union of two sets is O(most), and mostly one lookup in a cache.
 * There are at most HEAP_GROUP_SETS sets; any further one counts as too many groups, so memory is
 * bounded for every graph.
 */

#include "lib/base/array.h"
#include "lib/base/hash_table.h"
#include "lib/graph/root_sizes.h"

enum {
	HEAP_GROUP_SETS = 1 << 20,       /**< sets of two groups or more that are kept */
	HEAP_GROUP_SETS_CACHE = 1 << 12, /**< private */
};

#define HEAP_NO_GROUP_SET UINT32_MAX /**< the empty set */

struct heap_group_set {
	uint32_t first; /**< in members */
	uint32_t count;
};

struct heap_group_sets {
	uint32_t groups;
	uint32_t most; /**< groups in a set: 1 to HEAP_JOINT_MOST */
	struct HEAP_ARRAY(struct heap_group_set) sets;
	struct HEAP_ARRAY(uint32_t) members; /**< ascending in each set */

	/* private */
	struct heap_hash_table by_members;
	struct heap_group_union {
		uint32_t a, b, result;
	} * cache; // [HEAP_GROUP_SETS_CACHE] unions that were formed last
};

/** Begins with the sets of one group each. @param most  groups in a set: 1 to HEAP_JOINT_MOST */
HEAP_MUST_CHECK
struct heap_error *heap_group_sets_init(struct heap_group_sets *sets, uint32_t groups,
					uint32_t most);

void heap_group_sets_deinit(struct heap_group_sets *sets);

/**
 * The union of two sets.
 *
 * @param a, b    ids, or HEAP_NO_GROUP_SET
 * @param result  an id; may be where @p a came from
 */
HEAP_MUST_CHECK
struct heap_error *heap_group_sets_unite(struct heap_group_sets *sets, uint32_t a, uint32_t b,
					 uint32_t *result);

/** The id of sets with a root of no group. */
static inline uint32_t heap_group_sets_outside(const struct heap_group_sets *sets)
{
	return sets->groups;
}

/** The id of sets of too many groups. */
static inline uint32_t heap_group_sets_many(const struct heap_group_sets *sets)
{
	return sets->groups + 1;
}

#endif
