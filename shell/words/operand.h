// SPDX-License-Identifier: GPL-3.0-or-later
#ifndef OPERAND_H
#define OPERAND_H

/**
 * OBJ: how a person names an object to a command.
 *
 *	0x55d0c0ffee40    an address, with or without 0x, also one inside an object
 *	$3                by the number that an answer gave it
 *	sessions          what the variable points to; a variable that is no pointer itself
 *	&sessions         the variable itself
 *	*sessions         what the variable points to, as in C
 *
 * Any of these may go on as in C. Pointers are followed as needed, so that . and -> are the same:
 *
 *	sessions->next->peer      $3.list.next      cache->slots[85].value
 *
 * Subscripts of the standard library's containers are those that `show` displays, and owners such
 * as std::shared_ptr are followed like pointers:
 *
 *	bus.listeners[300]->title      ages["Ada"]      customers[17]->orders[3].note
 *
 * A pointer at the end stands for the object that it leads to; after & it stands for itself. An
 * element at the end may be a range of them, [10..20], where a command can do with several places.
 */

#include "shell/base/session.h"

struct operand {
	heap_object_id object; /**< or HEAP_NO_OBJECT */
	heap_root_id root;     /**< where no object is meant; or UINT32_MAX */
	uint64_t interior;     /**< bytes into the object, or into the variable */
	heap_type_id type;     /**< of the place inside that a path ends at; else HEAP_NO_TYPE */
	uint64_t first;        /**< of a range */
	uint64_t count;        /**< of a range; 0: it is none */
};

/**
 * Parses OBJ. Loads ADDRESS and SIZE.
 *
 * @return NULL; HEAP_ERROR_ARGUMENT: it cannot be read; HEAP_ERROR_ABSENT: the snapshot has no such
 *         object, variable, member or element, or a pointer on the way leads nowhere
 */
HEAP_MUST_CHECK
struct heap_error *operand_parse(struct session *session, const char *text, struct operand *result);

/** The same, and a path may end in a range. */
HEAP_MUST_CHECK
struct heap_error *operand_parse_range(struct session *session, const char *text,
				       struct operand *result);

/** operand_parse() where not all of ADDRESS and SIZE need be loaded. */
HEAP_MUST_CHECK
struct heap_error *operand_locate(struct session *session, const char *text,
				  struct operand *result);

/** operand_parse() where only an object will do. */
HEAP_MUST_CHECK
struct heap_error *operand_parse_object(struct session *session, const char *text,
					heap_object_id *result);

/** operand_locate() where only an object will do. */
HEAP_MUST_CHECK
struct heap_error *operand_locate_object(struct session *session, const char *text,
					 heap_object_id *result);

/**
 * The part of a pool, or the element of a slab, that an address inside stands for. Needs SIZE, TYPE, EVIDENCE
 * and PARTS.
 *
 * @return false if it is neither, or the object's own address
 */
bool operand_part(const struct session *session, const struct operand *operand,
		  struct heap_part *result);

/** The node of an operand; of an address inside a pool, the part there. After session_divided(). */
heap_node_id operand_node(const struct session *session, const struct operand *operand);

/** True for a variable, and not a part of one, that points to objects. */
bool operand_is_root(const struct session *session, const struct operand *operand);

/** Bytes of the place: of an object, a variable, or the part of one that a path ends at. */
uint64_t operand_size(const struct session *session, const struct operand *operand);

/**
 * The pointers of a variable, or of the part of it that a path ends at.
 *
 * @param first  gets the index of the first in root_edges
 * @return how many follow each other there
 */
uint64_t operand_pointers(const struct session *session, const struct operand *operand,
			  uint64_t *first);

/** True for a variable, or a part of one, that points to objects. */
bool operand_holds_object(const struct session *session, const struct operand *operand);

/** The error for a variable that no object can be meant by. @param text  as it was given */
HEAP_MAKES_ERROR
struct heap_error *operand_no_object(const struct session *session, const char *text,
				     const struct operand *operand);

#endif
