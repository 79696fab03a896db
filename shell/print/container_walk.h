// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef CONTAINER_WALK_H
#define CONTAINER_WALK_H

/**
 * Walks the elements of a container in order.
 *
 *	vector, deque      chunks of memory      ▒▒▒▒▒▒ ▒▒▒▒▒▒ ▒▒▒
 *	list, hash table   chains of nodes       ○→○→○→○
 *	map, set           binary trees          in order, up and down
 *
 * Every walk ends after `length` elements at the latest, whatever the pointers are.
 */

#include "shell/print/place.h"

struct container_walk {
	const char *name;  /**< "std::vector" */
	bool keyed;        /**< elements are pairs of key and value */
	uint64_t length;   /**< elements */
	bool has_length;   /**< it is known without going through all of them */
	bool unknown;      /**< what elements look like is not known: there are none to walk */
	bool has_capacity; /**< there is room for more than its elements */
	uint64_t capacity; /**< elements that there is room for */

	/* Private to container_walk.c. */
	bool (*next)(struct session *session, struct container_walk *walk, struct place *element);
	struct place container;
	heap_type_id element; /**< type of an element */
	uint64_t stride;      /**< bytes of an element */
	uint64_t at;          /**< address of the next element or node; 0: none */
	uint64_t start, end;  /**< of the chunk that `at` is in */
	uint64_t chunk;       /**< deque: address of the pointer to that chunk */
	uint64_t link;        /**< bytes from a node's start to its pointer to the next one... */
	uint64_t stored;      /**< ...to its element */
	uint64_t left, right, parent; /**< ...and in a tree to those */
	struct place buffer;          /**< all elements, where they are in one piece */
	uint64_t index;               /**< of the next element */
	uint64_t first;               /**< where in the buffer a ring's first element is */
};

/** True if that class is a container of elements. */
bool container_walk_is_known(const char *name, size_t length);

/**
 * Begins a walk.
 *
 * @param name  the container's class, as from place_standard_name()
 * @return false if it is no container of elements, or does not look as it should
 */
bool container_walk_begin(struct session *session, const struct place *container, const char *name,
			  size_t length, struct container_walk *walk);

/**
 * Goes to the next element, in memory of the session's texts; it may be released before the
 * next call.
 *
 * @return false at the end, or where the rest was not kept
 */
bool container_walk_next(struct session *session, struct container_walk *walk,
			 struct place *element);

/** The parts of Rust's Vec, which Strings have in them. @return false if it is none */
bool container_walk_vec(struct session *session, const struct place *vec, struct place *pointer,
			uint64_t *length, uint64_t *capacity);

#endif
