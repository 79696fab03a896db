// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef NODE_TYPES_H
#define NODE_TYPES_H

/**
 * The types of the nodes that container_nodes.h finds.
 *
 * The symbols of a program name instances of containers, even where the code that allocates is inlined. A
 * node's type is that of the only instance which has the node's size, and whose pointers agree with the
 * nodes' contents. The code that allocates must call one of its methods, or the pointers lead to what they
 * should: others may have been inlined without a trace. Otherwise, as in stripped programs, the name shows
 * the known parts:
 *
 *	std::_Rb_tree_node<{std::string, ptr}>
 *
 * Code without debug information may make nodes for a container that other code has debug information of. Then there are
 * nodes of the size among the types, and pointers tell which one it is.
 */

#include "dumper/writer/infer/sites/constructors.h"
#include "dumper/writer/infer/symbols/container_nodes.h"
#include "dumper/writer/infer/symbols/library_types.h"

struct node_types {
	struct capture *capture;
	struct library_types *library;
	struct constructors *constructors;
	const struct container_nodes *nodes;
	const heap_type_id *classes; /**< [objects] by vtables */
	const heap_type_id *singles; /**< [kinds] what each of the kind's blocks is known to be */
	const uint32_t *count;       /**< [kinds] of objects */
	uint8_t *part;               /**< [kinds] gets what nearly all blocks of the kind are */
	heap_type_id *result;        /**< [kinds] gets their types, or elements', if any */
	bool *is_doubtful; /**< [kinds] gets whether that shows the known parts, though types of such nodes are known */
};

/** The name of the template of a container's nodes, up to the value's type; NULL: it is no node. */
const char *node_types_template(enum container_part part, bool is_libcxx);

/** Finds the types of all kinds of nodes. */
HEAP_MUST_CHECK
struct heap_error *node_types_find(struct node_types *node_types);

#endif
