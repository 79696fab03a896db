// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef FOUND_CONTAINERS_H
#define FOUND_CONTAINERS_H

/**
 * Blocks of C++ containers in processes that nobody prepared, by the structure of the containers in memory.
 *
 *	std::map, list, unordered_map      their nodes, whose names show the values' fields
 *	std::vector                        an array of values of the library, or of pointers
 *	std::string                        its characters
 *
 * No site tells there which blocks are of one kind. But the nodes of one container are, and other containers
 * with nodes of that size whose values look alike have the same type.
 */

#include "dumper/writer/infer/symbols/shape_types.h"

/** Names the blocks that have no type. Adds types. @param capture  is the reader's, too */
HEAP_MUST_CHECK
struct heap_error *found_containers_name(struct capture *capture, const struct shape_reader *reader,
					 struct shape_types *types);

#endif
