// SPDX-License-Identifier: LGPL-2.1-or-later
#ifndef HEAP_FILTER_OPERAND_H
#define HEAP_FILTER_OPERAND_H

/**
 * What a filter leaves to its caller: objects and variables in its words, `pointed-by sessions->next`, and
 * the values of structures of libraries.
 */

#include "lib/snapshot/snapshot.h"
#include "lib/types/member_path.h"

/** The meaning of a user's word: an object, a variable that is no pointer itself, or a part of one. */
struct heap_filter_operand {
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	heap_root_id root;     /**< the variable, where there is no object */
	uint64_t offset, size; /**< of the variable's part, in bytes */
};

/** Resolves a word of the user. */
typedef struct heap_error *heap_filter_resolver(void *context, const char *word,
						struct heap_filter_operand *result);

/** A typed object, or a part of one. */
struct heap_field_subject {
	heap_object_id object;
	uint64_t offset; /**< in the object */
	uint64_t size;
	heap_type_id type;
	uint64_t elements;
	const uint8_t *bytes; /**< [kept] of it, from the offset on */
	uint64_t kept;
};

/**
 * Describes a value of several members that is one value for a person, such as a path, a duration or a lock.
 *
 * @param buffer  [size] gets the text; longer ones are cut
 * @return false if it is no such value, or was not kept
 */
typedef bool heap_filter_describer(void *context, const struct heap_field_subject *subject,
				   const struct heap_member_place *place, char *buffer, size_t size,
				   size_t *length);

/** What the caller of a filter does for it. */
struct heap_filter_host {
	heap_filter_resolver *resolve;
	heap_filter_describer *describe; /**< NULL: fields of several members match nothing */
	void *context;                   /**< of both */
};

#endif
