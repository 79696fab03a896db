// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef TYPE_COPIES_H
#define TYPE_COPIES_H

/**
 * Copies of types whose pointers lead to something more precise.
 *
 * Containers point to their nodes by a struct that all instances share. In a copy for one container, these
 * pointers lead to its own nodes:
 *
 *	map<int, city> ─▶ tree ─▶ node_base *        tree (copied) ─▶ node<int, city> *
 */

#include "lib/types/types.h"

enum {
	TYPE_COPIES =
		32, /**< types that one container has in it and that point to nodes, at most */
};

/** The copies for one container: set what is not private, and the rest to 0. */
struct type_copies {
	struct heap_types *types;
	heap_type_id base; /**< to which pointers lead; HEAP_NO_TYPE: all pointers count */
	heap_type_id node; /**< to which those of copies lead */
	bool are_void; /**< void pointers count instead, and become ones of a type of their own */
	/** [left_count] nonzero: structs that are left as they are; NULL: what pointers lead to is not copied */
	const uint8_t *left;
	heap_type_id left_count;

	heap_type_id pointer; /**< private: to node; HEAP_NO_TYPE: not made yet */
	struct {
		heap_type_id from, to;
	} made[TYPE_COPIES]; /**< private */
	size_t count;        /**< private */
	unsigned visits;     /**< private */
};

/** True if a type has pointers to the base, at any depth. */
bool type_copies_concern(struct type_copies *copies, heap_type_id type);

/** Copies a type, unless it has no pointer to the base. @param result  gets the copy, or @p type */
HEAP_MUST_CHECK
struct heap_error *type_copies_make(struct type_copies *copies, heap_type_id type,
				    heap_type_id *result);

/** Changes the members of a type itself to copies. */
HEAP_MUST_CHECK
struct heap_error *type_copies_change(struct type_copies *copies, heap_type_id type);

/**
 * Finds the first version of each type, by which all have one name: of a struct that of which it is a copy, of a pointer
 * one to that. Structs of the program stay apart, even if they differ in nothing but what their pointers lead to.
 *
 * @param count  of types before the first copy
 * @param first  [types->count] gets it; itself for all other types
 */
HEAP_MUST_CHECK
struct heap_error *type_copies_find_first(const struct heap_types *types, heap_type_id count,
					  heap_type_id *first);

/** Adds a pointer type. @param target  what it leads to */
HEAP_MUST_CHECK
struct heap_error *type_copies_add_pointer(struct heap_types *types, heap_type_id target,
					   heap_type_id *result);

#endif
