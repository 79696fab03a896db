// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SITE_CONTAINERS_H
#define SITE_CONTAINERS_H

/**
 * Containers of the C++ standard library that a program allocates themselves: new std::set<long>.
 *
 * A map or list ends in itself: the pointers of its nodes lead back to it, and those of an empty one to
 * itself. They are pointers to nodes, and would make it a node. So the code that allocates it is
 * asked first: if it handles a container of that size, and the words of the block are as a container
 * has them, it is one.
 */

#include "dumper/writer/infer/inference.h"

/** Claims these blocks. */
HEAP_MUST_CHECK
struct heap_error *site_containers_claim(struct inference *inference);

#endif
