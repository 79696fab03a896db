// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef ELEMENT_H
#define ELEMENT_H

/**
 * A place inside an object or a variable, or several elements in a row: what `show` prints of
 * "table->count", "table->slots[3]" and "table->slots[3..5]".
 *
 *	table->slots[3]: struct slot, 16 B, in struct slot[14] at 0x5f00300
 *	  hash = 42
 *	  value = struct utility at 0x5f00200
 */

#include "shell/print/value.h"

struct element {
	const char *path;      /**< as a person typed it */
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	heap_root_id root;     /**< where there is no object */
	uint64_t offset;       /**< bytes from the start of the object or variable */
	heap_type_id type;
	uint64_t first; /**< index of the first, of several */
	uint64_t count; /**< 0: one value, which is no range */
};

/** Prints them. Loads what describe_load() does not. */
HEAP_MUST_CHECK
struct heap_error *element_print(struct session *session, const struct element *element,
				 enum value_limit limit);

#endif
