// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_GRAPH_H
#define HEAP_GRAPH_H

/**
 * The pointer graph of a snapshot, with roots, forward and reverse.
 *
 * Forward edges are the snapshot's own columns. The graph adds reverse edges (by counting sort),
 * those of roots included, and reachability:
 *
 *	roots ──▶ objects ──▶ objects
 *
 *	referrers of object o:  in_source[in_first[o] .. in_first[o + 1])   objects
 *	                      root edges root_in[root_in_first[o] .. )    roots
 *
 * Ids are 32-bit, arrays are flat, and every pass runs over them in order.
 */

#include "lib/base/error.h"
#include "lib/base/progress.h"
#include "lib/snapshot/snapshot.h"

/** A node of the graph: an object's id, or the number of objects + a root's id. */
typedef uint32_t heap_node_id;

#define HEAP_NO_NODE UINT32_MAX

/** How an object can be reached from the roots. */
enum heap_reach {
	HEAP_REACH_NOT,      /**< leaked */
	HEAP_REACH_INTERIOR, /**< only by paths with a pointer into a middle */
	HEAP_REACH_START,    /**< through pointers to starts, or to members (embedded.h), alone */
};

/** Distances from here on are from a root without a name: heap_graph.distance. */
#define HEAP_DISTANCE_NAMELESS (UINT32_C(1) << 31)

struct heap_graph {
	struct heap_snapshot *snapshot;       /**< with HEAP_COLUMN_SIZE and HEAP_COLUMN_EDGES */
	const struct heap_progress *progress; /**< whom to tell in long work; may be NULL */
	/** [objects + 1] reverse edges; NULL until heap_graph_need_reverse() */
	uint32_t *in_first;
	uint32_t *in_edge;         /**< [edges] index of the forward edge, by target, by source */
	heap_object_id *in_source; /**< [edges] the object that edge leaves */
	uint32_t *root_in_first;   /**< [objects + 1] */
	uint32_t *root_in; /**< [root_edge_count] index in snapshot->root_edges, by target */
	uint8_t *reach;    /**< [objects] enum heap_reach; NULL until heap_graph_need_reach() */
	/** [objects / 64 + 1] a bit for each object that is not leaked; NULL until
	 *  heap_graph_need_leaked() */
	uint64_t *reached;
	/** [objects] edges from the object of the nearest root with a name; of what only roots
	 *  without one reach, HEAP_DISTANCE_NAMELESS more; UINT32_MAX: leaked. NULL until
	 *  heap_graph_need_distance() */
	uint32_t *distance;
	/** passes over all edges that were made for the referrers of a few objects: see below */
	unsigned passes;
	/** all roots are of one level: set it before the first answer, or never */
	bool is_conservative;
	uint8_t *root_levels; /**< [roots] private: enum heap_root_level */
	uint64_t levels;      /**< a bit for each level that any root edge may have */
};

/**
 * Levels of roots, by how surely a person would say that they hold something.
 *
 * A stale word on a stack that points into a list would otherwise share the list with the
 * variable that owns it, and neither would retain it. So each object belongs to the surest level
 * that reaches it, and only pointers from its own level count for who dominates it: those of its
 * level's roots, and those of objects of that level. Unsurer roots keep alive what nothing surer
 * reaches, and break no dominance.
 *
 * In the same way the variables of a call only use what those of its callers hold, and what global
 * variables hold: it outlives the call.
 *
 *	main      table ──▶ slots ──▶ entry          table retains all: entry and name are
 *	 find     entry ──────────────▲  │           parameters and iterators of calls
 *	  compare name ──────────────────▼ name
 */
enum heap_root_level {
	/** global and thread-local variables, and those of the outermost call of a thread whose
	 *  variables hold objects, such as main; where all roots count alike, all roots */
	HEAP_LEVEL_VARIABLE,
	HEAP_LEVEL_CALL, /**< variables of what that calls, + 1 for each further call */
	/** data of modules that no symbol names; what a variable's untyped pointer into the middle
	 *  of an object leads to */
	HEAP_LEVEL_DATA = 62,
	HEAP_LEVEL_WORD, /**< words of stacks, registers and mappings that no variable explains */
	HEAP_LEVELS,
};

enum {
	HEAP_RANK_BITS = 8,
	/**
	 * Passes over all edges for the referrers of a few objects, before the graph is transposed
	 * all the same: that takes as long as forty passes, and eight bytes for each edge.
	 */
	HEAP_GRAPH_PASSES = 32,
};

/**
 * Loads what it needs of the snapshot, which must outlive the graph.
 *
 * @return NULL, what heap_snapshot_load() says, HEAP_ERROR_MEMORY, or HEAP_ERROR_ARGUMENT: there
 *         are 2^32 root edges or more
 */
HEAP_MUST_CHECK
struct heap_error *heap_graph_create(struct heap_snapshot *snapshot, struct heap_graph **result);

/** The same without sizes, for callers that need neither dominators nor bytes. */
HEAP_MUST_CHECK
struct heap_error *heap_graph_create_bare(struct heap_snapshot *snapshot,
					  struct heap_graph **result);

/** NULL is fine. */
void heap_graph_destroy(struct heap_graph *graph);

/** Transposes the graph. Also loads HEAP_COLUMN_SLOTS, which describes the reverse edges. */
HEAP_MUST_CHECK
struct heap_error *heap_graph_need_reverse(struct heap_graph *graph);

/** A bit per edge, and a byte and a half per object, while it works. */
HEAP_MUST_CHECK
struct heap_error *heap_graph_need_reach(struct heap_graph *graph);

/**
 * Finds only which objects are leaked: one search, where heap_graph_need_reach() takes up to four, and
 * no more than the edges.
 */
HEAP_MUST_CHECK
struct heap_error *heap_graph_need_leaked(struct heap_graph *graph);

/** True if no root reaches an object. Needs heap_graph_need_leaked() or heap_graph_need_reach(). */
static inline bool heap_graph_is_leaked(const struct heap_graph *graph, heap_object_id object)
{
	return graph->reached ? !(graph->reached[object / 64] >> object % 64 & 1)
			      : graph->reach[object] == HEAP_REACH_NOT;
}

/**
 * The distance of each object from the roots; one pass over the edges. Stale words of stacks and
 * registers point into many a list, so roots with names go first, however far they are.
 */
HEAP_MUST_CHECK
struct heap_error *heap_graph_need_distance(struct heap_graph *graph);

/** True for a variable. */
bool heap_root_is_named(const struct heap_root *root);

/**
 * The rank of a root, less than 2^HEAP_RANK_BITS, by how much its name tells people, and then by its level: the
 * best has the least.
 */
unsigned heap_root_rank(const struct heap_graph *graph, const struct heap_root *root);

/** The level of most edges of a root; HEAP_LEVEL_VARIABLE for all if the graph is conservative. */
enum heap_root_level heap_root_level(const struct heap_graph *graph, const struct heap_root *root);

/** True if a root edge may have a level; there are few such levels. */
static inline bool heap_graph_has_level(const struct heap_graph *graph, enum heap_root_level level)
{
	return graph->levels >> level & 1;
}

/** The level of a root edge. */
enum heap_root_level heap_root_edge_level(const struct heap_graph *graph,
					  const struct heap_root_edge *edge);

/** The object that edge @p edge leaves: binary search. */
heap_object_id heap_graph_source(const struct heap_graph *graph, uint32_t edge);

#endif
