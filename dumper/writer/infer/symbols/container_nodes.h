// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_NODES_H
#define CONTAINER_NODES_H

/**
 * Blocks that containers of the C++ standard library allocate, by the structure of the containers in
 * memory: for code without debug information, where all else was inlined or stripped.
 *
 *	a std::map, wherever it is                 its nodes
 *	 color  parent ────────────────────────▶  color, parent (back), left, right, value
 *	 left  right  count: 3
 *
 * A pointer to a block's start may be in such a head. It is one if all nodes lead back to it, all are
 * blocks of one size, and they are as many as it says. The layouts are those of the ABIs of libstdc++ and libc++.
 * In a process that nobody prepared, sizes are rounded, and nothing tells which blocks are of operator new.
 */

#include "dumper/writer/scan/capture.h"
#include "lib/base/array.h"

/** A part of a container. */
enum container_part {
	CONTAINER_NONE,
	CONTAINER_TREE_NODE, /**< of std::map, set, multimap, multiset */
	CONTAINER_LIST_NODE,
	CONTAINER_HASH_NODE, /**< of std::unordered_map and its like */
	CONTAINER_BUCKETS,   /**< the table of these */
	CONTAINER_TEXT,      /**< the characters of a std::string */
	CONTAINER_PARTS,
};

/** A container with nodes. */
struct container {
	uint8_t part;   /**< what its nodes are */
	size_t first;   /**< of its nodes, in container_nodes.members */
	uint32_t count; /**< of these */
};

struct container_nodes {
	uint8_t *part;  /**< [objects] enum container_part */
	bool is_libcxx; /**< they are libc++'s; else libstdc++'s */
	/** All of them, and their nodes, where nothing else tells nodes of one size apart: no sites are known. */
	struct HEAP_ARRAY(struct container) containers;
	struct HEAP_ARRAY(heap_object_id) members;
};

/**
 * Finds the nodes of all containers.
 *
 * @param is_wanted  [kinds of objects] those of others are left out
 */
HEAP_MUST_CHECK
struct heap_error *container_nodes_find(struct container_nodes *nodes,
					const struct capture *capture, const bool *is_wanted);

void container_nodes_deinit(struct container_nodes *nodes);

/** Where the value of a node begins. */
uint64_t container_nodes_value(const struct container_nodes *nodes, enum container_part part);

#endif
