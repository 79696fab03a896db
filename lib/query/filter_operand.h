// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_OPERAND_H
#define HEAP_FILTER_OPERAND_H

/**
 * Objects and variables in the words of a filter: `pointed-by sessions->next`. The caller of a filter
 * resolves them.
 */

#include "lib/snapshot/snapshot.h"

/** The meaning of a user's word: an object, a variable that is no pointer itself, or a part of one. */
struct heap_filter_operand {
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	heap_root_id root;     /**< the variable, where there is no object */
	uint64_t offset, size; /**< of the variable's part, in bytes */
};

/** Resolves a word of the user. */
typedef struct heap_error *heap_filter_resolver(void *context, const char *word,
						struct heap_filter_operand *result);

#endif
