// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINERS_H
#define CONTAINERS_H

/**
 * Adds to the type table the facts about C++ containers that debug information lacks.
 *
 * The standard library's node containers point to their nodes by a common base class, and keep a
 * node's value in a buffer of bytes:
 *
 *	map ─▶ _Rb_tree_node_base *      _Rb_tree_node<V> : _Rb_tree_node_base
 *	                                                    __aligned_membuf<V> of char[sizeof(V)]
 *
 * The names of the types tell the value's type. Here such buffers get the value as a member, and the
 * pointers of each container and node lead to nodes of that container. Inference and heapsh then
 * need no knowledge of a library. What holds for any library is in template_nodes.h.
 */

#include "lib/types/types.h"

/** Completes a table before inference. Types are changed and added, never removed. */
HEAP_MUST_CHECK
struct heap_error *containers_complete_types(struct heap_types *types);

#endif
