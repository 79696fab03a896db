// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PART_H
#define PART_H

/** Describes a part of a block that the program divides itself: an element of a pool. */

#include "shell/base/session.h"

/** "struct node at 0x5f0010", "struct slot[12] at 0x5f0020". */
const char *part_describe(struct session *session, const struct heap_part *part);

/**
 * Finds the part of a pool that a byte of an object belongs to, or the element of a slab unless it is the first.
 * Needs SIZE, TYPE, EVIDENCE and PARTS.
 *
 * @return false if it is neither
 */
bool part_find(const struct session *session, heap_object_id object, uint64_t offset,
	       struct heap_part *result);

/** An object for JSON, with the pool's address. */
void part_json(struct session *session, const char *key, const struct heap_part *part);

/**
 * The type of most bytes of an object's parts: what a pool is a pool of. Needs SIZE, PARTS.
 *
 * @return HEAP_NO_TYPE if there are no parts, or memory is short
 */
heap_type_id part_main_type(struct session *session, heap_object_id object);

#endif
