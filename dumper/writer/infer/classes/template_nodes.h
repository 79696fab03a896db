// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TEMPLATE_NODES_H
#define TEMPLATE_NODES_H

/**
 * Completes class templates whose work is done by a part that is no template.
 *
 * Such a part links nodes of any content by the struct with which they begin. Only the template says what these are:
 *
 *	Hash<int, city> ─▶ struct core ─▶ struct link *      Node<int, city> : link     (or begins with its members)
 *	Queue<job> { struct link ends; }                     Queue<job>::Node : link
 *
 * A node belongs to the container inside of which it is declared, or whose arguments are its own. The pointers of that, and
 * those of a copy of each part that it leads to, are made to lead to its nodes (type_copies.h). So what a block is need not be
 * guessed from its size. Containers of the standard library are known (containers.h).
 */

#include "lib/types/types.h"

/** Completes a table before inference. Types are changed and added, never removed. */
HEAP_MUST_CHECK
struct heap_error *template_nodes_complete(struct heap_types *types);

#endif
