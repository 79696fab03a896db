// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef PART_H
#define PART_H

/**
 * Parts of blocks that the program cuts up itself: a pool's elements.
 *
 *	pool of 1204 typed parts at 0x5f0000, 64.0 KiB
 *	  +0x10  struct node at 0x5f0010
 *
 * All need PARTS, which describe_load() loads if they can be had.
 */

#include "shell/base/session.h"
#include "shell/print/value.h"

/** The number of parts of an object. */
uint32_t part_count(const struct session *session, heap_object_id object);

/** The part that an address so many bytes into an object lies in, or NULL. */
const struct heap_part *part_at(const struct session *session, heap_object_id object,
				uint64_t offset);

/** "struct node at 0x5f0010", "struct slot[12] at 0x5f0020". */
const char *part_describe(struct session *session, const struct heap_part *part);

/** An object for JSON, with the pool's address. */
void part_json(struct session *session, const char *key, const struct heap_part *part);

/** Prints a part's fields. @param value  of the whole object */
void part_print(struct session *session, const struct heap_part *part, const struct value *value,
		enum value_limit limit);

/** Prints what parts an object has: how many of each type, and the first of them. */
void part_list(struct session *session, heap_object_id object, enum value_limit limit);

#endif
