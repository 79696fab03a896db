// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINERS_H
#define CONTAINERS_H

/**
 * Adds to the type table facts about C++ containers that debug information lacks.
 *
 * The standard library's node containers point to their nodes as a base class that all of
 * them share, and have what is in a node in a buffer of bytes:
 *
 *	map ─▶ _Rb_tree_node_base *      _Rb_tree_node<V> : _Rb_tree_node_base
 *	                                                    __aligned_membuf<V> of char[sizeof(V)]
 *
 * The types' own names say what is meant. Here such buffers get their contents as a member,
 * and each container's and each node's pointers lead to that container's nodes. Inference
 * and heapsh then see what a person sees, and need to know of no library.
 */

#include "lib/types/types.h"

/** Completes a table before inference. Types are changed and added, none goes away. */
HEAP_MUST_CHECK
struct heap_error *containers_complete_types(struct heap_types *types);

#endif
