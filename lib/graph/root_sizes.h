// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_ROOT_SIZES_H
#define HEAP_ROOT_SIZES_H

/**
 * How much roots hold, one by one or in groups (all of a file, of a thread, of a frame): what they
 * reach, what they alone reach, what several of them reach together, and what nobody else points
 * to.
 *
 *	f ──▶ a ──▶ c ◀── b ◀── g        f reaches a, c, retains a, and retains c together with g;
 *	                                 f and g, as one group, retain all
 *
 * To search from each root would take as many searches as there are roots. Instead the graph is
 * condensed first: an object becomes one node, its top, with the other objects of its cycles and
 * all that they dominate; so does a root. The condensed graph is acyclic: one pass over it finds the
 * set of groups that reach each top, and one pass per 64 groups how much each group reaches.
 *
 * The smallest set of groups without which an object would be free is the set of all that reach
 * it. So objects fall into classes by that set, and the classes add up to all that is reachable:
 * what each group retains, what each set of several groups retains, and the rest, which more than
 * HEAP_JOINT_MOST groups reach, or a root of no group.
 *
 * Only pointers from an object's own level of roots count (enum heap_root_level).
 */

#include "lib/graph/graph.h"

struct heap_root_sizes;

/** The group of all other roots: they hold objects, but their sizes are not computed. */
#define HEAP_NO_GROUP UINT32_MAX

struct heap_root_size {
	uint64_t reachable; /**< bytes that the group's roots lead to */
	uint64_t reachable_objects;
	uint64_t retained; /**< bytes that no root outside the group leads to */
	uint64_t retained_objects;
	uint64_t exclusive; /**< bytes of objects that only the group's roots point to */
};

enum {
	HEAP_JOINT_MOST = 8, /**< groups that retain something together */
};

/** A size that several groups retain together: all of them lead to it, and no other root. */
struct heap_joint_size {
	const uint32_t *groups; /**< [count] ascending; NULL for a rest */
	uint32_t count;
	uint64_t retained; /**< bytes */
	uint64_t retained_objects;
	uint32_t set; /**< private */
};

/**
 * The classes of objects by the set of groups that reach them: that of group g is g, and then
 * follow these.
 */
#define HEAP_CLASS_OUTSIDE(groups) (groups)     /**< reached by roots of no group, whoever else */
#define HEAP_CLASS_MANY(groups) ((groups) + 1)  /**< by more groups than HEAP_JOINT_MOST */
#define HEAP_CLASS_JOINT(groups) ((groups) + 2) /**< by those of joints[0], and so on */
#define HEAP_CLASS_LEAKED UINT32_MAX

struct heap_joint_sizes {
	struct heap_joint_size *joints; /**< [count] by bytes, the most first */
	size_t count;
	struct heap_joint_size many;    /**< reached by more groups than HEAP_JOINT_MOST */
	struct heap_joint_size outside; /**< reached by roots of no group */

	/* private */
	struct heap_group_sets *sets;
	uint32_t *holders;  // [tops] sets of groups
	uint32_t *class_of; // [sets of two groups or more]
};

/**
 * Linear in objects and edges; 5 bytes per object, and 20 for each top and 4 for each edge between
 * tops. While it works it takes as much as heap_components_init(), and 8 bytes for each component.
 *
 * @param graph  must outlive the result; its snapshot need not have SIZE until sizes are measured
 * @return NULL, what heap_components_init() says, or HEAP_ERROR_ARGUMENT: objects and roots are too
 *         many for 32 bits
 */
HEAP_MUST_CHECK
struct heap_error *heap_root_sizes_create(const struct heap_graph *graph,
					  struct heap_root_sizes **result);

/** NULL is fine. */
void heap_root_sizes_destroy(struct heap_root_sizes *sizes);

/**
 * One pass over the condensed graph per 64 groups, and one for all; that one takes O(k) for each
 * edge, if k is HEAP_JOINT_MOST, and for each distinct set (a million at most) 4 k + 16
 * bytes. 12 bytes per node of the condensed graph while it works; the joint sizes keep 4.
 *
 * @param group   [roots] below @p count, or HEAP_NO_GROUP
 * @param result  [count]
 * @param joint   freed by heap_joint_sizes_deinit(); or NULL
 */
HEAP_MUST_CHECK
struct heap_error *heap_root_sizes_measure(const struct heap_root_sizes *sizes,
					   const uint32_t *group, uint32_t count,
					   struct heap_root_size *result,
					   struct heap_joint_sizes *joint);

void heap_joint_sizes_deinit(struct heap_joint_sizes *joint);

/** The holders of all objects, for functions that walk the dominator tree from its top. */
struct heap_holders {
	const struct heap_root_sizes *sizes;
	const struct heap_joint_sizes *joint;
	const uint32_t *group; /**< [roots] */
	uint32_t words;        /**< the group of stack words and the like, or HEAP_NO_GROUP */
};

/** The class of an object. */
uint32_t heap_joint_class(const struct heap_root_sizes *sizes, const struct heap_joint_sizes *joint,
			  heap_object_id object);

#endif
