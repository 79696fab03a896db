// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef MEMBER_WALK_H
#define MEMBER_WALK_H

/**
 * Follows member paths, as in C, from an object or a variable: `->next->peer`, `.list.next`, `[85].value`.
 *
 * Pointers are followed as needed, so that . and -> are the same. A member of a derived class is found behind a
 * pointer to its base. Owners such as std::unique_ptr are followed like pointers; subscripts of the standard
 * library's containers are those that `show` displays.
 */

#include "shell/base/session.h"

/** Where a path has come to: in an object, or in a variable. */
struct member_spot {
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	heap_root_id root;     /**< or UINT32_MAX */
	uint64_t offset;       /**< bytes from its start */
	heap_type_id type;     /**< of what is there; HEAP_NO_TYPE: unknown */
	bool is_located; /**< by an address or a number, so that its own type is not known here */
	bool is_pointee; /**< a pointer or an address led here */
	uint64_t first, count; /**< of a range of elements, which ends a path; count 0: none */
};

/** Loads the columns that the other functions need. */
HEAP_MUST_CHECK
struct heap_error *member_load(struct session *session);

/** True for pointers and references. */
bool member_is_pointer(const struct heap_types *types, heap_type_id type);

/** Takes the type of an object from itself, where no pointer tells it. It may stay HEAP_NO_TYPE. */
void member_find_own_type(const struct heap_snapshot *snapshot, struct member_spot *spot);

/**
 * Goes to where a pointer points.
 *
 * @param so_far  how the path reads up to here, for the message
 * @return NULL; HEAP_ERROR_ABSENT: it is NULL, or leads to no block
 */
HEAP_MUST_CHECK
struct heap_error *member_follow(struct session *session, struct member_spot *spot,
				 const char *so_far);

/**
 * Follows all steps of a path. Loads what it needs.
 *
 * @param word  the whole operand, for messages
 * @param at    its first step
 * @param spot  where the path begins; gets where it ends
 * @return NULL; HEAP_ERROR_ARGUMENT: that is no path; HEAP_ERROR_ABSENT: there is no such member or element,
 *         or a pointer on the way leads nowhere
 */
HEAP_MUST_CHECK
struct heap_error *member_walk(struct session *session, const char *word, const char *at,
			       struct member_spot *spot);

/** Goes to the object that the end of a path means: what a pointer or an owner there points to. */
HEAP_MUST_CHECK
struct heap_error *member_finish(struct session *session, const char *word,
				 struct member_spot *spot);

#endif
