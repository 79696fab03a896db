// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef POOL_H
#define POOL_H

/**
 * Pools, blocks that the program divides itself, by their parts.
 *
 *	pool of 1204 typed parts at 0x5f0000, 64.0 KiB
 *	  +0x10  struct node at 0x5f0010
 *
 * Both functions need PARTS, which describe_load() loads where the snapshot has them.
 */

#include "shell/print/value.h"

/** Prints a part's fields. @param value  of the whole object */
void pool_print_part(struct session *session, const struct heap_part *part,
		     const struct value *value, enum value_limit limit);

/** Prints how many parts of each type an object has, and the first of them. */
void pool_print_parts(struct session *session, heap_object_id object, enum value_limit limit);

#endif
