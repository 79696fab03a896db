// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_PARTS_H
#define CONTAINER_PARTS_H

/**
 * The values inside classes of the standard library: those that container.h displays, one by one.
 *
 *	listeners[3]                 an element of a vector, deque, list, set, tuple...
 *	ages["Ada"], orders[17]      a value of a map, by the key that `show` displays
 *	image                        the target of a unique_ptr, shared_ptr or weak_ptr
 *	note                         the content of an optional, a variant or an atomic
 *
 * The parts may lie in the place itself or in other objects; their lifetime is that of
 * place_follow().
 */

#include "shell/print/place.h"

/** The text between the brackets. */
struct container_subscript {
	const char *text; /**< as it was typed */
	uint64_t number;
	bool is_number;
};

enum container_found {
	CONTAINER_FOUND,
	CONTAINER_NO_ELEMENT,
	CONTAINER_UNREADABLE, /**< it is damaged, or was not kept, or its elements have no known type */
};

/** True if a type is a class with elements that have a subscript. */
bool container_has_elements(const struct session *session, heap_type_id type);

/**
 * Finds an element by the subscript that `show` displays.
 *
 * @param count  number of elements that were searched if none matches
 */
enum container_found container_find_element(struct session *session, const struct place *place,
					    const struct container_subscript *subscript,
					    struct place *result, uint64_t *count);

/** Where a unique_ptr, shared_ptr or weak_ptr has its pointer. @return false if it is none */
bool container_find_pointer(struct session *session, const struct place *place,
			    struct place *pointer);

/** The value in an optional, a variant or an atomic. @return false if it is none, or is empty */
bool container_find_value(struct session *session, const struct place *place, struct place *value);

/* One function for each class; false if the place does not look like an instance. */

/** The key and the value of a map's element. */
bool container_find_pair(const struct session *session, const struct place *element,
			 struct place *key, struct place *value);

/** An element of a tuple. */
bool container_find_tuple_element(struct session *session, const struct place *tuple,
				  unsigned index, struct place *result);

/** The content of an optional. @param value  untouched if it is not engaged */
bool container_find_optional(const struct session *session, const struct place *place,
			     bool *engaged, struct place *value);

/** The alternative that a variant holds. */
bool container_find_variant(const struct session *session, const struct place *place,
			    struct place *value);

/** The value of an atomic. */
bool container_find_atomic(const struct session *session, const struct place *place,
			   struct place *value);

/** The pointer of a unique_ptr. */
bool container_find_unique(struct session *session, const struct place *place, uint64_t *pointer);

/** The pointers of a shared_ptr or weak_ptr: to the object, and to the block of its counts. */
bool container_find_shared(const struct session *session, const struct place *place,
			   uint64_t *pointer, uint64_t *control);

#endif
