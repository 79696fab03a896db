// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef SMALLER_STRUCTS_H
#define SMALLER_STRUCTS_H

/**
 * Blocks that are smaller than the struct that their variable points to. C programs make such in two ways:
 *
 *	struct entry { struct entry *next; char name[256]; };
 *	struct entry *entry = malloc(offsetof(struct entry, name) + strlen(name) + 1);
 *
 * cuts off the end, where there is an array of bytes, or a union of which the smaller member will do; and
 *
 *	struct server  { struct server *next; char *domain; int flags; struct socket *socket; ... };
 *	struct address { struct server *next; char *domain; int flags; };
 *	struct server *server = malloc(sizeof(struct address));
 *
 * makes another struct that begins with the same members.
 */

#include "dumper/writer/infer/layout.h"

/**
 * Finds the type of a block whose variable points to a larger struct.
 *
 * @return FLEXIBLE: the struct itself, cut off; EXACT: the only other struct of the size; or NONE
 */
struct layout_claim smaller_structs_fit(const struct layouts *layouts, heap_type_id type,
					uint64_t size, uint64_t slack);

/** True if the end of a struct may be cut off so that it has a number of bytes. */
bool smaller_structs_may_be_cut(const struct layouts *layouts, heap_type_id type, uint64_t size);

/** True if a struct is smaller than another one, and begins with the same members but for its last. */
bool smaller_structs_share(const struct layouts *layouts, heap_type_id smaller,
			   heap_type_id larger);

#endif
